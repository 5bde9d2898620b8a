"""The slow, dense, readable versions that every fast path is compared with.

Nothing here is used by the library. Those that need torch are in `reference_torch`.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.topology import n_leaves


def ancestors(height: int) -> np.ndarray:
    """I(i, l): the node at depth i on the way to leaf l, in level order; shape (height, leaves).

    >>> ancestors(2)
    array([[0, 0, 0, 0],
           [1, 1, 2, 2]])
    """
    leaf = np.arange(n_leaves(height))
    depth = np.arange(height)[:, None]
    return 2**depth - 1 + (leaf[None, :] >> (height - depth))


def sides(height: int) -> np.ndarray:
    """S(i, l): +1 where leaf l lies right of its ancestor at depth i, else -1.

    >>> sides(2)
    array([[-1, -1,  1,  1],
           [-1,  1, -1,  1]])
    """
    leaf = np.arange(n_leaves(height))
    depth = np.arange(height)[:, None]
    return 2 * ((leaf[None, :] >> (height - 1 - depth)) & 1) - 1


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
    """Soft decisions and their slopes; a saturated margin has none."""
    if quantizer == "given":
        return a, np.ones_like(a)
    if quantizer == "margin":
        t = np.tanh(0.5 * steepness * a)
        slope = np.where(np.abs(0.5 * steepness * a) >= 9, 0.0, 1 - t * t)
        return scale * t, scale * 0.5 * steepness * slope
    return scale * np.where(a >= 0, 1.0, -1.0), window * (np.abs(a) <= 1)


def activation_gradient(
    a, scores, left, right, form, quantizer, scale=1.0, steepness=1.0, window=1.0
):
    """d sum_l q_l scores_l / d a, rows of each, by the definition of q: dense, leaf by leaf."""
    d, slope = decide(a, quantizer, scale, steepness, window)
    sides = paths(left, right)
    gradient = np.zeros_like(a)
    if form == "local":
        for i in range(len(a)):
            node = 0 if len(left) else -1
            while node >= 0:
                low, high = (hard_leaf(a[i], left, right, int(s[node])) for s in (left, right))
                gradient[i, node] = (scores[i, high] - scores[i, low]) / 2
                node = int(right[node] if a[i, node] >= 0 else left[node])
    elif form == "sum":
        weight = np.exp(d @ sides)
        q = weight / weight.sum(axis=1, keepdims=True)
        mean = (q * scores).sum(axis=1, keepdims=True)
        gradient = (q * (scores - mean)) @ sides.T
    else:
        factor = np.where(sides != 0, (1 + d[:, :, None] * sides) / 2, 1.0)
        for n in range(len(left)):
            others = np.prod(np.delete(factor, n, axis=1), axis=1)
            gradient[:, n] = (sides[n] / 2 * others * scores).sum(axis=1)
    return slope * gradient


def step_gradient(
    layers, values, slopes, left, right, X, loss_slopes, decisions, scaled=False, output_bias=0.0
):
    """Gradients of one step: layers [(W, bias or None)], leaves' values and slopes, rows X.

    `loss_slopes` is a function of outputs (rows, outputs) giving the loss's gradient there. With
    `scaled`, decisions have the size of the mean |activation|, within what exp can bear.
    `output_bias` is one number that is added to all outputs.
    Returns outputs, gradients of the layers' weights and biases, of values, of slopes and of the
    output bias.
    """
    hidden = [X]
    for W, bias in layers:
        hidden.append(hidden[-1] @ W.T + (0 if bias is None else bias))
    a = hidden[-1]
    at = np.array([hard_leaf(row, left, right) for row in a])
    all_outputs = output_bias + values[None] + np.einsum("lkd,nd->nlk", slopes, X)
    outputs = all_outputs[np.arange(len(X)), at]
    g = loss_slopes(outputs)
    scores = np.einsum("nlk,nk->nl", all_outputs, g)
    if scaled and a.size:
        depth = np.abs(paths(left, right)).sum(axis=0).max()
        size = min(decisions["scale"] * np.abs(a).mean(), 78 / depth)
        decisions = decisions | {"scale": size}
    back = activation_gradient(a, scores, left, right, **decisions)
    grad_values, grad_slopes = np.zeros_like(values), np.zeros_like(slopes)
    for i, leaf in enumerate(at):
        grad_values[leaf] += g[i]
        grad_slopes[leaf] += g[i][:, None] * X[i]
    grads = []
    for (W, bias), below in zip(layers[::-1], hidden[-2::-1], strict=True):
        grads.append((back.T @ below, None if bias is None else back.sum(axis=0)))
        back = back @ W
    return outputs, grads[::-1], grad_values, grad_slopes, g.sum()


# Optimisers, as their papers and torch have them


def adamw(p, gradients, rate, decay, epsilon=1e-8):
    """Parameters after every step of AdamW on these gradients."""
    m, v, found = np.zeros_like(p), np.zeros_like(p), []
    for step, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.999**step)
        p = p - rate * decay * p - rate * m_hat / (np.sqrt(v_hat) + epsilon)
        found.append(p)
    return found


def rmsprop(p, gradients, rate, decay, momentum, epsilon=1e-8):
    """The same of RMSprop, whose decay is part of the gradient."""
    m, v, found = np.zeros_like(p), np.zeros_like(p), []
    for g in gradients:
        g = g + decay * p
        v = 0.99 * v + 0.01 * g**2
        m = momentum * m + g / (np.sqrt(v) + epsilon)
        p = p - rate * m
        found.append(p)
    return found


def sgd(p, gradients, rate, decay, momentum):
    """The same of gradient descent with momentum."""
    m, found = np.zeros_like(p), []
    for g in gradients:
        m = momentum * m + g + decay * p
        p = p - rate * m
        found.append(p)
    return found


def running_average(start, present, averaging):
    """Polynomial-decay average after every step, of parameters that were `start` and `present`."""
    average, found = start, []
    for step, p in enumerate(present, start=1):
        average = average + (p - average) / (1 + averaging * step)
        found.append(average)
    return found


# Leaves that lean on their ancestors


def leaning_value(place, parent, sums, mass, strength):
    """Value of one place of a tree, by the formula: its own rows and pseudo-rows of its parent."""
    if parent[place] < 0:
        return sums[place] / np.maximum(mass[place], 1e-12)
    above = leaning_value(parent[place], parent, sums, mass, strength)
    found = np.empty_like(above)
    for k in range(len(found)):
        own = mass[place, min(k, mass.shape[1] - 1)]
        nobody = own + strength <= 1e-12
        found[k] = above[k] if nobody else (sums[place, k] + strength * above[k]) / (own + strength)
    return found


def best_first_leaf(X, y, weight, max_leaves, seed, classification):
    """Place where every row ends in scikit-learn's own tree of so many leaves, grown afresh."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if classification else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=max_leaves, random_state=seed)
    return tree.fit(X, y, sample_weight=weight).apply(X)


