"""Clusters: an answer that is the number of a leaf, and what a file holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dgtrees.model.text import short_number
from dgtrees.schema import shown

__all__ = ["Clusters"]


@dataclass(frozen=True, eq=False)
class Clusters:
    """The one output is the number of the row's leaf, which is that of its cluster.

    Parameters
    ----------
    centers : ndarray of shape (clusters, encoded columns)
        Means of the clusters' rows.
    scale : ndarray of shape (encoded columns,)
        What differences are divided by before they are squared and added up to distances.
    bases : ndarray of shape (clusters, rank, encoded columns), optional
        Orthonormal directions: a row of the cluster is its centre and a number for each of them,
        in units of the scale.
    """

    centers: np.ndarray
    scale: np.ndarray
    bases: np.ndarray | None = None

    bounds: ClassVar[None] = None
    logarithms: ClassVar[bool] = False
    labels: ClassVar[None] = None
    names: ClassVar[None] = None
    emphasis: ClassVar[None] = None
    weighing: ClassVar[None] = None
    exponent: ClassVar[float] = 1.0
    numbered: ClassVar[bool] = True
    task: ClassVar[str] = "clustering"
    onnx_output: ClassVar[str] = "label"
    c_outputs: ClassVar[str] = "Number of the cluster"
    c_best: ClassVar[str] = "cluster"
    n_outputs: ClassVar[int] = 1

    def predict(self, outputs: np.ndarray) -> Any:
        """Number of the cluster."""
        return outputs[..., 0].astype(np.int32)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Distances of encoded rows to all centres, (rows, clusters)."""
        found = np.empty((len(rows), len(self.centers)))
        for k, center in enumerate(self.centers):
            found[:, k] = np.sqrt(np.square((rows - center) / self.scale).sum(axis=1))
        return found

    def encode(self, rows: np.ndarray, clusters: np.ndarray) -> np.ndarray:
        """Codes (rows, rank) of encoded rows in their clusters."""
        assert self.bases is not None
        codes = np.empty((len(rows), self.bases.shape[1]))
        for k in np.unique(clusters):
            here = clusters == k
            codes[here] = (rows[here] - self.centers[k]) / self.scale @ self.bases[k].T
        return codes

    def decode(self, clusters: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Encoded rows that these codes stand for: centres, where there are no directions."""
        rows = self.centers[clusters]
        if self.bases is not None:
            for k in np.unique(clusters):
                here = clusters == k
                rows[here] += codes[here] @ self.bases[k] * self.scale
        return rows

    def words(
        self, names: Sequence[str], rows: np.ndarray, spread: np.ndarray | None, short: bool
    ) -> list[str]:
        """Every cluster by the most unusual columns of its centre, in deviations from the mean.

        In short it is the first of them, without the value.
        """
        mean = np.average(self.centers, axis=0, weights=rows if rows.any() else None)
        spread = self.scale if spread is None else spread
        said = []
        for k, center in enumerate(self.centers):
            away = (center - mean) / spread
            columns = [j for j in np.argsort(-np.abs(away), kind="stable")[:3] if away[j]]
            if short:
                said.append(f"{away[columns[0]]:+.1f} sd {names[columns[0]]}" if columns else "")
                continue
            parts = [f"{names[j]} {short_number(center[j])} ({away[j]:+.1f} sd)" for j in columns]
            said.append(f"cluster {k}: {', '.join(parts)}" if parts else f"cluster {k}")
        return said

    def to_header(self) -> dict[str, Any]:
        """Fields of a model file."""
        return {"n_clusters": len(self.centers)}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays of a model file."""
        bases = {} if self.bases is None else {"clusters.bases": self.bases}
        return {"clusters.centers": self.centers, "clusters.scale": self.scale, **bases}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Clusters:
        """Clusters as they were in fit."""
        centers, scale = arrays["clusters.centers"], arrays["clusters.scale"]
        bases = arrays.get("clusters.bases")
        count, columns = header["n_clusters"], len(scale)
        if centers.shape != (count, columns):
            raise ValueError(
                f"clusters.centers must be {count} by {columns}, got {shown(centers.shape)}"
            )
        if bases is not None and (bases.shape[::2] != centers.shape or not bases.shape[1]):
            raise ValueError(
                f"clusters.bases must be {count} by rank by {columns}, got {shown(bases.shape)}"
            )
        known = [centers, scale] if bases is None else [centers, scale, bases]
        if not all(np.isfinite(array).all() for array in known) or not (scale > 0).all():
            raise ValueError("centres, bases and scales must be finite, and scales above 0")
        return cls(centers, scale, bases)

    def check_leaves(self, leaf_values: np.ndarray) -> None:
        """Refuse leaves (leaves, outputs) that do not hold their own numbers."""
        numbers = np.arange(len(self.centers), dtype=np.float64)[:, None]
        if not np.array_equal(leaf_values, numbers):
            raise ValueError(f"leaves must hold the numbers 0 to {len(numbers) - 1} in order")
