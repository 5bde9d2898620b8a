"""Molecules as bits: Morgan fingerprints and scaffold splits, by RDKit (`dgtrees[chem]`)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dgtrees.errors import DataError

__all__ = ["morgan_bits", "scaffold_split"]


def morgan_bits(smiles: list[str], radius: int = 2, n_bits: int = 2048) -> np.ndarray:
    """Morgan fingerprints without chirality, float32 of shape (molecules, n_bits).

    Molecules whose valences RDKit refuses are read without its checks.
    """
    chem = _rdkit()
    from rdkit import rdBase
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=n_bits)
    bits = np.zeros((len(smiles), n_bits), dtype=np.float32)
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            bits[row, list(generator.GetFingerprint(_molecule(chem, text)).GetOnBits())] = 1.0
    return bits


def scaffold_split(
    smiles: list[str], train: int, val: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers of three parts that share no Bemis-Murcko scaffold.

    Groups of molecules with one scaffold, the largest first (of equal ones the one that begins
    last), fill the training part as long as they fit into it, then the validation part; the rest
    tests. This is the order of DeepChem's splitter, so its parts come out.
    """
    chem = _rdkit()
    from rdkit import rdBase
    from rdkit.Chem.Scaffolds import MurckoScaffold

    groups: dict[Any, list[int]] = {}
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            molecule = chem.MolFromSmiles(text)
            # A molecule that RDKit refuses is a group of its own.
            key = row if molecule is None else MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)
            groups.setdefault(key, []).append(row)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for group in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(parts[0]) + len(group) <= train:
            parts[0].extend(group)
        elif len(parts[0]) + len(parts[1]) + len(group) <= train + val:
            parts[1].extend(group)
        else:
            parts[2].extend(group)
    first, second, third = (np.array(part, dtype=np.int64) for part in parts)
    return first, second, third


def _molecule(chem: ModuleType, smiles: str) -> Any:
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        molecule = chem.MolFromSmiles(smiles, sanitize=False)
        if molecule is None:
            raise DataError(f"a molecule must be written as SMILES, got {smiles!r}: fetch it again")
        molecule.UpdatePropertyCache(strict=False)
        chem.GetSymmSSSR(molecule)
    return molecule


def _rdkit() -> ModuleType:
    try:
        from rdkit import Chem
    except ImportError as error:
        raise DataError(
            "reading molecules needs RDKit, which is not installed: "
            "run `pip install 'dgtrees[chem]'`"
        ) from error
    module: ModuleType = Chem
    return module
