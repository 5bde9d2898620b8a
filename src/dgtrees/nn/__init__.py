"""A tree as a torch layer, and the training of networks that have one.

torch is the extra ``dgtrees[torch]``. It is imported when a name below is first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgtrees.nn.layer import TrainableTree
    from dgtrees.nn.network import fit_network, parameter_groups, set_progress
    from dgtrees.nn.quantizers import QUANTIZERS

if find_spec("torch") is None:
    raise ImportError(
        'dgtrees.nn needs torch, which is not installed: pip install "dgtrees[torch]"', name="torch"
    )

_HOMES = {
    "QUANTIZERS": "quantizers",
    "TrainableTree": "layer",
    "fit_network": "network",
    "parameter_groups": "network",
    "set_progress": "network",
}

__all__ = ["QUANTIZERS", "TrainableTree", "fit_network", "parameter_groups", "set_progress"]


if not TYPE_CHECKING:  # whose reader would believe that every name exists

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
