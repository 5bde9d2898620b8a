"""What a model's outputs mean: classes, values or actions; clusters are in `model.clusters`.

An answer turns outputs (rows, outputs), or those of one row (outputs,), into what users asked for.
It also knows what it is called in exported files, and what of it a model file holds: everything
that differs between answers is here, and nobody else compares their types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax

from dgtrees.errors import StateError
from dgtrees.model.clusters import Clusters
from dgtrees.schema import shown

__all__ = ["Actions", "Answer", "Classes", "Values"]

Bounds = tuple[np.ndarray, np.ndarray]

_LABELS: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float,),
    "U": (str,),
    "O": (str, int, float, bool),
}
"""Kind of NumPy's types to what labels are in a file."""

_ROOM = 1024


@dataclass(frozen=True, eq=False)
class Classes:
    """Outputs are a score, or a probability, of every class.

    Parameters
    ----------
    labels : ndarray of shape (classes,)
        In the order of the outputs.
    factors : ndarray of shape (classes,), optional
        Class weights. Outputs know nothing of them; which class is predicted does: that of the
        largest probability times factor.
    shares : bool
        Whether outputs are shares, and not scores.
    exponent : float
        Powers of shares by it, divided by their sum, are probabilities.
    """

    labels: np.ndarray
    factors: np.ndarray | None = None
    shares: bool = False
    exponent: float = 1.0

    bounds: ClassVar[Bounds | None] = None
    logarithms: ClassVar[bool] = False
    task: ClassVar[str] = "classification"
    onnx_output: ClassVar[str] = "probabilities"
    c_outputs: ClassVar[str] = "Probability of every class"

    numbered: ClassVar[bool] = False

    @property
    def c_best(self) -> str:
        """What the class that is predicted is called in C."""
        return "likeliest class" if self.factors is None else "class that class weights make best"

    @property
    def names(self) -> list[str]:
        """Labels as text."""
        return [str(label) for label in self.labels.tolist()]

    @property
    def n_outputs(self) -> int:
        """Outputs of a leaf."""
        return len(self.labels)

    @cached_property
    def emphasis(self) -> np.ndarray | None:
        """What class weights add to scores before the largest is taken; None without any."""
        return None if self.factors is None else np.log(self.factors)

    @property
    def weighing(self) -> tuple[str, np.ndarray] | None:
        """What to do with outputs before the largest is taken: "+" or "*", and by what."""
        if self.factors is None or self.emphasis is None:
            return None
        if not self.shares:
            return "+", self.emphasis
        if self.exponent == 1.0:
            return "*", self.factors
        # Of probabilities shares are the root. The largest factor is 1: powers stay numbers.
        return "*", (self.factors / self.factors.max()) ** (1.0 / self.exponent)

    def predict(self, outputs: np.ndarray) -> Any:
        """The likeliest class, or the one that class weights make the best."""
        if self.weighing is not None:
            by, numbers = self.weighing
            outputs = outputs * numbers if by == "*" else outputs + numbers
        return self.labels[outputs.argmax(axis=-1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Class probabilities, from scores."""
        return np.asarray(softmax(scores, axis=-1))

    def sharpened(self, shares: np.ndarray) -> np.ndarray:
        """Class probabilities, from shares."""
        if self.exponent == 1.0:
            return shares
        powers = (shares / shares.max(axis=-1, keepdims=True)) ** self.exponent
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    def to_header(self) -> dict[str, Any]:
        """Fields of a model file."""
        if self.labels.dtype.kind not in _LABELS:
            raise StateError(
                f"classes of type {self.labels.dtype} cannot be saved: use strings or numbers"
            )
        factors = {} if self.factors is None else {"class_factors": self.factors.tolist()}
        sharp = {} if self.exponent == 1.0 else {"exponent": self.exponent}
        labels = {"classes": self.labels.tolist(), "classes_dtype": self.labels.dtype.str}
        return {**labels, **factors, **sharp}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Classes as they were in fit: in order, and of the type that the file names."""
        labels, dtype = header["classes"], header["classes_dtype"]
        kind, size = re.fullmatch(r"[<>|=]?(\w)(\d*)", dtype).groups()  # type: ignore[union-attr]
        if not all(type(label) in _LABELS[kind] for label in labels):
            raise ValueError(f"classes must be labels of the type {dtype}, got {shown(labels)}")
        if any(not one < next_ for one, next_ in pairwise(labels)):
            raise ValueError(f"classes must be in order and differ, got {shown(labels)}")
        if kind == "U":
            longest = max(map(len, labels))
            if not longest <= int(size or 0):
                raise ValueError(f"classes must fit {dtype}, got {shown(labels)}")
            # Room that no label needs is kept up to a point: files must not ask for memory.
            dtype = f"<U{min(int(size), max(longest, _ROOM))}"
        factors = header.get("class_factors")
        if factors is not None and len(factors) != len(labels):
            raise ValueError(f"class_factors must be {len(labels)} numbers, got {shown(factors)}")
        known = None if factors is None else np.array(factors, dtype=np.float64)
        shares = header.get("combine") == "softmax"
        exponent = float(header.get("exponent", 1.0))
        if exponent != 1.0 and not shares:
            raise ValueError(f"exponent must be 1 where trees do not give shares, got {exponent}")
        return cls(np.array(labels, dtype=np.dtype(dtype)), known, shares, exponent)


@dataclass(frozen=True, eq=False)
class Values:
    """Outputs are one or several numbers.

    Parameters
    ----------
    bounds : pair of ndarray of shape (outputs,), optional
        Lowest and highest value that there can be. Linear leaves, which know no bounds of their
        own, are kept within them.
    single_output : bool
        Whether an answer is one number, and not an array of them.
    logarithms : bool
        Whether outputs are logarithms of the values.
    """

    bounds: Bounds | None = None
    single_output: bool = False
    logarithms: bool = False

    labels: ClassVar[None] = None
    names: ClassVar[None] = None
    emphasis: ClassVar[None] = None
    weighing: ClassVar[None] = None
    exponent: ClassVar[float] = 1.0
    numbered: ClassVar[bool] = False
    task: ClassVar[str] = "regression"
    onnx_output: ClassVar[str] = "variable"
    c_outputs: ClassVar[str] = "Predicted values"
    c_best: ClassVar[str] = ""

    @property
    def n_outputs(self) -> int | None:
        """Outputs of a leaf; None where nobody said."""
        return None if self.bounds is None else len(self.bounds[0])

    def predict(self, outputs: np.ndarray) -> Any:
        """The values, without an axis for outputs where there is one output only."""
        if self.logarithms:
            outputs = np.exp(outputs)
        return outputs.T[0] if self.single_output else outputs

    def to_header(self) -> dict[str, Any]:
        """Fields of a model file."""
        return {
            **({"logarithms": True} if self.logarithms else {}),
            "single_output": bool(self.single_output),
            "outputs": self.n_outputs,
            "target_range": self.bounds and [bound.tolist() for bound in self.bounds],
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Values:
        """Values as they were in fit."""
        single, outputs = header["single_output"], header.get("outputs")
        logarithms = bool(header.get("logarithms"))
        if header.get("target_range") is None:
            return cls(None, single, logarithms)
        low, high = (np.array(bound, dtype=np.float64) for bound in header["target_range"])
        if not low.shape == high.shape == (outputs,) or (low > high).any():
            raise ValueError(
                f"target_range must be {outputs} numbers each, low and high, "
                f"got {shown(header['target_range'])}"
            )
        if single and outputs != 1:
            raise ValueError(f"single_output must be false with {outputs} outputs")
        return cls((low, high), single, logarithms)


@dataclass(frozen=True, eq=False)
class Actions:
    """Outputs are a score of every action of a policy.

    Parameters
    ----------
    labels : ndarray of shape (actions,)
        What actions are called: numbers, where they have no names.
    """

    labels: np.ndarray

    bounds: ClassVar[Bounds | None] = None
    logarithms: ClassVar[bool] = False
    names: ClassVar[None] = None
    emphasis: ClassVar[None] = None
    weighing: ClassVar[None] = None
    exponent: ClassVar[float] = 1.0
    numbered: ClassVar[bool] = False
    task: ClassVar[str] = "actions"
    onnx_output: ClassVar[str] = "scores"
    c_outputs: ClassVar[str] = "Score of every action"
    c_best: ClassVar[str] = "action that seems best"

    @property
    def n_outputs(self) -> int:
        """Outputs of a leaf."""
        return len(self.labels)

    def predict(self, outputs: np.ndarray) -> Any:
        """The action that seems best."""
        return self.labels[outputs.argmax(axis=-1)]


Answer = Classes | Values | Actions | Clusters
