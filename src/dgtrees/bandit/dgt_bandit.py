"""DGTBandit: a policy that chooses among finitely many actions, in the words of its user.

Names of actions, contexts, ids, logs and the lock are its business and that of the modules beside
it; what is learnt is its learner's (`dgtrees.bandit.learner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.answers import Answer, read_answer, read_reward
from dgtrees.bandit.checks import whole_number
from dgtrees.bandit.decision import Decision, SlateDecision
from dgtrees.bandit.distilled import distil_policy
from dgtrees.bandit.explore import Exploration
from dgtrees.bandit.log_answers import answers_of
from dgtrees.bandit.named_policy import NamedPolicy
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.policy_arguments import pair_up, read_names
from dgtrees.bandit.policy_explanation import PolicyExplanation, explain_decision
from dgtrees.bandit.slates import draw_slate, inclusions
from dgtrees.bandit.tree_learner import TreeLearner
from dgtrees.model.model import Model
from dgtrees.tables.encoder import Encoder

__all__ = ["DGTBandit"]


class DGTBandit(NamedPolicy):
    """Chooses among finitely many actions, and learns from the loss or reward of its choice.

    Parameters
    ----------
    n_actions : int, optional
        Actions are called 0 .. n_actions - 1.
    max_depth : int, default 8
        Height of the online tree.
    leaf : "constant" or "linear", optional
        Asks for the online tree alone: a score an action in every leaf; or, added to it, linear
        scores shared by all leaves.
    actions : sequence of str or int, optional
        Names of the actions, in place of n_actions.
    action_features : dict of a dict per action, optional
        What is known of actions: a new one starts from what those taught that resemble it.
    explore : rule or its name, optional
        Asks for the online tree and says how it draws, see `dgtrees.bandit.explore`.
    recipe : "default", "paper" or BanditRecipe
        "paper" and a BanditRecipe ask for the online tree.
    loss_range : pair of numbers, optional
        The smallest and the largest loss that can occur; others are refused. The online tree needs
        one, (0, 1) unless told. Without one, losses and rewards may be any numbers.
    encoder : Encoder, optional
        Fitted; its columns are used, in place of columns that grow with what comes.
    half_life : float, optional
        Answers after which an answer counts half, for worlds that drift; never unless told. The
        online tree has none.
    random_state : int, optional

    Examples
    --------
    >>> import random
    >>> chance = random.Random(0)
    >>> policy = DGTBandit(actions=["mail", "gift"], random_state=0)
    >>> for _ in range(500):
    ...     customer = {"age": chance.randint(18, 80), "city": chance.choice(["Pune", "Rome"])}
    ...     d = policy.decide(customer)
    ...     wrong = (d.action == "gift") != (customer["city"] == "Rome")
    ...     told = policy.learn(customer, d, loss=float(wrong))
    >>> policy.predict([{"age": 30, "city": "Rome"}, {"age": 30, "city": "Pune"}]).tolist()
    ['gift', 'mail']
    >>> policy.decide(customer, allowed=["mail"]).probabilities
    {'mail': 1.0}
    """

    def __init__(
        self,
        n_actions: int | None = None,
        max_depth: int = 8,
        leaf: str | None = None,
        *,
        actions: Sequence[str] | Sequence[int] | None = None,
        action_features: Mapping[Any, Mapping[str, Any]] | None = None,
        explore: str | Exploration | None = None,
        recipe: str | BanditRecipe = "default",
        loss_range: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        half_life: float | None = None,
        random_state: int | None = None,
    ) -> None:
        names = read_names(n_actions, actions)
        self._begin_policy(
            names, max_depth, leaf, explore, recipe, loss_range, encoder, random_state, half_life
        )
        if action_features is not None:
            self._actions.describe(action_features)

    # Decisions

    @overload
    def decide(
        self, context: Any, allowed: Iterable[Any] | None = None, k: Literal[1] = 1
    ) -> Decision: ...
    @overload
    def decide(
        self, context: Any, allowed: Iterable[Any] | None = None, *, k: int
    ) -> Decision | SlateDecision: ...
    def decide(self, context: Any, allowed: Any = None, k: int = 1) -> Decision | SlateDecision:
        """Draw an action for a context, or `k` different ones.

        Parameters
        ----------
        context : dict, Series, row or array
            Numbers, texts, truth values; keys may be missing, and new ones may come at any time.
        allowed : names of actions, optional
            Those to choose from; all that are not retired unless told.
        k : int, default 1
            So many different actions; their probabilities are those of being among them.

        Returns
        -------
        Decision, or SlateDecision where k is above 1
        """
        with self._lock:
            mask = self._actions.mask(allowed)
            if type(k) is not int or k != 1:
                k = whole_number(
                    "k", k, 1, int(mask.sum()), ": allow more actions, or ask for less"
                )
            row, learner = self._ready(context)
            if k > 1:
                return self._draw_slate(row, mask, k)
            action, chances = learner.decide(row, mask)
            self.n_decisions += 1
            return Decision(
                self._actions.names[action],
                float(chances[action]),
                self.id,
                self.n_decisions,
                self._ids.make(self.n_decisions),
                self._by_name(chances, mask),
            )

    def _draw_slate(self, row: np.ndarray, mask: np.ndarray, k: int) -> SlateDecision:
        merit = np.where(mask, self._need_learner().expected(row[None])[0], -np.inf)
        included = inclusions(self._need_learner().probabilities(row, mask), k, merit)
        self.n_decisions += 1
        drawn = draw_slate(included, np.random.default_rng([self._seed, self.n_decisions]))
        best_first = drawn[np.argsort(-merit[drawn], kind="stable")]
        return SlateDecision(
            tuple(self._actions.names[action] for action in best_first),
            self._by_name(included, mask),
            self.id,
            self.n_decisions,
            self._ids.make(self.n_decisions),
        )

    def action_probabilities(self, X: Any, allowed: Iterable[Any] | None = None) -> np.ndarray:
        """Probability with which `decide` would now draw every action, shape (rows, n_actions).

        `evaluate` judges a policy by these; give it ``policy.predict(log.X)`` to judge the greedy
        one.
        """
        mask = self._actions.mask(allowed)
        with self._lock:
            learner, rows = self._need_learner(), self._rows(X)
            chances = np.empty((len(rows), self.n_actions))
            for row, x in enumerate(rows.astype(np.float64, copy=False)):
                chances[row] = learner.probabilities(x, mask)
        return chances

    def predict(self, X: Any) -> np.ndarray:
        """The action that seems best for every row, without exploration."""
        with self._lock:
            learner, rows = self._need_learner(), self._rows(X)
            tree = isinstance(learner, TreeLearner)
            scores = learner.scores(rows) if tree else learner.expected(rows)
        scores[:, ~self._actions.mask(None)] = -np.inf
        return np.array(self._actions.names)[scores.argmax(axis=1)]

    def expected_loss(self, X: Any) -> np.ndarray:
        """Loss that is expected of every action, shape (rows, n_actions)."""
        with self._lock:
            learner, rows = self._need_learner(), self._rows(X)
            return -learner.expected(rows)

    def explain(self, context: Any, allowed: Iterable[Any] | None = None) -> PolicyExplanation:
        """What every allowed action is expected to cost here, and the path that leads to it."""
        return explain_decision(self, context, self._actions.mask(allowed))

    def distil(self, max_depth: int = 6, leaf: str = "linear") -> Model:
        """One hard tree that answers nearly as the policy does now: to read, draw and export.

        The default policy adds up several members, and no single tree is all of them. This one is
        trained on what the policy expects for the answers it remembers; an online tree is returned
        as it is. Compare ``model.predict`` with `predict` to see how often they agree.

        Parameters
        ----------
        max_depth : int, default 6
        leaf : "linear" or "constant"
            Constant leaves read more easily, and agree less often.

        Returns
        -------
        Model
            On rows as `encode` returns them, whose columns are `feature_names_`.
        """
        return distil_policy(self, max_depth, leaf)

    # Answers

    def learn(
        self,
        context: Any,
        decision: Decision | SlateDecision | None = None,
        loss: float | None = None,
        *,
        reward: float | None = None,
        action: Any = None,
        probability: float | None = None,
    ) -> str:
        """Learn what a decision, taken for this context, has cost or brought; any time later.

        Parameters
        ----------
        context : as for `decide`
        decision : Decision, optional
            One of this policy or of its forks. For a decision of somebody else give `action` and
            `probability`; for one of several actions, which of them is answered as `action`.
        loss, reward : float
            One of them; a reward is a loss with its sign turned.

        Returns
        -------
        "learnt", or "duplicate"
            An answer to a decision that has been answered already, among the last 65,536 answers,
            is left out. Decisions of others have no id and always count.
        """
        earned = read_reward(loss, reward, self.loss_range)
        answer = read_answer(self._actions, self.id, decision, action, probability, earned)
        with self._lock:
            return self._learn(self._contexts.read(context), answer)

    def learn_many(self, X: Any, decisions: Iterable[Decision], losses: ArrayLike) -> None:
        """Learn from many answers in their order; from none of them if one is refused."""
        X, decisions, losses = pair_up(X, decisions, losses)
        answers = [
            read_answer(
                self._actions, self.id, d, None, None, read_reward(v, None, self.loss_range)
            )
            for d, v in zip(decisions, losses, strict=True)
        ]
        self._learn_all(self._read_contexts(X) if answers else [], answers)

    def learn_log(self, log: Any) -> dict[str, int]:
        """Learn from a log: own decisions or those of others, in their order.

        Parameters
        ----------
        log : DecisionLog, Log, or what `read_decisions` takes

        Returns
        -------
        dict
            How many answers were "learnt" and how many left out as "duplicate".
        """
        found = answers_of(log, self._actions, self.loss_range)
        contexts = self._read_contexts([context for context, _ in found]) if found else []
        return self._learn_all(contexts, [answer for _, answer in found])

    def _learn_all(self, contexts: list[Any], answers: list[Answer]) -> dict[str, int]:
        counts = {"learnt": 0, "duplicate": 0}
        for parsed, answer in zip(contexts, answers, strict=True):
            with self._lock:  # for one answer at a time: others may decide in between
                counts[self._learn(parsed, answer)] += 1
        return counts

    # Actions

    def add_action(self, name: Any, features: Mapping[str, Any] | None = None) -> None:
        """Add an action, or take a retired one into use again.

        With `features`, and where other actions have some, it starts from what these taught, those
        that resemble it most first; without, it starts from nothing.
        """
        with self._lock:
            self._add_action(name, features)

    def retire_action(self, name: Any) -> None:
        """Take an action out of use: it is no longer drawn, and late answers are still learnt."""
        with self._lock:
            self._actions.retire(name)
