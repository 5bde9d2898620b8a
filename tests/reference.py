"""The slow, dense, readable versions that every fast path is compared with.

Nothing here is used by the library. Trees are complete; node and leaf numbers are those of
`dgtrees.tree.topology`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dgtrees.tree.topology import ancestors, n_leaves, sides


def path_matrix(height: int) -> Tensor:
    """S(i, l) spread over nodes: (nodes, leaves), 0 where node is no ancestor of leaf."""
    matrix = torch.zeros(2**height - 1, n_leaves(height), dtype=torch.float64)
    for i in range(height):
        for leaf in range(n_leaves(height)):
            matrix[ancestors(height)[i, leaf], leaf] = float(sides(height)[i, leaf])
    return matrix


class StraightThroughSign(torch.autograd.Function):
    """sgn(a) with sgn(0) = 1, and derivative 1[|a| <= 1]."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.where(a >= 0, 1.0, -1.0).to(a.dtype)

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * (a.abs() <= 1)


class HardestLeaf(torch.autograd.Function):
    """One-hot of the most probable leaf forward, the identity backward."""

    @staticmethod
    def forward(ctx, q):
        return torch.nn.functional.one_hot(q.argmax(dim=1), q.shape[1]).to(q.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad


def soft_leaves(decisions: Tensor, path: str = "sum") -> Tensor:
    """Distribution over leaves that decisions in [-s, s] define: soft-max of sums, or products."""
    height = (decisions.shape[1] + 1).bit_length() - 1
    matrix = path_matrix(height).to(decisions.dtype)
    if path == "sum":
        return torch.softmax(decisions @ matrix, dim=1)
    q = torch.ones(decisions.shape[0], matrix.shape[1], dtype=decisions.dtype)
    for i in range(height):
        node = torch.as_tensor(ancestors(height)[i])
        side = torch.as_tensor(sides(height)[i]).to(decisions.dtype)
        q = q * (1 + decisions[:, node] * side) / 2
    return q


def tree_output(
    activations: Tensor, leaf_outputs: Tensor, scale: float = 1.0, path: str = "sum"
) -> Tensor:
    """Prediction of a hard tree whose gradient is that of the soft one, by autograd alone.

    `leaf_outputs` is (leaves, outputs), or (batch, leaves, outputs) where leaves are functions of
    x. Leaves receive gradient through the hard choice, nodes through the soft distribution.
    """
    decisions = StraightThroughSign.apply(activations) * scale
    q = soft_leaves(decisions, path)
    hard = torch.nn.functional.one_hot(q.detach().argmax(dim=1), q.shape[1]).to(q.dtype)
    formula = "bl,lk->bk" if leaf_outputs.ndim == 2 else "bl,blk->bk"
    through_leaves = torch.einsum(formula, hard, leaf_outputs)
    through_nodes = torch.einsum(formula, q, leaf_outputs.detach())
    return through_leaves + through_nodes - through_nodes.detach()


def local_gradient(decisions: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Half of what going right instead of left would cost, at every node that a row passes."""
    batch, n_nodes = decisions.shape
    gradient = np.zeros_like(decisions)

    def score_below(row: int, node: int) -> float:
        while node < n_nodes:
            node = 2 * node + (2 if decisions[row, node] >= 0 else 1)
        return scores[row, node - n_nodes]

    for row in range(batch):
        node = 0
        while node < n_nodes:
            left, right = 2 * node + 1, 2 * node + 2
            gradient[row, node] = (score_below(row, right) - score_below(row, left)) / 2
            node = right if decisions[row, node] >= 0 else left
    return gradient


def algorithm_2(x: np.ndarray, W: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """BackProp of the paper, line by line, for K = 1 and L = 1: (d f / d W, d f / d theta).

    `x` has its constant 1 appended; `W` is (nodes, d + 1).
    """
    height = len(theta).bit_length() - 1
    leaves = 2**height
    index, side = ancestors(height), sides(height)
    a = W @ x  # line 8
    sgn = np.where(a >= 0, 1.0, -1.0)
    q = np.zeros(leaves)  # line 10
    grad_q = np.zeros((leaves, *W.shape))  # line 11
    for leaf in range(leaves):
        for i in range(height):
            node = index[i, leaf]
            q[leaf] += sgn[node] * side[i, leaf]
            if abs(a[node]) <= 1:
                grad_q[leaf, node] += side[i, leaf] * x
    z = np.exp(q).sum()  # line 12
    v = (np.exp(q) * theta).sum()  # line 13
    grad_W = np.zeros_like(W)
    for leaf in range(leaves):  # line 14
        grad_W += (theta[leaf] - v / z) * np.exp(q[leaf]) * grad_q[leaf] / z
    grad_theta = np.zeros(leaves)
    grad_theta[np.argmax(q)] = 1.0  # lines 4 and 5
    return grad_W, grad_theta


def route_all_nodes(X: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Leaf of every row of a complete tree by evaluating every node."""
    right = X @ weights.T + bias >= 0
    height = (len(bias) + 1).bit_length() - 1
    node = np.zeros(len(X), dtype=int)
    for _ in range(height):
        node = 2 * node + 1 + right[np.arange(len(X)), node]
    return node - len(bias)


def fixed_order_dot(w: np.ndarray, x: np.ndarray) -> float:
    """The dot product in the order the kernels promise, in plain Python floats."""
    stop = len(w) - len(w) % 8
    lanes = [0.0] * 8
    for i in range(stop):
        lanes[i % 8] += float(w[i]) * float(x[i])
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[j] + lanes[j + half] for j in range(half)]
    total = lanes[0]
    for i in range(stop, len(w)):
        total += float(w[i]) * float(x[i])
    return total


def route_slowly(x: np.ndarray, tree) -> int:
    """Leaf of one row of any ObliqueTree, in plain Python."""
    node = 0
    while tree.n_nodes:
        right = fixed_order_dot(tree.weights[node], x) + tree.bias[node] >= 0
        node = int(tree.right[node] if right else tree.left[node])
        if node < 0:
            return ~node
    return 0


class DenseTree(torch.nn.Module):
    """The plain way to train such a tree: a dense path matrix and autograd, for benchmarks."""

    def __init__(self, in_features: int, out_features: int, height: int) -> None:
        super().__init__()
        self.nodes = torch.nn.Linear(in_features, 2**height - 1)
        self.leaves = torch.nn.Parameter(0.1 * torch.randn(2**height, out_features))
        self.register_buffer("paths", path_matrix(height).float())

    def forward(self, x: Tensor) -> Tensor:
        decisions = StraightThroughSign.apply(self.nodes(x))
        q = torch.softmax(decisions @ self.paths, dim=1)
        return HardestLeaf.apply(q) @ self.leaves


# Trees of any topology, in plain NumPy


def random_topology(nodes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Children of a random binary tree whose parents come first, and its depth."""
    left, right = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    depth = np.zeros(nodes, int)
    open_places = []
    for node in range(nodes):
        if node:
            parent, side = open_places.pop(rng.integers(len(open_places)))
            (left if side == 0 else right)[parent] = node
            depth[node] = depth[parent] + 1
        open_places += [(node, 0), (node, 1)]
    for leaf, (parent, side) in enumerate(open_places):
        (left if side == 0 else right)[parent] = ~leaf
    return left, right, int(depth.max()) + 1 if nodes else 0


def paths(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """-1, 0 or 1 for every node and leaf: whether, and on which side, the leaf lies below it."""
    matrix = np.zeros((len(left), len(left) + 1))

    def walk(child: int, above: list[tuple[int, int]]) -> None:
        if child < 0:
            for node, side in above:
                matrix[node, ~child] = side
            return
        walk(int(left[child]), [*above, (child, -1)])
        walk(int(right[child]), [*above, (child, 1)])

    walk(0 if len(left) else -1, [])
    return matrix


def hard_leaf(activations: np.ndarray, left: np.ndarray, right: np.ndarray, node: int = 0) -> int:
    """Leaf that a row with these activations (nodes,) reaches from a node or ``~leaf``."""
    if not len(left):
        return 0
    while node >= 0:
        node = int(right[node] if activations[node] >= 0 else left[node])
    return ~node


def decide(a, quantizer, scale, steepness, window):
    """Soft decisions and their slopes."""
    if quantizer == "margin":
        t = np.tanh(0.5 * steepness * a)
        slope = np.where(np.abs(0.5 * steepness * a) >= 9, 0.0, 1 - t * t)
        return scale * t, scale * 0.5 * steepness * slope
    return scale * np.where(a >= 0, 1.0, -1.0), window * (np.abs(a) <= 1)


def activation_gradient(a, scores, left, right, form, quantizer, scale, steepness, window):
    """d sum_l q_l scores_l / d a for one row, by the definition of q: dense, leaf by leaf."""
    d, slope = decide(a, quantizer, scale, steepness, window)
    sides = paths(left, right)
    if form == "local":
        gradient, node = np.zeros(len(left)), 0 if len(left) else -1
        while node >= 0:
            ends = [scores[hard_leaf(a, left, right, int(side[node]))] for side in (left, right)]
            gradient[node] = (ends[1] - ends[0]) / 2
            node = int(right[node] if a[node] >= 0 else left[node])
        return slope * gradient
    if form == "sum":
        weight = np.exp(d @ sides)
        q = weight / weight.sum()
        return slope * (sides @ (q * (scores - q @ scores)))
    factor = np.where(sides != 0, (1 + d[:, None] * sides) / 2, 1.0)
    gradient = np.zeros(len(left))
    for n in range(len(left)):
        others = np.prod(np.delete(factor, n, axis=0), axis=0)
        gradient[n] = (sides[n] / 2 * others * scores).sum()
    return slope * gradient


def step_gradient(layers, values, slopes, left, right, X, loss_slopes, decisions):
    """Gradients of one step: layers [(W, bias or None)], leaves' values and slopes, rows X.

    `loss_slopes` is a function of outputs (rows, outputs) giving the loss's gradient there.
    Returns outputs, gradients of the layers' weights and biases, of values and of slopes.
    """
    hidden = [X]
    for W, bias in layers:
        hidden.append(hidden[-1] @ W.T + (0 if bias is None else bias))
    a = hidden[-1]
    at = np.array([hard_leaf(row, left, right) for row in a])
    all_outputs = values[None] + np.einsum("lkd,nd->nlk", slopes, X)
    outputs = all_outputs[np.arange(len(X)), at]
    g = loss_slopes(outputs)
    scores = np.einsum("nlk,nk->nl", all_outputs, g)
    if decisions.get("scaled"):
        decisions = decisions | {"scale": decisions["scale"] * np.abs(a).mean()}
    told = {name: value for name, value in decisions.items() if name != "scaled"}
    back = np.array(
        [activation_gradient(a[i], scores[i], left, right, **told) for i in range(len(X))]
    ).reshape(a.shape)
    grad_values, grad_slopes = np.zeros_like(values), np.zeros_like(slopes)
    for i, leaf in enumerate(at):
        grad_values[leaf] += g[i]
        grad_slopes[leaf] += g[i][:, None] * X[i]
    grads = []
    for (W, bias), below in zip(layers[::-1], hidden[-2::-1], strict=True):
        grads.append((back.T @ below, None if bias is None else back.sum(axis=0)))
        back = back @ W
    return outputs, grads[::-1], grad_values, grad_slopes
