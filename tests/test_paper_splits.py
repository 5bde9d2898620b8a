"""Data sets of the cells: shuffles, heights, and what is kept of slow ones."""

from types import SimpleNamespace

import numpy as np

from dgtrees.paper import splits


def test_five_shuffles_serve_ten_seeds():
    assert splits.facts("abalone").shuffles == 5
    assert splits.facts("hiv").height == 6


def test_fingerprints_are_kept_until_their_source_changes(tmp_path, monkeypatch):
    source = tmp_path / "source" / "molecules.csv"
    source.parent.mkdir()
    source.write_text("C")
    made = []

    def load(name, shuffle, folder):
        X = np.random.default_rng(len(made)).integers(0, 2, (6, 4)).astype(np.float32)
        made.append(splits.Split(name, X, np.arange(6), X[:2], np.arange(2), X[:1], np.arange(1)))
        return made[-1]

    monkeypatch.setattr(splits, "load", load)
    monkeypatch.setattr(splits, "status", lambda *_: SimpleNamespace(folder=source.parent))
    monkeypatch.setattr(splits.tempfile, "gettempdir", lambda: str(tmp_path))
    for _ in range(2):
        split = splits.load_parts("hiv", 0)
        assert len(made) == 1 and split.X_train.dtype == np.float32
        assert np.array_equal(split.X_train, made[0].X_train)
        assert np.array_equal(split.y_test, made[0].y_test)
    source.write_text("CC")
    assert np.array_equal(splits.load_parts("hiv", 0).X_train, made[1].X_train)
