"""The locally constant network itself (torch): activations, their derivatives, the leaves.

Unit i sees the row x and the activations a_1 .. a_{i-1}: z_i = w_i.x + sum_j v_ij a_j + b_i. In a
region where the units' signs do not change each a_i is linear in x, with slope J_i and offset c_i
that depend on the signs only; the output is g(J_1 .. J_h, c_1 .. c_h), so it is constant there: a
leaf. With s_i the derivative of unit i, J = T W where T = (I - diag(s) V)^-1 diag(s).
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dgtrees.paper.baselines.training import draw_mask, make_linear
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["LocallyConstantNetwork"]


class LocallyConstantNetwork(nn.Module):
    """h units in a chain, and g on their derivatives.

    While training, a unit is `hardness` parts ReLU and the rest softplus; in evaluation it is the
    ReLU, and the network predicts exactly as `harden()`'s tree.
    """

    def __init__(
        self,
        d: int,
        outputs: int,
        max_depth: int,
        *,
        hidden_layers: int,
        hidden_width: int,
        dropout: float,
        anneal: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.max_depth, self.dropout, self.anneal = max_depth, dropout, anneal
        self.hardness = 0.0 if anneal else 1.0
        self.generator = generator
        self.weights = nn.Parameter(torch.empty(max_depth, d))  # W
        self.chain = nn.Parameter(torch.zeros(max_depth, max_depth))  # V, below its diagonal
        self.bias = nn.Parameter(torch.empty(max_depth))
        with torch.no_grad():
            for i in range(max_depth):
                bound = (d + i) ** -0.5
                for part in (self.weights[i], self.chain[i, :i], self.bias[i : i + 1]):
                    part.uniform_(-bound, bound, generator=generator)
        widths = [max_depth * (d + 1), *[hidden_width] * hidden_layers, outputs]
        layers: list[nn.Module] = []
        for i in range(hidden_layers + 1):
            layers += [make_linear(widths[i], widths[i + 1], generator), nn.ReLU()]
        self.output = nn.Sequential(*layers[:-1])

    def unit_parameters(self) -> list[nn.Parameter]:
        """What decides the splits, as against the leaves."""
        return [self.weights, self.chain, self.bias]

    def set_progress(self, fraction: float) -> None:
        """Move from softplus to ReLU, linearly in time."""
        self.hardness = fraction if self.anneal else 1.0

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of a batch, (batch, outputs)."""
        if not self.training:
            return functional.embedding(self.pattern(x), self.leaf_outputs())
        return cast(Tensor, self.output(self._derivatives(x)))

    def _derivatives(self, x: Tensor) -> Tensor:
        """All slopes and offsets of a batch, (batch, h d + h)."""
        chain = torch.tril(self.chain, -1)
        plain = x @ self.weights.T
        direct, links = plain, chain.expand(len(x), -1, -1)
        if self.dropout:
            # Weights are dropped row by row, and only where they decide; the slopes that g sees
            # are those of whole units.
            kept = draw_mask((len(x), *self.weights.shape), self.dropout, self.generator)
            direct = ((kept * self.weights) @ x[:, :, None]).squeeze(2)
            links = links * draw_mask(tuple(links.shape), self.dropout, self.generator)
        active, slope = self._units(direct + self.bias, links)
        h = self.max_depth
        through = torch.linalg.solve_triangular(
            torch.eye(h) - slope[:, :, None] * chain, torch.diag_embed(slope), upper=False
        )
        jacobian = (through.reshape(-1, h) @ self.weights).view(len(x), -1)
        offsets = active - (through @ plain[:, :, None]).squeeze(2)
        return torch.cat((jacobian, offsets), dim=1)

    def _units(self, direct: Tensor, links: Tensor) -> tuple[Tensor, Tensor]:
        """Activations of the units and their derivatives, (batch, h) both."""
        active: list[Tensor] = []
        slopes: list[Tensor] = []
        for i in range(self.max_depth):
            z = direct[:, i]
            if active:
                z = z + (torch.stack(active, dim=1) * links[:, i, :i]).sum(dim=1)
            slope, a = torch.sigmoid(z), functional.softplus(z)
            if self.hardness:
                slope = torch.lerp(slope, (z >= 0).float(), self.hardness)
                a = torch.lerp(a, functional.relu(z), self.hardness)
            active.append(a)
            slopes.append(slope)
        return torch.stack(active, dim=1), torch.stack(slopes, dim=1)

    def pattern(self, x: Tensor) -> Tensor:
        """Leaf of every row: the units' signs as a binary number, the first unit's on top."""
        leaf = torch.zeros(len(x), dtype=torch.int64)
        direct = x @ self.weights.T + self.bias
        active = torch.zeros_like(direct)
        for i in range(self.max_depth):
            z = direct[:, i] + active[:, :i] @ self.chain[i, :i]
            leaf = 2 * leaf + (z >= 0)
            active[:, i] = functional.relu(z)
        return leaf

    def leaf_outputs(self) -> Tensor:
        """The output for every pattern of signs, (leaves, outputs)."""
        _, _, slopes, offsets = self._regions()
        return cast(Tensor, self.output(torch.cat((slopes.flatten(1), offsets), dim=1).float()))

    def _regions(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Node weights and biases in level order, and all slopes and offsets of every leaf."""
        weights, biases = [], []
        slopes = torch.zeros(1, 0, self.weights.shape[1], dtype=torch.float64)
        offsets = torch.zeros(1, 0, dtype=torch.float64)
        for i in range(self.max_depth):
            links = self.chain[i, :i].double()
            w = self.weights[i].double() + torch.einsum("nid,i->nd", slopes, links)
            b = self.bias[i].double() + offsets @ links
            weights.append(w)
            biases.append(b)
            # Left: the unit is off, slope and offset 0. Right: it is on.
            on = torch.tensor([0.0, 1.0], dtype=torch.float64).repeat(len(w))
            new_slope = w.repeat_interleave(2, dim=0) * on[:, None]
            new_offset = b.repeat_interleave(2) * on
            slopes = torch.cat((slopes.repeat_interleave(2, 0), new_slope[:, None]), dim=1)
            offsets = torch.cat((offsets.repeat_interleave(2, 0), new_offset[:, None]), dim=1)
        return torch.cat(weights), torch.cat(biases), slopes, offsets

    @torch.no_grad()
    def harden(self) -> ObliqueTree:
        """The complete tree of 2^h leaves that predicts as this network does in evaluation."""
        weights, biases, _, _ = self._regions()
        leaves = self.leaf_outputs().numpy().astype(np.float64)
        return ObliqueTree.complete(weights.numpy(), biases.numpy(), leaves)
