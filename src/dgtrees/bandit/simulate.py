"""Labelled data as a bandit stream: the policy sees the loss of its actions, we see the curve.

For 0-1 loss of labels, and for squared or absolute error of values, the loop over the stream is
compiled and does exactly what `decide` and `learn` would have done row by row. Any other loss is
a Python function, and the loop Python's; so is the loop over any other policy that has `decide`,
`learn` and `predict`, a rival's for instance.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.feedback import loss_pair
from dgtrees.bandit.learner import OnlineTree

__all__ = ["Curve", "simulate"]

_FINITE, _CONTINUOUS = ("0-1",), ("squared", "absolute")
_CHUNK = 20_000  # queries between two looks at the progress bar


@dataclass(frozen=True)
class Curve:
    """What a simulation showed, one number a checkpoint.

    Attributes
    ----------
    queries
        Answered queries so far.
    progressive
        Mean loss of all actions so far, each taken before its answer was learnt; for 0-1 loss
        the share of right ones instead.
    held_out
        Accuracy (0-1 loss) or mean loss of `predict` on the held-out rows; empty without them.
    regret
        Loss so far less that of the reference on the same rows; empty without a reference.
    leaves
        Leaves that queries since the checkpoint before came to, each as the tree was when it
        decided; empty for other policies.
    classes
        The labels that stood for actions 0, 1, ..; empty where `y` held the actions or values.
    """

    queries: list[int] = field(default_factory=list)
    progressive: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    accuracy: bool = True
    classes: list[Any] = field(default_factory=list)

    def plot(self, ax: Any = None, label: str = "") -> Any:
        """Draw the curve into matplotlib axes, new ones by default, and return them."""
        from dgtrees.model.plot.canvas import new_axes

        ax = new_axes(7.5, 4.0, ax, layout="constrained")
        style: dict[str, Any] = {"marker": ".", "markersize": 5}
        name = f"{label}: " if label else ""
        (line,) = ax.plot(
            self.queries, self.held_out or self.progressive, **style,
            label=f"{name}{'held-out rows' if self.held_out else 'while learning'}",
        )  # fmt: skip
        if self.held_out:
            ax.plot(
                self.queries, self.progressive, **style, color=line.get_color(), alpha=0.5,
                linestyle="--", label=f"{name}while learning",
            )  # fmt: skip
        ax.set_xlabel("answered queries")
        ax.set_ylabel("accuracy" if self.accuracy else "mean loss")
        # Beside the axes: inside, it would hide curves wherever it stood.
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def simulate(
    policy: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    queries: int | None = None,
    checkpoints: Sequence[int] | None = None,
    loss: str | Callable[[Any, Any], float] | None = None,
    reference: Any = None,
    random_state: int = 0,
    progress: bool = False,
) -> Curve:
    """Let a policy decide and learn on labelled rows, of which it sees losses only.

    Parameters
    ----------
    policy : DGTBandit, DGTContinuousBandit, or anything with decide, learn and predict
    X, y : rows and their labels or values
        Streamed in random order; where `queries` exceeds them, again in a new one. Whole numbers
        from 0 to n_actions - 1 are actions; of any other labels, the sorted ones are the actions
        0, 1, .., see `Curve.classes`. A callable loss is given the elements of y as they are.
    X_test, y_test : optional
        Rows that the policy never learns from.
    queries : int, optional
        Length of the stream; the last checkpoint, or one pass over the rows by default.
    checkpoints : sequence of int, optional
        After how many queries to measure; ten times by default.
    loss : name or callable(action, target), optional
        "0-1" for a DGTBandit; "squared" (default) or "absolute" for a DGTContinuousBandit.
    reference : optional
        A fitted model, or anything with `predict`: regret is measured against it. Trained on the
        same rows with full labels it is the best fixed tree there is to be had.
    random_state : int
        Order of the stream.
    progress : bool
        Show a progress bar on the terminal.

    Returns
    -------
    Curve

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> from dgtrees import DGTBandit
    >>> policy = DGTBandit(n_actions=2, max_depth=2, random_state=0)
    >>> curve = simulate(policy, X, X[:, 0] > 0, X_test=X[:100], y_test=X[:100, 0] > 0)
    >>> curve.queries[-1], curve.held_out[-1] > 0.9
    (2000, True)
    """
    known = _FINITE if hasattr(policy, "n_actions") else _CONTINUOUS
    loss = known[0] if loss is None else loss
    if not callable(loss) and loss not in known:
        raise ValueError(
            f"loss of a {type(policy).__name__} must be {' or '.join(known)} or a callable, "
            f"got {loss!r}"
        )
    tree = isinstance(policy, OnlineTree)
    rows = policy._rows(X) if tree else _plain_rows("X", X)
    target, classes = _targets(policy, y, loss)
    if len(rows) != len(target) or not len(rows):
        raise ValueError(f"X and y must be equally many rows, got {len(rows)} and {len(target)}")
    ends = _ends(len(rows), queries, checkpoints)
    order = _order(len(rows), ends[-1], random_state)
    labels = np.asarray(y)
    answers = None if reference is None else _answers(reference, X, labels, loss)
    test = _Test(policy, X_test, y_test, loss, classes, rows.shape[1])
    accuracy = loss == "0-1"
    curve = Curve(accuracy=accuracy, classes=[] if classes is None else classes.tolist())
    total, regret, start = 0.0, 0.0, 0
    with _bar(progress, ends[-1]) as advance:
        for end in ends:
            visits = np.zeros(2**policy.max_depth if tree else 0, dtype=np.int64)
            for first in range(start, end, _CHUNK):
                part = order[first : min(first + _CHUNK, end)]
                losses = _play(policy, rows, target, part, visits, loss)
                total += losses.sum()
                if answers is not None:
                    best = _losses(loss, answers[part], labels[part])
                    regret += float(losses.sum() - best.sum())
                advance(len(part))
            curve.queries.append(end)
            curve.progressive.append(1.0 - total / end if accuracy else total / end)
            if tree:
                curve.leaves.append(int((visits > 0).sum()))
            if answers is not None:
                curve.regret.append(regret)
            if test.rows is not None:
                curve.held_out.append(test.score())
            start = end
    return curve


def _targets(policy: Any, y: Any, loss: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Values, or action numbers and the labels they stand for."""
    y = _known(y, "y", loss)
    if callable(loss):
        return y, None
    if not hasattr(policy, "n_actions"):
        values = y.astype(np.float64)
        for end in (policy.low, policy.high):  # the largest losses there can be
            loss_pair(_losses(loss, np.array(end), values).max(), points=1)
        return values, None
    if y.dtype.kind in "iu" and len(y) and y.min() >= 0 and y.max() < policy.n_actions:
        return y.astype(np.int64), None
    try:
        classes, target = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y must hold labels of one kind, got several: make text of all") from None
    if len(classes) > policy.n_actions:
        raise ValueError(
            f"y must hold at most n_actions={policy.n_actions} labels, got {len(classes)}: "
            "make a policy with more actions"
        )
    return target.astype(np.int64), classes


