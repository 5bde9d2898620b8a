"""Choice: which plan suits a table, found on rows that were held out, then trained on all rows.

Cheap plans come first, and say which dear ones are worth trying: linear models; grown trees of all
sizes at once, with and without a linear function that leaves share; then the best of these under
gradient descent; then trees of random layers, short runs first. Losses are log-loss or squared
error. Small tables are judged by folds, large ones by one part that is held out.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from dgtrees.learn.chosen import Choice
from dgtrees.learn.folds import held_out_parts
from dgtrees.learn.linear import PENALTIES
from dgtrees.learn.plans import (
    DESCENT,
    Beside,
    Plan,
    Table,
    grown_descent,
    layered_descent,
    layered_recipe,
)
from dgtrees.learn.shrinkage import STRENGTHS, levels_below

__all__ = ["Choice", "choose"]

_SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_SIZES_DESCENDED = 512
_MIN_ROWS = (1, 5, 20)
_CHECKPOINTS = (10, 20, 30)
_LEARNT = (0.0, 0.5, 1.0)
_NOISES = (0.1, 0.4, 1.0)

_FOLDS_TO_TELL = 5
"""Folds from which on a plan must beat a constant by more than chance."""

_LAYER_FOLDS, _MANY_ROWS = 2, 1_000
"""Folds for trees of random layers, which take longest, and one from so many rows on; those that
lead there go on to the others."""

_SHORT = 8
"""Short runs of layers take so many times fewer epochs; few rows are learnt by heart in more."""

_PROMISING = 1.15
"""Plans that are worse than the best so far by this factor are not gone on with: grown trees, with
or without a linear function, by descent; layers of classes, after a short run, by a full one."""


_CLEARLY = 0.99
"""Bent columns are gone on with where a linear model's loss falls to this share by them."""

Losses = dict[Plan, float]


class _Fold:
    """Rows to train on and rows to judge by, with what several plans need of them."""

    def __init__(self, train: Table, held: Table, seed: int, most: int, bent: bool = False) -> None:
        self.train, self.held = train.side(bent), held.side(bent)
        self.seed, self.most, self.bent = seed, most, bent
        self._linear: dict[float, Beside] = {}

    def loss(self, outputs: np.ndarray) -> float:
        """Weighted mean loss of the held-out rows."""
        return float(np.average(self.held.losses(outputs), weights=self.held.weight))

    def beside(self, penalty: float | None) -> Beside:
        """The training rows beside a linear function."""
        return Beside(self.train, None) if penalty is None else self._linear[penalty]

    def offset(self, penalty: float | None) -> np.ndarray:
        """What the linear function says of the held-out rows."""
        linear = self.beside(penalty).linear
        return np.zeros(1) if linear is None else linear.predict(self.held.X)

    def linear(self) -> Losses:
        """Linear models of all penalties."""
        for penalty, model in zip(PENALTIES, self.train.linear(PENALTIES), strict=True):
            self._linear[penalty] = Beside(self.train, model)
        return {Plan(p, bent=self.bent): self.loss(self.offset(p)) for p in PENALTIES}

    def grown(self, penalty: float | None) -> Losses:
        """Grown trees of all sizes, least rows of a leaf and strengths; and none, a constant."""
        beside, offset, found = self.beside(penalty), self.offset(penalty), {}
        sizes = [*(size for size in _SIZES if size < self.most), self.most]
        for min_rows in _MIN_ROWS:
            grown = beside.grow(self.most, min_rows, self.seed)
            sums = beside.grown_sums(grown, grown.paths(self.train.X))
            paths, turns = grown.paths(self.held.X), grown.turns()
            turn = turns[paths]
            levels = levels_below(grown.parent)
            by_strength = {s: beside.values(sums, levels, s) for s in STRENGTHS}
            if penalty is None:
                root = np.zeros(len(paths), dtype=np.int64)
                found[Plan()] = self.loss(by_strength[0.0][root])
            for size in sizes:
                # A smaller tree ends where the next split came too late for it.
                stop = np.argmax(turn >= size - 1, axis=1)
                at = paths[np.arange(len(paths)), stop]
                for strength, values in by_strength.items():
                    plan = Plan(penalty, size, min_rows, strength=strength, bent=self.bent)
                    found[plan] = self.loss(offset + values[at])
        return found

    def descended(self, plan: Plan) -> Losses:
        """A grown tree under descent, after several numbers of epochs."""
        beside, offset = self.beside(plan.penalty), self.offset(plan.penalty)
        descent = grown_descent(beside, plan, self.seed)
        run = descent.begin(self.train.rows(beside.offset), DESCENT)
        found: Losses = {}
        for epochs in _CHECKPOINTS:
            run.advance(epochs)
            tree = descent.tree(average=True)
            found |= self._leaves(replace(plan, epochs=epochs), beside, tree, offset)
        return found

    def layered(self, plan: Plan) -> Losses:
        """A tree of random layers."""
        beside, offset = self.beside(plan.penalty), self.offset(plan.penalty)
        descent, recipe = layered_descent(beside, plan, self.seed)
        run = descent.begin(self.train.rows(beside.offset), recipe, epochs=plan.epochs)
        run.advance().finish()
        return self._leaves(plan, beside, descent.tree(), offset)

    def _leaves(self, plan: Plan, beside: Beside, tree, offset) -> Losses:  # type: ignore[no-untyped-def]
        """All strengths, and all mixtures with what was learnt, for one trained tree."""
        found, at = {}, tree.apply(self.held.X)
        for strength, share, values in beside.leaves(tree, STRENGTHS, _LEARNT):
            full = replace(plan, strength=strength, learnt=share)
            found[full] = self.loss(offset + values[at])
        return found