def best_split_slowly(
    bins, gradient, curvature, ridge, least_rows, sign=0, low=-np.inf, high=np.inf
):
    """Gain over no split, column and last bin of the left side, of one gradient a row.

    Every split of every column in turn, its two sides summed anew; rows of a side are its share of
    the curvature times all rows, as compiled code counts them.
    """

    def taken(g, h):
        value = min(max(-g / (h + ridge), low), high)
        return value, -2 * g * value - (h + ridge) * value**2

    G, H, rows = gradient.sum(), curvature.sum(), len(bins)
    best = (0.0, -1, -1)
    for column in range(bins.shape[1]):
        for last in range(bins[:, column].max()):
            left = bins[:, column] <= last
            g, h = gradient[left].sum(), curvature[left].sum()
            if min(h, H - h) * rows / H < least_rows:
                continue
            (a, one), (b, two) = taken(g, h), taken(G - g, H - h)
            gain = one + two - taken(G, H)[1]
            if (b - a) * sign >= 0 and gain > best[0] + 1e-9:
                best = gain, column, last
    return best


def best_threshold_slowly(values, target, weight, least):
    """Most that a threshold lowers the squared error of targets by; None if there is none."""

    def error(part):
        mean = weight[part] @ target[part] / weight[part].sum()
        return weight[part] @ np.square(target[part] - mean).sum(axis=1)

    everything, gains = np.ones(len(values), dtype=bool), []
    for threshold in np.unique(values)[1:]:
        left = values < threshold
        if min(weight[left].sum(), weight[~left].sum()) >= least:
            gains.append(error(everything) - error(left) - error(~left))
    return max(gains, default=None)


def hinge_slowly(rows, target, weight, right, convex, penalty, least, rounds=8):
    """Planes for two sides and sides for two planes, in turns: the best cut found, or None."""
    ridge = np.diag([penalty] * (rows.shape[1] - 1) + [1e-3])
    best, cut = -1.0, None
    for _ in range(rounds):
        if weight[right].sum() < least or weight[~right].sum() < least:
            break
        planes, gain = [], 0.0
        for side in (right, ~right):
            A, w = rows[side], weight[side]
            moment = A.T @ (w * target[side])
            planes.append(np.linalg.solve(A.T @ (A * w[:, None]) + ridge, moment))
            gain += planes[-1] @ moment
        w = (planes[0] - planes[1]) * (1 if convex else -1)
        if gain > best:
            best, cut = gain, w
        if np.array_equal(rows @ w >= 0, right):
            break
        right = rows @ w >= 0
    return cut
