"""Trees of clusters beside k-means: cost, held-out cost, and CPU to assign rows.

    python -m benchmarks.clusters                      cost of k leaves, 3 seeds, and assigning
    python -m benchmarks.clusters --sets letter --seeds 1 --balance 1
    python -m benchmarks.clusters --autoencoder        MNIST: leaves with codes beside local PCA

k-means is scikit-learn's, n_init=10, on the same rows: digits / 16, USPS as published, PenDigits
and Letter standardised by the training rows. Ratios of the cost on training rows are what the tree
is fitted to; the test rows are looked at once, for the held-out ratio. Beside both, a tree of the
same centres whose splits are single columns (scikit-learn's CART, best first, as many leaves, its
labels those of k-means). Rows per CPU second are of float64 rows on one BLAS thread, k-means and
tree in turns. Results are appended to benchmarks/results.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from dgtrees import DGTAutoencoder, DGTClusterer
from dgtrees.paper import catalog

RESULTS = Path(__file__).parent / "results"
SETS = ("digits", "pendigits", "usps", "letter")
SIZES = (10, 26, 64)


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows."""
    if name == "digits":
        X = load_digits().data / 16.0
        order = np.random.RandomState(0).permutation(len(X))
        return X[order[:1347]], X[order[1347:]]
    if name == "usps":
        folder = catalog.data_folder() / "usps"
        train, test = (np.loadtxt(folder / f"zip.{part}.gz")[:, 1:] for part in ("train", "test"))
        return train, test
    parts = catalog.load(name, 0, catalog.data_folder())
    train = np.concatenate([parts.X_train, parts.X_val]).astype(np.float64)
    test = parts.X_test.astype(np.float64)
    if name == "mnist":
        return train / 255.0, test / 255.0
    center, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1.0
    return (train - center) / scale, (test - center) / scale


def axis_parallel_cost(means: KMeans, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Costs of a tree of single columns with as many leaves, fitted to the labels of k-means."""
    leaves = len(means.cluster_centers_)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(train, means.labels_)
    found, of_test = tree.apply(train), tree.apply(test)
    cost = {leaf: train[found == leaf].mean(axis=0) for leaf in np.unique(found)}
    both = []
    for rows, at in ((train, found), (test, of_test)):
        centers = np.array([cost[leaf] for leaf in at])
        both.append(float(np.square(rows - centers).sum()))
    return both[0], both[1]


def compare(name: str, clusters: int, seed: int, balance: float, starts: int) -> dict:
    """One data set, number of leaves and seed."""
    train, test = rows_of(name)
    started = time.process_time()
    means = KMeans(clusters, n_init=10, random_state=seed).fit(train)
    means_seconds = time.process_time() - started
    started = time.process_time()
    tree = DGTClusterer(clusters, balance=balance, n_init=starts, random_state=seed).fit(train)
    seconds = time.process_time() - started
    axis, axis_test = axis_parallel_cost(means, train, test)
    held_out = -means.score(test)
    depths = tree.tree_.depths[tree.tree_.n_nodes :]
    return {
        "set": name,
        "clusters": clusters,
        "seed": seed,
        "balance": balance,
        "n_init": starts,
        "ratio": round(tree.inertia_ / means.inertia_, 4),
        "held_out_ratio": round(-tree.score(test) / held_out, 4),
        "axis_ratio": round(axis / means.inertia_, 4),
        "axis_held_out_ratio": round(axis_test / held_out, 4),
        "depth": tree.get_depth(),
        "mean_depth": round(float(depths[tree.labels_].mean()), 2),
        "fit_seconds": round(seconds, 2),
        "k_means_fit_seconds": round(means_seconds, 2),
        **assigning(means, tree, train),
    }


def assigning(means: KMeans, tree: DGTClusterer, rows: np.ndarray) -> dict:
    """CPU seconds to assign a million rows, the median of turns, and their ratio."""
    rows = np.tile(rows, (-(-20_000 // len(rows)), 1))[:20_000]
    spent: dict = {"k_means": [], "tree": []}
    for _ in range(9):
        for what, model in (("k_means", means), ("tree", tree)):
            started = time.process_time()
            model.predict(rows)
            spent[what].append(time.process_time() - started)
    million = 1e6 / len(rows)
    found = {what: float(np.median(times)) * million for what, times in spent.items()}
    return {
        "k_means_assign": round(found["k_means"], 4),
        "tree_assign": round(found["tree"], 4),
        "times_as_fast": round(found["k_means"] / found["tree"], 2),
    }


def code(rank: int, seed: int, leaves: int, train: np.ndarray, test: np.ndarray) -> dict:
    """Leaves with codes beside k-means with principal components of the same number."""
    means = KMeans(leaves, n_init=1, random_state=seed).fit(train)
    nearest, misses = means.predict(test), 0.0
    for k in range(leaves):
        mine = train[means.labels_ == k]
        center = mine.mean(axis=0)
        basis = np.linalg.svd(mine - center, full_matrices=False)[2][:rank]
        away = test[nearest == k] - center
        misses += float(np.square(away).sum() - np.square(away @ basis.T).sum())
    started = time.process_time()
    coder = DGTAutoencoder(leaves, rank, random_state=seed).fit(train)
    seconds = time.process_time() - started
    error, local = coder.reconstruction_error(test), misses / len(test)
    return {
        "rows": len(train),
        "leaves": leaves,
        "rank": rank,
        "seed": seed,
        "local_pca": round(local, 4),
        "tree": round(error, 4),
        "ratio": round(error / local, 4),
        "depth": coder.get_depth(),
        "fit_seconds": round(seconds, 1),
    }


def append(path: Path, row: dict) -> None:
    """A line more, with a header where the file begins."""
    new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="*", type=int, default=(0, 1, 2))
    parser.add_argument("--balance", type=float, default=2.0)
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--autoencoder", action="store_true")
    parser.add_argument("--ranks", nargs="*", type=int, default=(2, 5, 10))
    parser.add_argument("--rows", type=int, help="training rows of MNIST, all by default")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    with threadpool_limits(1):
        if given.autoencoder:
            train, test = rows_of("mnist")
            for seed in given.seeds:
                for rank in given.ranks:
                    row = code(rank, seed, 64, train[: given.rows], test)
                    append(RESULTS / "clusters_codes.csv", row)
            return
        for seed in given.seeds:
            for name in given.sets:
                for clusters in given.sizes:
                    row = compare(name, clusters, seed, given.balance, given.starts)
                    append(RESULTS / "clusters.csv", row)


if __name__ == "__main__":
    main()
