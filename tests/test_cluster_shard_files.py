"""Parquet files as one numbered sequence of rows."""

import numpy as np
import pytest
from pyarrow import parquet

from dgtrees import DGTClassifier, fit_shards
from dgtrees.cluster.shard_files import find_shards, row_draws
from dgtrees.errors import DataError
from shard_tables import OPTIONS, rows, written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns("x1"), "got no 'x1'"),
        (lambda t: t.append_column("more", t["x0"]), "got also 'more'"),
        (lambda t: t.set_column(0, "x0", t["x0"].cast("float32")), "'x0'.*double.*got float"),
        (lambda t: t.select(t.column_names[::-1]), "in the order of"),
    ],
)
def test_files_of_another_schema_are_named(tmp_path, change, message):
    folder = written(rows(300), tmp_path / "shards", (0, 100))
    parquet.write_table(change(rows(20)), folder / "wrong.parquet")
    with pytest.raises(DataError, match=rf"wrong\.parquet.*{message}"):
        fit_shards(DGTClassifier(**OPTIONS), folder, "label", workers=2)


def test_files_that_pandas_has_written(tmp_path):
    frame = rows(400).to_pandas()
    frame["city"] = frame["city"].where(frame.index < 200, frame.index.astype(str))
    parts = [frame.iloc[:200], frame.iloc[200:].sample(frac=1.0, random_state=0)]
    for number, part in enumerate(parts):  # the second has row labels, and more categories
        part.astype({"city": "category"}).to_parquet(tmp_path / f"{number}.parquet")
    schemas = [parquet.read_schema(path) for path in sorted(tmp_path.iterdir())]
    assert "__index_level_0__" in schemas[1].names
    assert len({schema.field("city").type for schema in schemas}) == 2
    model = fit_shards(DGTClassifier(2, max_epochs=2, random_state=0), tmp_path, "label")
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "city"]


@pytest.mark.parametrize("rows_a_batch", [65_536, 100])
def test_rows_are_numbered_through_all_files(shards, monkeypatch, rows_a_batch):
    monkeypatch.setattr("dgtrees.tables.binary._ROWS_A_BATCH", rows_a_batch)
    found, table = find_shards(shards), rows()
    for workers in (1, 2, 7):
        parts = []
        for worker in range(workers):
            for first, batch in found.batches(found.share(worker, workers), ["x1"]):
                assert batch.rows and batch.column("x1")[0] == table["x1"][first]
                parts.append(batch.column("x1").to_numpy())
        assert np.array_equal(np.concatenate(parts), table["x1"].to_numpy())
    draws = row_draws(3, 0, 100)
    assert np.array_equal(draws[13:40], row_draws(3, 13, 27))
    assert 0.3 < draws.mean() < 0.7
