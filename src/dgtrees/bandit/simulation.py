"""Labelled data as a bandit stream: the policy sees the loss of its actions, we see the curve.

For 0-1 loss of labels, and for squared or absolute error of values, the loop over the stream is
compiled and does exactly what `decide` and `learn` would have done row by row. Any other loss is
a Python function, and the loop Python's; so is the loop over any other `Policy`, a baseline's for
instance.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.curve import Curve
from dgtrees.bandit.decision import ContinuousDecision
from dgtrees.bandit.named_policy import NamedPolicy
from dgtrees.bandit.online_tree import OnlineTree
from dgtrees.bandit.policy import Policy
from dgtrees.bandit.stream_targets import (
    HeldOut,
    check_policy,
    compute_losses,
    is_finite,
    read_answers,
    read_stream_rows,
    read_targets,
)
from dgtrees.tree.action_losses import LOSSES

__all__ = ["simulate"]

_FINITE, _CONTINUOUS = ("0-1",), ("squared", "absolute")
_CHUNK = 20_000  # queries between two looks at the progress bar


def simulate(
    policy: Policy[Any],
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
    policy : DGTBandit, DGTContinuousBandit, or any `Policy`
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
    check_policy(policy)
    if random_state is not None:
        random_state = whole_number("random_state", random_state, 0, 2**63 - 1)
    known = _FINITE if is_finite(policy) else _CONTINUOUS
    loss = known[0] if loss is None else loss
    if not callable(loss) and loss not in known:
        raise ValueError(
            f"loss of a {type(policy).__name__} must be {' or '.join(known)} or a callable, "
            f"got {loss!r}"
        )
    target, classes = read_targets(policy, y, loss)
    found = len(X) if hasattr(X, "__len__") else 0  # type: ignore[arg-type]
    if found != len(target) or not found:
        raise ValueError(f"X and y must be equally many rows, got {found} and {len(target)}")
    ends = _find_ends(len(target), queries, checkpoints)
    order = _draw_order(len(target), ends[-1], random_state)
    labels = np.asarray(y)
    answers = None if reference is None else read_answers(reference, X, labels, loss)
    rows = read_stream_rows(policy, "X", X)  # may be the first that the policy sees
    test = HeldOut(policy, X_test, y_test, loss, classes, rows.shape[1])
    accuracy = loss == "0-1"
    curve = Curve(accuracy=accuracy, classes=[] if classes is None else classes.tolist())
    tree = isinstance(policy, OnlineTree) or (isinstance(policy, NamedPolicy) and policy._is_tree)
    leaves = 2**policy.max_depth if tree else 0  # type: ignore[attr-defined]
    total, regret, start = 0.0, 0.0, 0
    with _show_bar(progress, ends[-1]) as advance:
        for end in ends:
            visits = np.zeros(leaves, dtype=np.int64)
            for first in range(start, end, _CHUNK):
                part = order[first : min(first + _CHUNK, end)]
                losses = _play(policy, rows, target, part, visits, loss)
                total += losses.sum()
                if answers is not None:
                    best = compute_losses(loss, answers[part], labels[part])
                    regret += float(losses.sum() - best.sum())
                advance(len(part))
            curve.queries.append(end)
            curve.progressive.append(1.0 - total / end if accuracy else total / end)
            if leaves:
                curve.leaves.append(int((visits > 0).sum()))
            if answers is not None:
                curve.regret.append(regret)
            if test.rows is not None:
                curve.held_out.append(test.score())
            start = end
    return curve


def _find_ends(rows: int, queries: int | None, checkpoints: Sequence[int] | None) -> list[int]:
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
        until = "the last query" if queries is None else f"queries={queries}"
        raise ValueError(
            f"checkpoints must lie between 1 and {until}, got {shown(checkpoints)}: leave them out"
        )
    return ends


def _draw_order(rows: int, queries: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    passes = -(-queries // rows)
    return np.concatenate([rng.permutation(rows) for _ in range(passes)])[:queries]


def _play(
    policy: Policy[Any],
    rows: np.ndarray,
    target: np.ndarray,
    part: np.ndarray,
    visits: np.ndarray,
    loss: str | Callable[[Any, Any], float],
) -> np.ndarray:
    """Decide and learn for some rows; losses in their order."""
    # Rows of our own policies are checked and encoded already.
    own: Any = policy if isinstance(policy, (NamedPolicy, OnlineTree)) else None
    if own and isinstance(loss, str):
        compiled: np.ndarray = own._stream(rows, target, part, visits, loss)
        return compiled
    cost = LOSSES[loss] if isinstance(loss, str) else loss
    losses = np.empty(len(part))
    for i, row in enumerate(part):
        x = np.ascontiguousarray(rows[row], dtype=np.float64)
        if own:
            decision, leaf = own._decide(x)
            visits[leaf : leaf + 1] += 1  # of none, where the policy has no leaves
        else:
            decision = policy.decide(x)
        found = _cost_of(decision, target[row], cost)
        (own._learn_encoded if own else policy.learn)(x, decision, found)
        losses[i] = np.mean(found)
    return losses


def _cost_of(decision: Any, target: Any, cost: Callable[[Any, Any], float]) -> Any:
    """The loss of a decision, or the pair of losses if two actions are tried."""
    if not isinstance(decision, ContinuousDecision):
        return cost(decision.action, target)
    found = [cost(action, target) for action in decision.actions]
    return found if len(found) == 2 else found[0]


def _show_bar(progress: bool, queries: int) -> Any:
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
