import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dgtrees.tables.examples import hash_rows, merge_repeated

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 25), st.integers(1, 3)),
    elements=st.sampled_from([0.0, -0.0, 1.0, 2.5]),
)


@given(X=tables, data=st.data())
def test_repeated_weighted_and_shuffled_rows_are_the_same_rows(X, data):
    weight = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)))
    y = data.draw(hnp.arrays(np.int64, (len(X), 1), elements=st.integers(0, 1))).astype(float)
    order = data.draw(st.permutations(range(int(weight.sum()))))
    weighted = merge_repeated(X, y, weight.astype(float))
    repeat = lambda a: np.repeat(a, weight, axis=0)[list(order)]  # noqa: E731
    repeated = merge_repeated(repeat(X), repeat(y), np.ones(len(order)))
    for mine, other in zip(weighted[:3], repeated[:3], strict=True):
        assert np.array_equal(mine, other)
    number = weighted[3]
    assert np.array_equal(number >= 0, weight > 0)
    assert np.array_equal(weighted[0][number[weight > 0]], X[weight > 0])

    totals = {}
    for row, target, w in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        key = tuple(v + 0.0 for v in row + target)
        totals[key] = totals.get(key, 0) + w
    merged = {
        tuple(v + 0.0 for v in row + target): w
        for row, target, w in zip(*(a.tolist() for a in weighted[:3]), strict=True)
    }
    assert merged == {key: w for key, w in totals.items() if w}


def test_hashes_of_distinct_rows_rarely_meet():
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    assert len(np.unique(hash_rows(grid))) == len(grid)
