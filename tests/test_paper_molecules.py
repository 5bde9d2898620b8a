"""Fingerprints and scaffolds, by RDKit."""

import gzip
import sys

import numpy as np
import pytest

from dgtrees.errors import DataError
from dgtrees.paper import molecules
from dgtrees.paper.catalog import load
from paper_data import MIRROR, need

pytestmark = pytest.mark.data


def test_bits_and_scaffolds_of_bace_are_those_of_lcn():
    """The recipe for HIV, on the set where its outcome is published."""
    need("bace")
    pytest.importorskip("rdkit", reason="needs the extra dgtrees[chem]")
    path = MIRROR / "bace" / "bace.csv.gz"
    if not path.is_file():
        pytest.skip("the molecules of BACE are not in the mirror")
    with gzip.open(path, "rt") as stream:
        smiles = [line.split(",")[0] for line in stream][1:]
    split = load("bace", folder=MIRROR)
    bits = molecules.morgan_bits(smiles)
    parts = molecules.scaffold_split(smiles, 1210, 151)
    for rows, X in zip(parts, (split.X_train, split.X_val, split.X_test), strict=True):
        assert np.array_equal(bits[rows], X)


def test_without_rdkit_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(DataError, match=r"needs RDKit.*pip install 'dgtrees\[chem\]'"):
        molecules.morgan_bits(["CCO"])
