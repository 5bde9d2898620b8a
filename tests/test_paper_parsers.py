"""Parsers: the sets of the mirror, and small files in the formats of the others."""

import bz2
import dataclasses
import gzip
import io
import os
import pickle
import tarfile
import zipfile

import numpy as np
import pytest

from dgtrees.errors import DataError
from dgtrees.paper import catalog, molecules, parsers
from dgtrees.paper.archives import DataFile, FileSource
from dgtrees.paper.catalog import CATALOG, load, status
from paper_data import MIRROR, need, shrink

pytestmark = pytest.mark.data


def test_hiv_has_published_classes_in_every_part():
    need("hiv")
    source = FileSource(CATALOG["hiv"].files, MIRROR / "hiv")
    with source.open("HIV.csv") as stream:
        rows = stream.read().decode().splitlines()[1:]
    active = np.array([int(row.rsplit(",", 1)[1]) for row in rows])
    assert len(rows) == 41127 and active.sum() == 1443
    with source.open(parsers.HIV_SPLIT) as stream, np.load(stream) as saved:
        order = [saved[part] for part in ("train", "valid", "test")]
    assert tuple(map(len, order)) == CATALOG["hiv"].rows
    assert [int(active[part].sum()) for part in order] == [1232, 81, 130]
    assert np.array_equal(np.sort(np.concatenate(order)), np.arange(41127))

    pytest.importorskip("rdkit", reason="needs the extra dgtrees[chem]")
    refused = [137, 987, 12882, 18293, 30784, 30785, 35728]  # by RDKit 2026.9, for their valences
    smiles = [rows[i].split(",")[0] for i in [*range(200), *refused]]
    bits = molecules.morgan_bits(smiles)
    assert bits.shape == (207, 2048) and (bits.sum(axis=1) > 1).all()
    assert np.array_equal(bits[137], bits[200])


def test_ctslice_is_read_as_published(tmp_path, monkeypatch):
    path = MIRROR / "ctslice_partial" / "slice_localization_data.csv.gz"
    if not path.is_file():
        pytest.skip(f"ctslice_partial is not in {MIRROR}")
    whole_rows = gzip.decompress(path.read_bytes()).rsplit(b"\n", 1)[0] + b"\n"
    (tmp_path / "ctslice").mkdir()
    with zipfile.ZipFile(tmp_path / "ctslice" / "slice_localization_data.zip", "w") as bundle:
        bundle.writestr("slice_localization_data.csv", whole_rows)
    with pytest.raises(DataError, match="must hold 53500 rows of 384 features, got 682 rows"):
        load("ctslice", folder=tmp_path)
    shrink(monkeypatch, "ctslice", rows=(436, 110, 136))
    split = load("ctslice", folder=tmp_path)
    assert split.rows == (436, 110, 136) and split.X_val.shape == (110, 384)
    assert split.feature_names[0] == "value0" and split.feature_names[-1] == "value383"
    assert split.y_train.min() >= 0 and split.y_train.max() <= 180


def test_protein_is_read_as_published(tmp_path, monkeypatch):
    """The rows of the partial copy, written as LIBSVM writes them."""
    path = MIRROR / "protein_partial" / "protein.mat"
    if not path.is_file():
        pytest.skip(f"protein_partial is not in {MIRROR}")
    from scipy.io import loadmat

    content = loadmat(path)
    X, y = content["A"].toarray()[:60], content["b"].ravel()[:60]
    lines = [
        f"{label} " + " ".join(f"{j + 1}: {row[j]:g}" for j in np.flatnonzero(row))
        for row, label in zip(X, y, strict=True)
    ]
    write_protein(tmp_path, [lines[:40], lines[40:50], lines[50:]])
    shrink(monkeypatch, "protein", rows=(40, 10, 10), n_classes=len(np.unique(y)))
    split = load("protein", folder=tmp_path)
    assert np.allclose(split.X_train, X[:40]) and np.array_equal(split.y_train, y[:40])


def write_protein(folder, parts):
    (folder / "protein").mkdir()
    for ending, lines in zip(("tr", "val", "t"), parts, strict=True):
        text = "".join(line + "\n" for line in lines).encode()
        (folder / "protein" / f"protein.{ending}.bz2").write_bytes(bz2.compress(text))


