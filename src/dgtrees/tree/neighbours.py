"""The nearest kept answers of a row, found through hard oblique trees that grow as answers come.

Each of a few trees sends a row down to one leaf, which lists the answers that it got. A leaf that
is full is split halfway between two far apart answers of its own, at the median, so that both
halves have room. Answers of the row's leaf in any of the trees are compared with it; the nearest
are kept. That costs a few hundred dot products, however many answers there are.

An answer whose row and action are those of a kept one is counted there, as one more of its kind.
Where the store is full, the oldest answer makes room.

Two slots, as everywhere in a mixed learner: one in use, one in the making.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at, dots_at
from dgtrees.tree.random_numbers import draw_uniform

__all__ = [
    "LEAF_ROOM",
    "NEAREST",
    "SAME",
    "TREES",
    "Neighbours",
    "empty",
    "find",
    "insert",
    "make_neighbours",
]

NEAREST = 16
"""How many neighbours are found."""
LEAF_ROOM = 64
"""Answers that a leaf can list."""
TREES = 6
SAME = 1e-9
"""Squared distance of equal rows, up to rounding."""

# Counters of a slot.
_KEPT, _NEXT = range(2)


class Neighbours(NamedTuple):
    """Kept answers and the trees that lead to them."""

    rows: np.ndarray  # (2, room, columns), float32
    norms: np.ndarray  # (2, room), squared lengths
    actions: np.ndarray  # (2, room)
    rewards: np.ndarray  # (2, room), mean of those counted together
    counts: np.ndarray  # (2, room)
    times: np.ndarray  # (2, room), number of the newest answer counted
    homes: np.ndarray  # (2, trees, room), leaf of an answer
    directions: np.ndarray  # (2, trees, nodes, columns), float32
    cuts: np.ndarray  # (2, trees, nodes)
    children: np.ndarray  # (2, trees, nodes, 2); of a leaf, -1
    members: np.ndarray  # (2, trees, nodes, LEAF_ROOM)
    fill: np.ndarray  # (2, trees, nodes)
    counters: np.ndarray  # (2, 2): answers kept, next place
    grown: np.ndarray  # (2, trees), nodes in use
    nearest: np.ndarray  # (NEAREST,), scratch: places, from near to far
    distances: np.ndarray  # (NEAREST,), scratch: squared
    met: np.ndarray  # (room,), scratch: the search that came across an answer last
    searches: np.ndarray  # (1,), scratch


def make_neighbours(room: int, columns: int) -> Neighbours:
    """A store without answers."""
    nodes = 2 + room // (LEAF_ROOM // 8)  # leaves are a quarter full at the worst but for ties
    return Neighbours(
        rows=np.zeros((2, room, columns), dtype=np.float32),
        norms=np.zeros((2, room)),
        actions=np.zeros((2, room), dtype=np.int32),
        rewards=np.zeros((2, room)),
        counts=np.zeros((2, room), dtype=np.int32),
        times=np.zeros((2, room), dtype=np.int64),
        homes=np.zeros((2, TREES, room), dtype=np.int32),
        directions=np.zeros((2, TREES, nodes, columns), dtype=np.float32),
        cuts=np.zeros((2, TREES, nodes)),
        children=np.full((2, TREES, nodes, 2), -1, dtype=np.int32),
        members=np.zeros((2, TREES, nodes, LEAF_ROOM), dtype=np.int32),
        fill=np.zeros((2, TREES, nodes), dtype=np.int32),
        counters=np.zeros((2, 2), dtype=np.int64),
        grown=np.ones((2, TREES), dtype=np.int64),
        nearest=np.zeros(NEAREST, dtype=np.int64),
        distances=np.zeros(NEAREST),
        met=np.zeros(room, dtype=np.int64),
        searches=np.zeros(1, dtype=np.int64),
    )


def empty(store: Neighbours, slot: int) -> None:
    """Forget all answers of a slot."""
    store.counters[slot] = 0
    for tree in range(store.grown.shape[1]):
        store.grown[slot, tree] = 1
        store.fill[slot, tree, 0] = 0
        store.children[slot, tree, 0] = -1


@njit(nogil=True)
def _route(store, slot, tree, z, place):
    """The leaf of the row at a place in memory of z."""
    columns = store.rows.shape[2]
    base = (slot * store.cuts.shape[1] + tree) * store.cuts.shape[2]
    node = 0
    while store.children[slot, tree, node, 0] >= 0:
        a = dot_at(store.directions, (base + node) * columns, z, place, columns)
        node = store.children[slot, tree, node, 1 if a >= store.cuts[slot, tree, node] else 0]
    return node


@njit(nogil=True)
def _distance(store, slot, i, z, place, norm):
    """Squared distance of a kept answer from the row at a place in memory of z."""
    columns = store.rows.shape[2]
    start = (slot * store.rows.shape[1] + i) * columns
    along = dot_at(store.rows, start, z, place, columns)
    return max(store.norms[slot, i] + norm - 2.0 * along, 0.0)


@njit(nogil=True)
def find(store, slot, z):
    """Bring the nearest answers of a row to `store.nearest`, from near to far; how many."""
    columns, base = store.rows.shape[2], slot * store.rows.shape[1]
    norm = dot_at(z, 0, z, 0, columns)
    store.searches[0] += 1
    found, search = 0, store.searches[0]
    # Four answers at a time: none waits for the sum, or for the memory, of another.
    waiting = 0
    first = second = third = np.intp(0)
    for tree in range(store.fill.shape[1]):
        leaf = _route(store, slot, tree, z, 0)
        for m in range(store.fill[slot, tree, leaf]):
            i = np.intp(store.members[slot, tree, leaf, m])
            if store.met[i] == search:  # in the leaf of another tree
                continue
            store.met[i] = search
            waiting += 1
            if waiting < 4:
                first, second, third = second, third, i
                continue
            waiting = 0
            starts = (
                (base + first) * columns,
                (base + second) * columns,
                (base + third) * columns,
                (base + i) * columns,
            )
            along = dots_at(store.rows, starts, z, (0, 0, 0, 0), columns)
            found = _meet(store, slot, first, along[0], norm, found)
            found = _meet(store, slot, second, along[1], norm, found)
            found = _meet(store, slot, third, along[2], norm, found)
            found = _meet(store, slot, i, along[3], norm, found)
    for _ in range(waiting):
        i = third if waiting == 1 else second if waiting == 2 else first
        along_one = dot_at(store.rows, (base + i) * columns, z, 0, columns)
        found = _meet(store, slot, i, along_one, norm, found)
        waiting -= 1
    return found


@njit(nogil=True)
def _meet(store, slot, i, along, norm, found):
    """Keep an answer if it is among the nearest, by its dot product with the row; how many."""
    s = max(store.norms[slot, i] + norm - 2.0 * along, 0.0)
    if found < store.nearest.shape[0] or s < store.distances[-1]:
        found = _keep(store, i, s, found)
    return found


@njit(nogil=True)
def _keep(store, i, s, found):
    """Insert an answer among the nearest, unless it is there; how many there are then."""
    place = found
    while place > 0 and store.distances[place - 1] >= s:
        if store.nearest[place - 1] == i:
            return found
        place -= 1
    last = min(found, store.nearest.shape[0] - 1)
    for q in range(last, place, -1):
        store.nearest[q] = store.nearest[q - 1]
        store.distances[q] = store.distances[q - 1]
    store.nearest[place] = i
    store.distances[place] = s
    return last + 1


@njit(nogil=True)
def insert(store, slot, z, found, action, reward, time, random, stream):
    """Keep an answer, or count it with its like among the `found` nearest, as `find` left them."""
    for q in range(found):
        i = store.nearest[q]
        if store.distances[q] > SAME:
            break
        if store.actions[slot, i] == action:
            store.counts[slot, i] += 1
            # What was learnt long ago counts no more than what was learnt since.
            share = 1.0 / min(store.counts[slot, i], 8)
            store.rewards[slot, i] += share * (reward - store.rewards[slot, i])
            store.times[slot, i] = time
            return
    room, columns = store.rows.shape[1], store.rows.shape[2]
    place = store.counters[slot, _NEXT]
    store.counters[slot, _NEXT] = (place + 1) % room
    if store.counters[slot, _KEPT] == room:
        _remove(store, slot, place)
    else:
        store.counters[slot, _KEPT] += 1
    for j in range(columns):
        store.rows[slot, place, j] = z[j]
    start = (slot * room + place) * columns
    store.norms[slot, place] = dot_at(store.rows, start, store.rows, start, columns)
    store.actions[slot, place] = action
    store.rewards[slot, place] = reward
    store.counts[slot, place] = 1
    store.times[slot, place] = time
    for tree in range(store.fill.shape[1]):
        _add(store, slot, tree, place, random, stream)


@njit(nogil=True)
def _remove(store, slot, place):
    """Take an answer out of its leaves."""
    for tree in range(store.fill.shape[1]):
        leaf = store.homes[slot, tree, place]
        members = store.members[slot, tree, leaf]
        last = store.fill[slot, tree, leaf] - 1
        for m in range(last + 1):
            if members[m] == place:
                members[m] = members[last]
                store.fill[slot, tree, leaf] = last
                break


@njit(nogil=True)
def _add(store, slot, tree, place, random, stream):
    """Put an answer into its leaf, which is split if it is full."""
    columns = store.rows.shape[2]
    start = (slot * store.rows.shape[1] + place) * columns
    leaf = _route(store, slot, tree, store.rows, start)
    if store.fill[slot, tree, leaf] == store.members.shape[3]:
        if _split(store, slot, tree, leaf, random, stream):
            leaf = _route(store, slot, tree, store.rows, start)
        else:  # equal rows, or no node left: the new answer takes the place of another
            m = int(draw_uniform(random, stream) * store.members.shape[3])
            store.homes[slot, tree, store.members[slot, tree, leaf, m]] = 0
            store.members[slot, tree, leaf, m] = place
            store.homes[slot, tree, place] = leaf
            return
    m = store.fill[slot, tree, leaf]
    store.members[slot, tree, leaf, m] = place
    store.fill[slot, tree, leaf] = m + 1
    store.homes[slot, tree, place] = leaf


@njit(nogil=True)
def _split(store, slot, tree, leaf, random, stream):
    """Split a full leaf between two far apart answers of its own; whether it could be."""
    new = store.grown[slot, tree]
    if new + 2 > store.fill.shape[2]:
        return False
    columns, room = store.rows.shape[2], store.rows.shape[1]
    members = store.members[slot, tree, leaf]
    first = members[int(draw_uniform(random, stream) * store.members.shape[3])]
    second = _farthest(store, slot, members, first)
    first = _farthest(store, slot, members, second)
    direction = store.directions[slot, tree, leaf]
    for j in range(columns):
        direction[j] = store.rows[slot, first, j] - store.rows[slot, second, j]
    base = ((slot * store.cuts.shape[1] + tree) * store.cuts.shape[2] + leaf) * columns
    along = np.empty(store.members.shape[3])
    for m in range(store.members.shape[3]):
        start = (slot * room + members[m]) * columns
        along[m] = dot_at(store.directions, base, store.rows, start, columns)
    ranked = _sort(along)
    middle = store.members.shape[3] // 2
    cut = 0.5 * (ranked[middle - 1] + ranked[middle])
    if not ranked[middle - 1] < cut <= ranked[middle]:  # ties across the middle
        cut = ranked[0]
        for m in range(1, store.members.shape[3]):
            if ranked[m] > ranked[0]:
                cut = ranked[m]
                break
        if cut == ranked[0]:
            return False
    _share_out(store, slot, tree, leaf, new, along, cut)
    return True


@njit(nogil=True)
def _sort(values):
    """A sorted copy of a few numbers; NumPy's sorting takes seconds to compile."""
    out = np.empty(values.shape[0])
    for m in range(values.shape[0]):
        place = m
        while place > 0 and out[place - 1] > values[m]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = values[m]
    return out


@njit(nogil=True)
def _share_out(store, slot, tree, leaf, new, along, cut):
    """Hand the members of a leaf to two new ones."""
    store.cuts[slot, tree, leaf] = cut
    for side in range(2):
        store.children[slot, tree, leaf, side] = new + side
        store.children[slot, tree, new + side] = -1
        store.fill[slot, tree, new + side] = 0
    for m in range(store.members.shape[3]):
        i = store.members[slot, tree, leaf, m]
        child = new + (1 if along[m] >= cut else 0)
        n = store.fill[slot, tree, child]
        store.members[slot, tree, child, n] = i
        store.fill[slot, tree, child] = n + 1
        store.homes[slot, tree, i] = child
    store.fill[slot, tree, leaf] = 0
    store.grown[slot, tree] = new + 2


@njit(nogil=True)
def _farthest(store, slot, members, i):
    """The member of a leaf that is farthest from an answer."""
    columns = store.rows.shape[2]
    start = (slot * store.rows.shape[1] + i) * columns
    best, far = i, -1.0
    for m in range(store.members.shape[3]):
        s = _distance(store, slot, members[m], store.rows, start, store.norms[slot, i])
        if s > far:
            best, far = members[m], s
    return best
