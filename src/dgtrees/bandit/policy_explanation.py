"""What a policy expects of every action in one context, and how its tree gets there."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.model.explanation import Explanation, explain
from dgtrees.model.notebook import html_table
from dgtrees.tree.state import view_state

if TYPE_CHECKING:
    from dgtrees.bandit.named_policy import NamedPolicy

__all__ = ["PolicyExplanation", "explain_decision"]


@dataclass(frozen=True)
class PolicyExplanation:
    """Expected losses and probabilities by action, best first; the path, where there is a tree.

    `str()` of it is made to be read, and notebooks show a table.
    """

    expected_loss: dict[Any, float]
    probabilities: dict[Any, float]
    path: Explanation | None
    n_answers: int

    @property
    def best(self) -> Any:
        """The action of the least expected loss."""
        return next(iter(self.expected_loss))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {
            "expected_loss": {str(name): loss for name, loss in self.expected_loss.items()},
            "probabilities": {str(name): p for name, p in self.probabilities.items()},
            "path": None if self.path is None else self.path.to_dict(),
            "n_answers": self.n_answers,
        }

    def __str__(self) -> str:
        return self.text()

    def text(self, max_features: int = 3) -> str:
        """A line per action, then the path with its most important columns."""
        width = max(len(str(name)) for name in self.expected_loss)
        lines = [f"after {self.n_answers:,} answers, an action is expected to cost"]
        for name, loss in self.expected_loss.items():
            chance = self.probabilities[name]
            lines.append(f"  {name!s:<{width}}  {loss:8.4g}, drawn with probability {chance:.3g}")
        if self.path is not None:
            lines += self.path.text(max_features).splitlines()[1:]  # not the scores
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        table = html_table(
            ["action", "expected loss", "probability"],
            (
                (name, f"{loss:.4g}", f"{self.probabilities[name]:.3g}")
                for name, loss in self.expected_loss.items()
            ),
        )
        said = [] if self.path is None else self.path.text().splitlines()[1:]
        return table + (f"<pre>{escape(chr(10).join(said))}</pre>" if said else "")


def explain_decision(policy: NamedPolicy, context: Any, mask: np.ndarray) -> PolicyExplanation:
    """What a policy expects of the allowed actions (mask) in one context."""
    with policy._lock:
        learner, contexts = policy._need_learner(), policy._contexts
        row = contexts.encode(contexts.read(context))
        loss = -learner.expected(row[None])[0]
        chances = learner.probabilities(row, mask)
        names, seen = list(policy._actions.names), learner.n_answers
        tree = learner.tree()
        typical = contexts.typical
    allowed = np.flatnonzero(mask)
    order = allowed[np.argsort(loss[allowed], kind="stable")].tolist()
    path = None
    if tree is not None and tree.n_nodes:
        model = policy._as_model(tree)
        # Compared with a context of means; an online tree knows those of the answers it has seen.
        path = explain(model, row, background=[_centre(policy) if typical is None else typical])
    return PolicyExplanation(
        {names[k]: float(loss[k]) for k in order},
        {names[k]: float(chances[k]) for k in order},
        path,
        seen,
    )


def _centre(policy: NamedPolicy) -> np.ndarray:
    """The mean of the rows that an online tree has learnt from."""
    state = view_state(policy._need_arena())
    return np.asarray(state.shift + state.mean)