class _Search:
    """The folds of a table, and what has been tried on them."""

    def __init__(
        self,
        table: Table,
        held: Table | None,
        repeats: np.ndarray,
        seed: int,
        max_leaves: int | None,
        n_threads: int,
    ) -> None:
        self.table, self.max_leaves, self.n_threads = table, max_leaves, max(1, n_threads)
        parts = held_out_parts(table, repeats, seed) if held is None else [(table, held)]
        most = min(max_leaves or _SIZES[-1], max(2, int(parts[0][0].weight.sum()) // 2))
        self.folds = [_Fold(train, judge, seed, most) for train, judge in parts]
        sides = [] if table.bent is None else parts
        self.bent_folds = [_Fold(train, judge, seed, most, bent=True) for train, judge in sides]
        self.choice = Choice()
        self.layer_folds = 1 if len(table) >= _MANY_ROWS else min(_LAYER_FOLDS, len(parts))

    def judge(
        self, work: Callable[[_Fold], Losses], start: int, stop: int | None, bent: bool = False
    ) -> None:
        """Do some work on the folds start .. stop - 1, side by side, and note the losses."""
        folds = (self.bent_folds if bent else self.folds)[start:stop]
        threads = min(self.n_threads, len(folds))
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(work, folds))
        else:
            found = [work(fold) for fold in folds]
        for losses in found:
            for plan, loss in losses.items():
                self.choice.losses.setdefault(plan, []).append(loss)

    def cheap(self, leaf: str) -> list[Plan]:
        """Linear models and grown trees on all folds; what is worth going on with.

        A grown tree is the same on both sides. Linear models are not, and say whether the bent side
        is worth anything more.
        """
        bases: list[Plan] = [] if leaf == "linear" else [Plan()]
        if leaf != "constant":
            self.judge(_Fold.linear, 0, None)
            linear = [self._best(lambda plan: True)]
            self.judge(_Fold.linear, 0, None, bent=True)
            best = self._best(lambda plan: True)
            if self.choice.score(best) < _CLEARLY * self.choice.score(linear[0]):
                linear.append(best)
            else:
                self.bent_folds = []
            self._grow(linear)
            bases.append(min(linear, key=lambda base: self._score_of(partial(_beside, base=base))))
        self._grow([base for base in bases if base.penalty is None])
        return bases

    def _grow(self, bases: list[Plan]) -> None:
        for base in bases:
            self.judge(partial(_Fold.grown, penalty=base.penalty), 0, None, base.bent)

    def descend(self, bases: list[Plan]) -> None:
        """Descent of grown trees: all on the first fold, the best two on the others."""
        far = _PROMISING * self._score_of(lambda plan: True)
        near = [base for base in bases if self._score_of(partial(_beside, base=base)) <= far]
        plans = [plan for base in near for plan in self._worth_descending(base)]
        for plan in plans:
            self.judge(partial(_Fold.descended, plan=plan), 0, 1, plan.bent)
        plans.sort(key=self._first_loss)
        if plans and self.bent_folds:  # oblique cuts are others on the other side
            other = replace(plans[0], bent=not plans[0].bent)
            self.judge(partial(_Fold.descended, plan=other), 0, 1, other.bent)
            plans = sorted([*plans, other], key=self._first_loss)
        if len(self.folds) > 1:
            for plan in plans[:2]:
                self.judge(partial(_Fold.descended, plan=plan), 1, None, plan.bent)

    def _first_loss(self, plan: Plan) -> float:
        """Loss of a descended plan on the first fold."""
        tried = [p for p in self.choice.losses if p.epochs and p.same_tree(plan)]
        return min(self.choice.score(p, 1) for p in tried)

    def _worth_descending(self, base: Plan) -> list[Plan]:
        """The best grown tree, and smaller ones: oblique cuts need fewer leaves."""
        best = self._best(lambda plan: _beside(plan, base) and plan.max_leaves > 1)
        most = min(self.max_leaves or len(self.table), max(4, len(self.table) // 8))
        sizes = {min(best.max_leaves, _SIZES_DESCENDED, most), 16, 64}
        small = [size for size in sorted(sizes) if size <= most]
        min_rows = max(best.min_rows, 5)
        like = replace(best, min_rows=min_rows, start=max(best.strength, 1.0))
        return [replace(like, max_leaves=size) for size in small]

    def layers(self, base: Plan) -> None:
        """Trees of random layers: short runs for the noise, a full one if it is promising.

        Short runs are plans of their own, which small and noisy tables may prefer.
        """
        height = 8 if self.table.classification else 6
        if self.max_leaves is not None:
            height = min(height, int(np.log2(self.max_leaves)))
        plan = Plan(base.penalty, max_depth=height, bent=base.bent)
        epochs = layered_recipe(plan, self.table.classification).n_epochs(len(self.table))
        loss, plan = self._short_layers(replace(plan, epochs=max(2, epochs // _SHORT)))
        so_far = self.choice.score(self._best(lambda plan: True), self.layer_folds)
        # Regression takes few steps, and its short runs say little about full ones.
        if not self.table.classification or loss < _PROMISING * so_far:
            self._judge_layers(replace(plan, epochs=epochs))

    def _short_layers(self, plan: Plan) -> tuple[float, Plan]:
        """The best noise, and the better side, after its loss."""
        best: tuple[float, Plan] | None = None
        for noise in _NOISES:
            plan = replace(plan, noise=noise)
            loss = self._judge_layers(plan)
            if best is not None and loss >= best[0]:
                break  # more noise would be worse still
            best = loss, plan
        assert best is not None
        if not self.bent_folds:
            return best
        other = replace(best[1], bent=not best[1].bent)
        return min(best, (self._judge_layers(other), other), key=lambda pair: pair[0])

    def _judge_layers(self, plan: Plan) -> float:
        """Try a plan of layers; the best loss of its leaves."""
        self.judge(partial(_Fold.layered, plan=plan), 0, self.layer_folds, plan.bent)
        tried = [p for p in self.choice.losses if p.same_tree(plan) and p.epochs == plan.epochs]
        return min(self.choice.score(p) for p in tried)

    def _best(self, wanted: Callable[[Plan], bool]) -> Plan:
        return self.choice.best(wanted, len(self.folds))

    def _score_of(self, wanted: Callable[..., bool]) -> float:
        return self.choice.score(self._best(wanted))

    def decide(self) -> Choice:
        """The best plan of all folds; layers that lead on the first ones are judged by the rest."""
        few, best = self.layer_folds, self._best(lambda plan: True)
        # There may be no layers: where no column varies, none are tried.
        leader = self.choice.best(lambda plan: plan == best or plan.max_depth > 0, few)
        if len(self.choice.losses[leader]) < len(self.folds):
            self.judge(partial(_Fold.layered, plan=leader), few, None, leader.bent)
        best = self._best(lambda plan: True)
        self.choice.plan = best if self._says_something(best) else Plan()
        return self.choice

    def _says_something(self, best: Plan) -> bool:
        """Whether a plan beats a constant by more than chance: of many plans, one seems to.

        So must, on each fold, the plan that would have been chosen by the others: it knows nothing
        of the fold that judges it.
        """
        constant = np.array(self.choice.losses.get(Plan(), []))
        folds = len(constant)
        if folds < _FOLDS_TO_TELL:  # only small tables have folds enough to tell
            return True
        gain = constant - np.array(self.choice.losses[best])
        if gain.mean() <= 2.0 * gain.std(ddof=1) / np.sqrt(folds):
            return False
        losses = np.array([told for told in self.choice.losses.values() if len(told) == folds])
        by_others = np.argmin(losses.sum(axis=1, keepdims=True) - losses, axis=0)
        return bool(np.mean(constant - losses[by_others, np.arange(folds)]) > 0)


def _beside(plan: Plan, base: Plan) -> bool:
    """Whether a plan is one beside the same linear function, or beside none."""
    return plan.penalty == base.penalty and plan.bent == base.bent


def choose(
    table: Table,
    held: Table | None,
    seed: int,
    leaf: str = "auto",
    max_leaves: int | None = None,
    n_threads: int = 1,
    repeats: np.ndarray | None = None,
) -> Choice:
    """Find the plan for a table; see the module docstring.

    Parameters
    ----------
    table, held : Table
        Rows to train on, and rows to judge by; without, parts of the former.
    seed : int
        Of folds and starts.
    leaf : "auto", "constant" or "linear"
        Which leaves the plan may have.
    max_leaves : int, optional
        How many leaves it may have.
    n_threads : int
        Folds side by side; the choice is the same for any number.
    repeats : ndarray of shape (rows,), optional
        How many rows every row stands for, where that is not its weight.
    """
    repeats = table.weight if repeats is None else repeats
    search = _Search(table, held, repeats, seed, max_leaves, n_threads)
    bases = search.cheap(leaf)
    if table.X.any():  # where no column varies, there is nothing to descend by
        search.descend(bases)
        search.layers(bases[0])
    return search.decide()
