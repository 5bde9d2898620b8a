"""Settings and state as flat arrays: what follows from the one list of parts."""

import numpy as np
import pytest

from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.tree.compiled import njit
from dgtrees.tree.state import PARTS, SEEN, State, count_answers, make_arena, open_state, view_state

SIZES = [(1, 2, 1, False), (5, 3, 4, True)]


def arena_of(size, recipe="default"):
    return make_arena(RECIPES[recipe]["constant"].settings(*size), seed=0)


@njit(nogil=True)
def fill(marks, *arena):
    """Write a part's number into each part, as compiled code sees it."""
    state = open_state(*arena)
    state.nodes[:] = marks[0]
    state.leaf_square[:] = marks[1]
    state.mean_leaves[:] = marks[2]
    state.bias[:] = marks[3]
    state.probabilities[:] = marks[4]
    state.counts[:] = int(marks[5])
    return arena[0][0].node_rate, arena[0][0].replay, arena[0][0].linear, arena[0][0].height


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_compiled_code_and_python_see_the_same_parts(size, recipe):
    arena = arena_of(size, recipe)
    told = RECIPES[recipe]["constant"].settings(*size)
    before = view_state(arena)._asdict()
    before = {name: array.copy() for name, array in before.items()}
    found = fill(np.arange(1.0, 7.0), *arena)
    assert found == (told.node_rate, told.replay, told.linear, told.height)
    names = ["nodes", "leaf_square", "mean_leaves", "bias", "probabilities", "counts"]
    for name, array in view_state(arena)._asdict().items():
        wanted = names.index(name) + 1.0 if name in names else before[name]
        np.testing.assert_array_equal(array, wanted, name)
    assert count_answers(arena) == 6


@pytest.mark.parametrize("size", SIZES)
def test_parts_have_their_shapes_and_fill_the_arrays_without_a_gap(size):
    arena = arena_of(size)
    sizes = RECIPES["default"]["constant"].settings(*size).sizes() | {"room": 0}
    state = view_state(arena)
    used = {"floats": 0, "singles": 0, "integers": 0}
    for name, part in PARTS.items():
        array = getattr(state, name)
        assert array.shape == part.lengths(sizes)
        if not part.grows:
            used["integers" if part.pool == "words" else part.pool] += array.size
    assert used == {pool: getattr(arena, pool).size for pool in used}


def test_what_is_saved_and_what_must_not_be_negative():
    assert tuple(PARTS) == State._fields
    scratch = {name for name, part in PARTS.items() if not part.saved}
    assert scratch == {"x", "activations", "value", "reach", "scores", "probabilities"}
    squares = {name for name in PARTS if "square" in name or name.endswith("_counts")}
    assert squares < {name for name, part in PARTS.items() if part.not_negative}


def test_counts_lie_first_among_the_integers():
    arena = arena_of(SIZES[0])
    view_state(arena).counts[SEEN] = 7
    assert count_answers(arena) == 7