def _known(y: Any, name: str, loss: Any) -> np.ndarray:
    """Labels or values, one a row and none missing; whatever a callable loss may take."""
    y = np.asarray(y)
    if callable(loss) and y.ndim:
        return y
    if y.ndim != 1:
        raise ValueError(f"{name} must be one label or value a row, got shape {y.shape}")
    if loss != "0-1":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers, got {shown(y)}") from None
        gaps = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        gaps = np.array([_missing(label) for label in y], dtype=bool)
    else:
        gaps = y != y  # NaN and NaT
    if gaps.any():
        row = int(np.flatnonzero(gaps)[0])
        raise ValueError(
            f"{name} must be finite and without gaps, got {y[row]} in row {row}: "
            "leave those rows out"
        )
    return y


def _missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True


def _plain_rows(name: str, X: Any) -> np.ndarray:
    """Rows of a policy that is not ours, which may check them too late."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be rows of numbers, got {shown(X)}") from None
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite rows by features, got shape {rows.shape}")
    return rows


def _answers(reference: Any, X: Any, y: np.ndarray, loss: Any) -> np.ndarray:
    answers = np.asarray(reference.predict(X))
    if answers.shape[:1] != y.shape[:1] or (answers.ndim != 1 and not callable(loss)):
        raise ValueError(
            f"reference.predict must give one answer to each of {len(y)} rows, "
            f"got shape {answers.shape}"
        )
    return answers


def _ends(rows: int, queries: int | None, checkpoints: Sequence[int] | None) -> list[int]:
    if queries is not None:
        queries = whole_number("queries", queries, 1, 10**15)
    if checkpoints is None:
        last = rows if queries is None else queries
        tenths = np.linspace(0, last, 11)[1:].round().astype(int).tolist()
        checkpoints = [end for end in tenths if end]  # a short stream has fewer than ten
    try:
        checkpoints = [operator.index(end) for end in checkpoints]
    except TypeError:
        raise ValueError(f"checkpoints must be whole numbers, got {shown(checkpoints)}") from None
    ends = sorted(set(checkpoints) | ({queries} if queries else set()))
    if not ends or ends[0] < 1 or (queries and ends[-1] > queries):
        raise ValueError(f"checkpoints must lie between 1 and queries={queries}, got {checkpoints}")
    return ends


def _order(rows: int, queries: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    passes = -(-queries // rows)
    return np.concatenate([rng.permutation(rows) for _ in range(passes)])[:queries]


def _play(
    policy: Any, rows: np.ndarray, target: Any, part: np.ndarray, visits: np.ndarray, loss: Any
) -> np.ndarray:
    tree = isinstance(policy, OnlineTree)
    if tree and not callable(loss):
        losses: np.ndarray = policy._stream(rows, target, part, visits, loss)
        return losses
    # Rows of our own policies are checked and encoded already.
    learn = policy._learn if tree else policy.learn
    judge = loss if callable(loss) else _ONE_LOSS[loss]
    losses = np.empty(len(part))
    for i, row in enumerate(part):
        x = np.ascontiguousarray(rows[row], dtype=np.float64)
        if tree:
            decision, leaf = policy._decide(x)
            visits[leaf] += 1
        else:
            decision = policy.decide(x)
        if hasattr(decision, "actions"):
            found: Any = [judge(action, target[row]) for action in decision.actions]
            found = found if len(found) == 2 else found[0]
        else:
            found = judge(decision.action, target[row])
        learn(x, decision, found)
        losses[i] = np.mean(found)
    return losses


_ONE_LOSS: dict[str, Callable[[Any, Any], float]] = {
    "0-1": lambda action, label: float(action != label),
    "squared": lambda action, value: float((action - value) ** 2),
    "absolute": lambda action, value: float(abs(action - value)),
}


def _losses(loss: Any, answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    if callable(loss):
        return np.array([loss(a, b) for a, b in zip(answers, y, strict=True)])
    if loss == "0-1":
        return (answers != y).astype(float)
    error = answers - y
    return error**2 if loss == "squared" else np.abs(error)


@dataclass
class _Test:
    """Held-out rows, if there are any."""

    policy: Any
    rows: Any
    y: Any
    loss: Any
    classes: np.ndarray | None
    width: int

    def __post_init__(self) -> None:
        if (self.rows is None) != (self.y is None):
            raise ValueError("X_test and y_test must be given together, got only one of them")
        if self.rows is not None:
            self.y = _known(self.y, "y_test", self.loss)
            tree = isinstance(self.policy, OnlineTree)
            rows = self.policy._rows(self.rows) if tree else _plain_rows("X_test", self.rows)
            if rows.shape[1] != self.width:
                raise ValueError(
                    f"X_test must have the {self.width} features of X, got {rows.shape[1]}"
                )
            if len(self.rows) != len(self.y) or not len(self.y):
                raise ValueError(
                    f"X_test and y_test must be equally many rows, got {len(self.rows)} and "
                    f"{len(self.y)}"
                )

    def score(self) -> float:
        answers = self.policy.predict(self.rows)
        if self.classes is not None:  # an action that no label stands for is wrong
            known = np.minimum(answers, len(self.classes) - 1)
            return float(np.mean((self.classes[known] == self.y) & (answers == known)))
        if self.loss == "0-1":
            return float(np.mean(answers == self.y))
        return float(np.mean(_losses(self.loss, answers, self.y)))


def _bar(progress: bool, queries: int) -> Any:
    """A context that gives a function to report finished queries to."""
    if not progress:
        return nullcontext(lambda done: None)
    return _Bar(queries)


class _Bar:
    def __init__(self, queries: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.progress = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} queries"),
            BarColumn(),
            TimeRemainingColumn(),
            transient=True,
        )
        self.task = self.progress.add_task("", total=queries)

    def __enter__(self) -> Callable[[int], None]:
        self.progress.start()
        return lambda done: self.progress.advance(self.task, done)

    def __exit__(self, *_: Any) -> None:
        self.progress.stop()
