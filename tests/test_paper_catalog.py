"""The catalogue of data sets: what it says, and the sets of the mirror."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dgtrees.errors import DataError
from dgtrees.paper import catalog
from dgtrees.paper.catalog import CATALOG, load, status
from paper_data import MIRROR, need

pytestmark = pytest.mark.data
TWELVE = {
    "pendigits": (5995, 1499, 3498),
    "letter": (10500, 4500, 5000),
    "satimage": (3104, 1331, 2000),
    "segment": (1478, 370, 462),
    "connect4": (43236, 10809, 13512),
    "mnist": (48000, 12000, 10000),
    "covtype": (371846, 92963, 116203),
    "hiv": (32901, 4113, 4113),
    "bace": (1210, 151, 152),
    "ailerons": (5723, 1431, 6596),
    "abalone": (2004, 502, 1671),
    "compactiv": (3932, 983, 3277),
}
SHUFFLES = {"abalone_shuffles": (2004, 502, 1671), "compactiv_shuffles": (3932, 983, 3277)}
EIGHT = {"sensit", "census1990", "pdbbind", "ctslice", "yearpred", "protein", "mslr", "yahoo"}


def test_the_papers_twenty_sets_are_all_there_two_of_them_twice():
    assert set(catalog.names()) == set(TWELVE) | EIGHT | set(SHUFFLES)
    for name, rows in (TWELVE | SHUFFLES).items():
        assert CATALOG[name].rows == rows
    assert sum(s.task == "classification" for s in CATALOG.values()) == 12
    shuffled = {name for name, data_set in CATALOG.items() if data_set.shuffles == 5}
    assert shuffled == {"abalone", "compactiv", "ctslice", *SHUFFLES}


@pytest.mark.parametrize("name", CATALOG)
def test_every_entry_is_complete(name):
    data_set = CATALOG[name]
    assert data_set.name == name and data_set.title and data_set.page.startswith("http")
    assert data_set.metric in {"accuracy", "auc", "rmse"}
    assert (data_set.metric == "rmse") == (data_set.task == "regression")
    assert data_set.paper_height in {4, 6, 8, 10} or data_set.metric == "auc"
    required = [file for file in data_set.files if not file.optional]
    assert all(file.url for file in required) or data_set.by_hand
    names = [file.name for file in data_set.files]
    assert len(set(names)) == len(names)
    assert all(file.instead is None or file.instead in names for file in data_set.files)


def test_files_that_were_at_hand_have_a_checksum():
    for name in (*TWELVE, *SHUFFLES):
        for file in CATALOG[name].files:
            assert file.sha256 or file.instead, file.name


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"one of connect4, mnist.*got 'iris'"):
        load("iris")


def test_the_folder_is_the_variables_or_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DGTREES_DATA", str(tmp_path))
    assert catalog.data_folder() == tmp_path
    monkeypatch.delenv("DGTREES_DATA")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    places = {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"}
    for platform, place in places.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert catalog.data_folder() == tmp_path / place / "dgtrees"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert catalog.data_folder() == tmp_path / "mine" / "dgtrees"


def test_what_is_missing_is_named_with_the_next_step(tmp_path):
    state = status("letter", tmp_path)
    assert not state.present and state.bytes == 0
    assert state.missing == ("letter.scale.tr", "letter.scale.val", "letter.scale.t")
    with pytest.raises(DataError, match=r"letter.scale.tr, .* is missing: run `dgt data fetch let"):
        load("letter", folder=tmp_path)


def documented(data_set):
    """The row of a data set in the table of docs/data.md."""
    rows = " / ".join(f"{count:,}" if count else "?" for count in data_set.rows)
    cells = [
        f"`{data_set.name}`",
        rows,
        f"{data_set.n_features:,}",
        str(data_set.n_classes or ""),
        data_set.metric,
        str(data_set.paper_height or "not named"),
        f"[{data_set.publisher}]({data_set.page})",
    ]
    return "| " + " | ".join(cells) + " |"


def test_the_documentation_lists_what_the_catalogue_says():
    page = (Path(__file__).parents[1] / "docs" / "data.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert lines == [documented(data_set) for data_set in CATALOG.values()]


@pytest.mark.parametrize("name", [*TWELVE, *SHUFFLES])
def test_sets_of_the_mirror_load_with_the_published_counts(name):
    need(name)
    if name == "hiv":
        pytest.skip("41,127 fingerprints take RDKit 20 s: its parts are tested below")
    split = load(name, folder=MIRROR)
    assert split.rows == (TWELVE | SHUFFLES)[name]
    for X, y in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        assert X.shape == (len(y), CATALOG[name].n_features)
        assert np.isfinite(X).all() and np.isfinite(y).all()
    if CATALOG[name].n_classes:
        assert len(np.unique(split.y_train)) == CATALOG[name].n_classes
    assert split.feature_names is None or len(split.feature_names) == CATALOG[name].n_features


def test_shuffles_cut_the_same_rows_anew():
    need("abalone")
    first, again, other = (load("abalone", s, folder=MIRROR) for s in (0, 0, 1))
    assert np.array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)
    together = [np.concatenate([s.y_train, s.y_val, s.y_test]) for s in (first, other)]
    assert np.array_equal(*map(np.sort, together))
    order = np.random.RandomState(1).permutation(4177)
    whole = np.empty(4177)
    whole[np.random.RandomState(0).permutation(4177)] = together[0]
    assert np.array_equal(whole[order[:2004]], other.y_train)


@pytest.mark.parametrize(("name", "noise"), [("abalone", 0.0), ("compactiv", 0.5)])
def test_the_authors_shuffles_are_other_orders_of_the_same_rows(name, noise):
    need(name)
    need(f"{name}_shuffles")
    whole = load(name, folder=MIRROR)
    plain = np.concatenate([whole.y_train, whole.y_val, whole.y_test])
    tests = []
    for shuffle in range(5):
        split = load(f"{name}_shuffles", shuffle, folder=MIRROR)
        y = np.concatenate([split.y_train, split.y_val, split.y_test])
        assert np.abs(np.sort(y) - np.sort(plain)).max() <= noise
        tests.append(np.sort(split.y_test))
    assert not any(np.array_equal(tests[0], other) for other in tests[1:])
    with pytest.raises(ValueError, match="must be one of the 5 published ones, 0 to 4, got 5"):
        load(f"{name}_shuffles", 5, folder=MIRROR)


def test_the_partial_copies_do_not_make_their_sets_present():
    for name in ("ctslice", "protein"):
        if (MIRROR / f"{name}_partial").is_dir():
            assert not status(name, MIRROR).present