def test_protein_with_blanks_after_the_colons(tmp_path, monkeypatch):
    write_protein(tmp_path, [["0 1: 0.5 357: 1", "2 3: .25"], ["1 2: 1"], ["0 1: 1", "1 9: 0.1"]])
    shrink(monkeypatch, "protein", rows=(2, 1, 2))
    split = load("protein", folder=tmp_path)
    assert split.rows == (2, 1, 2) and split.X_train.shape == (2, 357)
    assert split.X_train[0, [0, 356]].tolist() == [0.5, 1.0] and split.X_train[1, 2] == 0.25
    assert split.y_train.tolist() == [0, 2] and split.y_train.dtype == np.int64


def test_sensit(tmp_path, monkeypatch):
    (tmp_path / "sensit").mkdir()
    row = " ".join(f"{j}:{-0.01 * j:.6e}" for j in range(1, 101))
    train = "".join(f"{1 + i % 3} {row} \n" for i in range(10)).encode()
    (tmp_path / "sensit" / "combined.bz2").write_bytes(bz2.compress(train))
    (tmp_path / "sensit" / "combined.t.bz2").write_bytes(bz2.compress(train[: len(train) // 10]))
    shrink(monkeypatch, "sensit", rows=(8, 2, 1))
    split = load("sensit", folder=tmp_path)
    order = np.random.RandomState(0).permutation(10)
    assert split.y_train.tolist() == (1 + order[:8] % 3).tolist()
    assert split.y_val.tolist() == (1 + order[8:] % 3).tolist()
    assert split.X_test.shape == (1, 100) and split.X_test[0, 99] == pytest.approx(-1.0)


def test_census1990(tmp_path, monkeypatch):
    columns = ["caseid", *(f"d{i}" for i in range(65)), "iYearsch", "iYearwrk", "dYrsserv"]
    rows = [[10000 + i, *range(65), i % 18, 3, 0] for i in range(36)]
    text = "\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n"
    (tmp_path / "census1990").mkdir()
    with zipfile.ZipFile(tmp_path / "census1990" / "us+census+data+1990.zip", "w") as bundle:
        bundle.writestr("USCensus1990.readme.txt", "about")
        bundle.writestr("USCensus1990.data.txt", text)
    shrink(monkeypatch, "census1990", rows=(22, 6, 8))
    split = load("census1990", folder=tmp_path)
    assert split.rows == (22, 6, 8) and split.X_train.shape[1] == 68
    assert "iYearsch" not in split.feature_names and split.feature_names[-1] == "dYrsserv"
    assert (split.X_train[:, 0] % 18 == (split.y_train + 10000) % 18).all()

    (tmp_path / "census1990" / "USCensus1990.data.txt").write_text("caseid,dAge\n1,2\n")
    with pytest.raises(DataError, match="must have a column iYearsch, got caseid, dAge"):
        load("census1990", folder=tmp_path)


def test_yearpred(tmp_path, monkeypatch):
    rows = [[2000 + i, *(0.5 * j for j in range(90))] for i in range(12)]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "yearpred").mkdir()
    with zipfile.ZipFile(tmp_path / "yearpred" / "YearPredictionMSD.txt.zip", "w") as bundle:
        bundle.writestr("YearPredictionMSD.txt", text)
    monkeypatch.setattr(parsers, "YEARPRED_TRAIN_ROWS", 10)
    shrink(monkeypatch, "yearpred", rows=(8, 2, 2))
    split = load("yearpred", folder=tmp_path)
    assert split.y_test.tolist() == [2010, 2011] and split.X_test[0].tolist() == rows[0][1:]
    assert sorted([*split.y_train, *split.y_val]) == list(range(2000, 2010))


def test_mslr(tmp_path, monkeypatch):
    row = " ".join(f"{j}:{j / 4}" for j in range(1, 137))
    lines = [f"{i % 5} qid:{i // 3 + 1} {row} \n" for i in range(10)]
    (tmp_path / "mslr").mkdir()
    with zipfile.ZipFile(tmp_path / "mslr" / "MSLR-WEB10K.zip", "w") as bundle:
        for fold in ("Fold1", "Fold2"):
            bundle.writestr(f"{fold}/train.txt", "".join(lines))
            bundle.writestr(f"{fold}/vali.txt", "".join(lines[:2]))
            bundle.writestr(f"{fold}/test.txt", "".join(lines[:3]))
    shrink(monkeypatch, "mslr", rows=(8, 2, 3))
    assert status("mslr", tmp_path).present
    split = load("mslr", folder=tmp_path)
    assert split.rows == (8, 2, 3) and split.X_train.shape == (8, 136)
    assert split.y_test.tolist() == [0, 1, 2] and split.X_test[0, 135] == 34.0


@pytest.mark.parametrize("packed", [True, False])
def test_yahoo(packed, tmp_path, monkeypatch):
    folder = tmp_path / "yahoo"
    folder.mkdir()
    texts = {
        "set1.train.txt": "0 qid:1 1:0.5 699:0.25\n4 qid:1 10:0.89028\n1 qid:2 3:1\n",
        "set1.valid.txt": "2 qid:3 2:0.75\n",
        "set1.test.txt": "3 qid:4 5:0.1\n1 qid:4 6:0.2\n",
    }
    if packed:
        with tarfile.open(folder / "ltrc_yahoo.tgz", "w:gz") as bundle:
            for name, text in texts.items():
                member = tarfile.TarInfo(f"ltrc_yahoo/{name}")
                member.size = len(text)
                bundle.addfile(member, io.BytesIO(text.encode()))
    else:
        for name, text in texts.items():
            (folder / name).write_text(text)
    shrink(monkeypatch, "yahoo", rows=(3, 1, 2))
    split = load("yahoo", folder=tmp_path)
    assert split.X_train.shape == (3, 699) and split.X_train[0, 698] == 0.25
    assert split.y_train.tolist() == [0, 4, 1] and split.y_test.tolist() == [3, 1]


def write_pdbbind(folder, arrays):
    (folder / "pdbbind").mkdir(exist_ok=True)
    np.savez_compressed(folder / "pdbbind" / "PDBbind.npz", *arrays)


def write_shuffle(folder, **arrays):
    (folder / "paper_shuffles").mkdir(exist_ok=True)
    np.savez(folder / "paper_shuffles" / "abalone1.npz", **arrays)


def test_the_authors_shuffles(tmp_path, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(12, 10)), np.arange(12.0)
    files = tuple(dataclasses.replace(f, sha256=None) for f in CATALOG["abalone_shuffles"].files)
    shrink(monkeypatch, "abalone_shuffles", rows=(6, 2, 4), files=files)
    write_shuffle(tmp_path, X_train=X[:8], y_train=y[:8, None], X_test=X[8:], y_test=y[8:])
    source = FileSource(files[1:2], tmp_path / "paper_shuffles")
    (X_train, y_train), (X_test, y_test) = parsers.authors_shuffle(source).pairs
    assert np.array_equal(X_train, X[:8]) and np.array_equal(X_test, X[8:])
    assert np.array_equal(y_train, y[:8]) and np.array_equal(y_test, y[8:])
    with pytest.raises(DataError, match=r"abalone0\.npz, abalone2\.npz"):
        load("abalone_shuffles", 1, folder=tmp_path)  # a set has all of its shuffles
    write_shuffle(tmp_path, X_train=X, y_train=y, X_test=X)
    with pytest.raises(DataError, match="X_train, y_train, X_test, y_test, got X_test, X_train"):
        parsers.authors_shuffle(source)


def test_pdbbind(tmp_path, monkeypatch):
    X, y = np.arange(10 * 2052, dtype=np.float64).reshape(10, 2052), np.linspace(2, 11, 10)
    write_pdbbind(tmp_path, (X[:6], y[:6], X[6:8], y[6:8, None], X[8:], y[8:]))
    shrink(monkeypatch, "pdbbind", rows=(6, 0, 0))
    split = load("pdbbind", folder=tmp_path)
    assert split.rows == (6, 2, 2) and np.array_equal(split.X_test, X[8:])
    assert split.y_val.tolist() == y[6:8].tolist()
    write_pdbbind(tmp_path, [y, y.astype(str)])
    with pytest.raises(DataError, match="six arrays of numbers, arr_0 to arr_5, got arr_0 float64"):
        load("pdbbind", folder=tmp_path)


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


def test_pickles_are_not_read(tmp_path, monkeypatch):
    """Neither as the publisher has it, nor under another name, nor inside an npz file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pdbbind").mkdir()
    packed = gzip.compress(pickle.dumps(Harmful()))
    (tmp_path / "pdbbind" / "PDBbind.pkl.gz").write_bytes(packed)
    with pytest.raises(DataError, match=r"where PDBbind\.npz is missing"):
        load("pdbbind", folder=tmp_path)
    with pytest.raises(DataError, match=r"PDBbind\.pkl\.gz and, if you trust it .* PDBbind\.npz"):
        catalog.fetch("pdbbind", folder=tmp_path)
    (tmp_path / "pdbbind" / "PDBbind.npz.gz").write_bytes(packed)
    with pytest.raises(DataError, match="not a readable npz file"):
        load("pdbbind", folder=tmp_path)
    write_pdbbind(tmp_path, [np.array([Harmful()])] * 6)
    with pytest.raises(
        DataError, match=r"not a readable npz file \(Object arrays cannot be loaded"
    ):
        load("pdbbind", folder=tmp_path)
    assert not (tmp_path / "harmed").exists()


def test_segment_with_blanks_as_the_publisher_has_it(tmp_path, monkeypatch):
    (tmp_path / "segment").mkdir()
    text = "".join(" ".join(["1.5"] * 19 + [f" {1 + i % 7}"]) + "\n" for i in range(14))
    (tmp_path / "segment" / "segment.dat").write_text(text)
    shrink(monkeypatch, "segment", rows=(7, 3, 4))
    split = load("segment", folder=tmp_path)
    assert split.rows == (7, 3, 4) and split.X_train.shape == (7, 19)
    assert set(split.y_train) <= set(range(1, 8))


def test_hiv_from_molecules_alone(tmp_path, monkeypatch):
    """No table of indices: the split is found anew. One molecule has a valence RDKit refuses."""
    pytest.importorskip("rdkit", reason="needs the extra dgtrees[chem]")
    smiles = [
        *(f"{'C' * i}c1ccccc1" for i in range(6)),
        "C1CCCCC1O",
        "CCO",
        "c1ccncc1",
        "C[Al](C)(C)(C)(C)C",
    ]
    text = "smiles,activity,HIV_active\r\n\r\n" + "".join(
        f"{s},CI,{int(i == 1)}\r\n\r\n" for i, s in enumerate(smiles)
    )
    (tmp_path / "hiv").mkdir()
    (tmp_path / "hiv" / "HIV.csv").write_bytes(text.encode())
    with pytest.raises(DataError, match="must have sha256 b72f"):
        load("hiv", folder=tmp_path)
    shrink(monkeypatch, "hiv", rows=(8, 1, 1), files=(DataFile("HIV.csv"), CATALOG["hiv"].files[1]))
    split = load("hiv", folder=tmp_path)
    assert split.rows == (8, 1, 1) and split.X_train.shape == (8, 2048)
    assert split.y_train.sum() == 1 and set(np.unique(split.X_train)) == {0.0, 1.0}
    # The six with a benzene ring share a scaffold and stay together.
    assert (split.X_train[:6].sum(axis=1) > 0).all()


def test_other_damaged_files_are_refused(tmp_path, monkeypatch):
    for name in ("mnist", "bace"):
        (tmp_path / name).mkdir()
        plain = tuple(dataclasses.replace(f, sha256=None) for f in CATALOG[name].files)
        shrink(monkeypatch, name, files=plain)
        for file in plain:
            (tmp_path / name / file.name).write_bytes(b"\0\0\x08\x03nonsense,1\n" * 3)
    with pytest.raises(DataError, match="must be an idx file of bytes on 3 axes"):
        load("mnist", folder=tmp_path)
    with pytest.raises(DataError, match="rows of 2,048 bits"):
        load("bace", folder=tmp_path)
    (tmp_path / "covtype").mkdir()
    (tmp_path / "covtype" / "covtype.data.xz").write_bytes(b"\xfd7zXZ\0 and no more")
    with pytest.raises(DataError, match=r"covtype.data.xz must be a whole, readable file"):
        load("covtype", folder=tmp_path)
