"""A table in Parquet shards, for the tests of cluster."""

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS = 3000


OPTIONS = {"max_depth": 4, "max_epochs": 40, "random_state": 1}


def rows(count=ROWS, seed=0):
    """Two blobs a class, with gaps, a category and files of very different sizes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 5.0]
    city = rng.choice(["Oslo", "Rome", "Bonn"], size=count, p=[0.5, 0.45, 0.05])
    label = np.where(x[:, 0] + 0.1 * (x[:, 1] - 100.0) > 0, "yes", "no")
    label = np.where((city == "Rome") & (x[:, 2] > 0), "perhaps", label)
    x[rng.random(count) < 0.1, 3] = np.nan
    return pa.table({**{f"x{j}": x[:, j] for j in range(4)}, "city": city, "label": label})


def written(table, folder, edges=(0, 100, 1900)):
    folder.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(zip(edges, (*edges[1:], len(table)), strict=True)):
        part = table.slice(start, stop - start)
        parquet.write_table(part, folder / f"part-{i}.parquet", row_group_size=700)
    return folder


def features(table, target="label"):
    return table.drop_columns(target)


def same_tree(one, other):
    return all(
        np.array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
        for name in ("weights", "bias", "left", "right", "leaf_values")
    )


class StoppedError(Exception):
    pass
