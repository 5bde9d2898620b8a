"""What values from outside must be: a few checks that are put together into a table of fields.

A check takes a value, as `json.loads` made it, and its name, and raises a ValueError of one line.
It converts nothing and allocates nothing. Recipes and other settings have their checks in the
annotations of their fields, see `check_fields`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, get_args, get_type_hints

__all__ = [
    "ABOVE_0",
    "Check",
    "any_name",
    "check_fields",
    "choice",
    "flag",
    "items",
    "maybe",
    "number",
    "plain",
    "record",
    "shown",
    "text",
    "whole",
]

Check = Callable[[Any, str], None]

ABOVE_0 = 5e-324
"""The smallest number above 0, as a bound that excludes 0."""

_LARGEST = 2**63 - 1
_DEEPEST = 8  # lists within lists that a parameter may have


def shown(value: Any) -> str:
    """A value on one line, shortened, for an error.

    >>> shown([1, 2])
    '[1, 2]'
    """
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # thousands of digits, or of lists within lists
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def whole(low: int = -_LARGEST, high: int = _LARGEST) -> Check:
    """A whole number; True is none.

    >>> whole(0, 9)(3, "digit")
    """

    def check(value: Any, name: str) -> None:
        _need(
            type(value) is int and low <= value <= high,
            name,
            f"a whole number from {low} to {high}",
            value,
        )

    return check


def number(low: float = -inf, high: float = inf, finite: bool = True) -> Check:
    """A number that a float can hold; infinity and NaN only where they may be."""

    def check(value: Any, name: str) -> None:
        fits = type(value) is float or (type(value) is int and abs(value) <= _LARGEST)
        unknown = not finite and value != value and (low, high) == (-inf, inf)  # NaN has no bounds
        fits = fits and (low <= value <= high or unknown)
        wanted = f"a number{_say_bounds(low, high)}"
        _need(fits and (not finite or isfinite(value)), name, wanted, value)

    return check


def _say_bounds(low: float, high: float) -> str:
    if high < inf:
        return f" from {low:g} to {high:g}"
    if low == ABOVE_0:
        return " above 0"
    return f" of at least {low:g}" if isfinite(low) else ""


def text(pattern: str = r".*") -> Check:
    """Text that UTF-8 can hold."""
    allowed = re.compile(pattern, re.DOTALL)

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and allowed.fullmatch(value)
        wanted = "text" if pattern == r".*" else f"text like {pattern}"
        _need(fits and _encodable(value), name, wanted, value)

    return check


def choice(*allowed: str) -> Check:
    """One of several words."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and value in allowed
        _need(fits, name, f"one of {', '.join(allowed)}", value)

    return check


def flag(value: Any, name: str) -> None:
    """True or False."""
    _need(isinstance(value, bool), name, "True or False", value)


def maybe(check: Check) -> Check:
    """None, or what `check` takes."""
    return lambda value, name: None if value is None else check(value, name)


def items(check: Check, least: int = 0, most: float = inf) -> Check:
    """A list, and what each of its items must be."""

    def check_all(value: Any, name: str) -> None:
        fits = isinstance(value, list) and least <= len(value) <= most
        size = f" of {least}" if least == most else f" of at least {least}" if least else ""
        _need(fits, name, f"a list{size}", value)
        for place, item in enumerate(value):
            check(item, f"{name}[{place}]")

    return check_all


def record(fields: Mapping[str, Check]) -> Check:
    """Exactly these fields."""

    def check_all(value: Any, name: str) -> None:
        _need(isinstance(value, dict), name, "an object with fields", value)
        if value.keys() != fields.keys():
            missing = sorted(fields.keys() - value.keys())
            unknown = sorted(value.keys() - fields.keys())
            said = [f"{len(missing)} missing ({shown(missing)})"] if missing else []
            said += [f"{len(unknown)} unknown ({shown(unknown)})"] if unknown else []
            raise ValueError(f"{name} must have its fields and no others, {', '.join(said)}")
        for field, check in fields.items():
            check(value[field], f"{name}.{field}")

    return check_all


def any_name(check: Check) -> Check:
    """An object whose fields may have any name."""

    def check_all(value: Any, name: str) -> None:
        _need(isinstance(value, dict), name, "an object with fields", value)
        for field, item in value.items():
            _need(_encodable(field), name, "fields with names", field)
            check(item, f"{name}.{field}")

    return check_all


def plain(value: Any, name: str, depth: int = 0) -> None:
    """A parameter: nothing, a number, text, or {"tuple": [..]} or {"dict": [[key, value], ..]}."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        return number(finite=False)(value, name)
    if isinstance(value, str):
        return text()(value, name)
    nested = isinstance(value, dict) and list(value) in (["tuple"], ["dict"]) and depth < _DEEPEST
    _need(nested, name, "a plain value", value)
    deeper: Check = lambda item, name: plain(item, name, depth + 1)  # noqa: E731
    many = items(deeper) if "tuple" in value else items(items(deeper, 2, 2))
    return many(next(iter(value.values())), name)


def check_fields(settings: Any) -> None:
    """Check the annotated fields of a dataclass, from its `__post_init__`.

    A field such as ``rate: Annotated[float, number(0, 1)]`` becomes a plain float that files can
    hold, whatever kind of number was given. The dataclass may be frozen.
    """
    kind: type = type(settings)
    for name, (plain_type, check) in _annotated(kind).items():
        value = _as_plain(getattr(settings, name), plain_type)
        check(value, name)
        object.__setattr__(settings, name, value)


@cache
def _annotated(kind: type) -> dict[str, tuple[type, Check]]:
    """Type and check of those fields that have one."""
    hints = get_type_hints(kind, include_extras=True)
    found = {name: get_args(hint) for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return {name: (plain_type, check) for name, (plain_type, check) in found.items()}


def _as_plain(value: Any, kind: type) -> Any:
    """A number of any library as Python's, if that loses nothing; all else as it is."""
    value = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(value, bool):
        return value
    with suppress(OverflowError):
        if kind is float and isinstance(value, Real):
            return float(value)
        if kind is int and isinstance(value, Integral):
            return int(value)
    return value


def _need(fits: Any, name: str, wanted: str, value: Any) -> None:
    if not fits:
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True
