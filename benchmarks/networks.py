"""A small convolutional stem with one hard tree on top, and with a linear layer in its place.

    DGTREES_DATA=... python -m benchmarks.networks mnist --seeds 0 1 2 --test --keep folder/
    python -m benchmarks.networks mnist --draw folder/ --picture docs/comparison/mnist-nodes.png
    python -m benchmarks.networks digits --heads tree linear --seeds 0 1 2 3 4 --test
    python -m benchmarks.networks digits --heads sloped-tree linear --epochs 80 --seeds 0 1 2 --test

A "sloped-tree" has height 2 and linear leaves. While a tree is trained, a linear layer beside it
teaches the stem as well; it is left out of the finished network. Lines go to
benchmarks/results/networks.csv. MNIST's validation rows are 12,000 of its training part, those of
digits (scikit-learn's, of which the seed chooses 30 % to test) a fifth of the training rows, which
train too with --test. With --keep the parts of a network are kept: the stem's parameters as
`stem-SEED.pt`, the tree as `tree-SEED.dgt`.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

import dgtrees
from dgtrees.model.plot import plot_node_examples
from dgtrees.nn import TrainableTree, fit_network
from dgtrees.paper import catalog

RESULTS = Path(__file__).parent / "results" / "networks.csv"
FIELDS = ("data", "head", "seed", "epochs", "rows", "accuracy", "cpu_seconds")


@dataclass(frozen=True)
class Setting:
    """What a data set's network looks like and how it is trained.

    `help` is the weight of the linear layer's loss, `noise` the deviation of what is added to the
    tree's inputs, which have deviation 1.
    """

    side: int
    channels: int
    parts: int
    height: int
    epochs: int
    batch: int
    shift: int
    help: float
    noise: float


SETTINGS = {
    "mnist": Setting(
        28, channels=16, parts=32, height=8, epochs=20, batch=128, shift=2, help=1.0, noise=0.0
    ),
    "digits": Setting(
        8, channels=16, parts=16, height=6, epochs=40, batch=64, shift=1, help=3.0, noise=1.0
    ),
}


def make_tree(head: str, setting: Setting) -> TrainableTree:
    """The tree of a head."""
    if head == "sloped-tree":
        return TrainableTree(setting.parts, 10, 2, leaf="linear")
    return TrainableTree(setting.parts, 10, setting.height)


def make_stem(setting: Setting) -> nn.Sequential:
    """Images (rows, 1, side, side) to parts (rows, parts) of about unit size."""

    def layer(given: int, made: int, size: int, stride: int) -> list[nn.Module]:
        convolution = nn.Conv2d(given, made, size, stride, padding=size // 2, bias=False)
        return [convolution, nn.BatchNorm2d(made), nn.ReLU()]

    few, many = setting.channels, 2 * setting.channels
    halvings = 2 if setting.side > 8 else 1
    left = setting.side // 2**halvings
    return nn.Sequential(
        *layer(1, few, 5 if halvings == 2 else 3, halvings),
        *layer(few, many, 3, 2),
        *layer(many, many, 3, 1),
        nn.Flatten(),
        nn.Linear(many * left**2, setting.parts, bias=False),
        nn.BatchNorm1d(setting.parts),
    )


class Shifted:
    """Batches of images, each moved by up to `shift` pixels both ways, in new order every time."""

    def __init__(self, X: Tensor, y: Tensor, setting: Setting, seed: int) -> None:
        self.X, self.y, self.setting = X, y, setting
        self.random = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return -(-len(self.X) // self.setting.batch)

    def __iter__(self):
        for rows in torch.randperm(len(self.X), generator=self.random).split(self.setting.batch):
            yield self._moved(self.X[rows]), self.y[rows]

    def _moved(self, images: Tensor) -> Tensor:
        by, side = self.setting.shift, torch.arange(self.setting.side)
        edge = float(images.min())
        wide = nn.functional.pad(images[:, 0], (by,) * 4, value=edge)
        down, across = torch.randint(0, 2 * by + 1, (2, len(images), 1), generator=self.random)
        every = torch.arange(len(images))[:, None, None]
        moved = wide[every, (down + side)[:, :, None], (across + side)[:, None, :]]
        return moved[:, None].contiguous(memory_format=torch.channels_last)


Rows = tuple[Tensor, Tensor]


def load(data: str, seed: int, test: bool) -> tuple[Rows, dict[str, Rows]]:
    """Images and classes to train with, and to judge by; mean 0 and deviation 1 over all pixels."""
    judged = {}
    if data == "mnist":
        parts = catalog.load("mnist")
        X, y = parts.X_train, parts.y_train
        judged["validation"] = parts.X_val, parts.y_val
        if test:
            judged["test"] = parts.X_test, parts.y_test
    else:
        X, y = load_digits(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        judged["test"] = X_test, y_test
        if not test:
            X, X_val, y, y_val = train_test_split(X, y, test_size=0.2, random_state=seed)
            judged = {"validation": (X_val, y_val)}
    mean, deviation = float(X.mean()), float(X.std())
    side = SETTINGS[data].side

    def tensors(rows: np.ndarray, labels: np.ndarray) -> Rows:
        # MNIST's last four pixels, always blank, are not in the table.
        full = np.pad(rows, ((0, 0), (0, side * side - rows.shape[1]))).astype(np.float32)
        scaled = torch.from_numpy((full - mean) / deviation).reshape(-1, 1, side, side)
        images = scaled.contiguous(memory_format=torch.channels_last)
        return images, torch.from_numpy(np.asarray(labels).astype(np.int64))

    return tensors(X, y), {name: tensors(*rows) for name, rows in judged.items()}


class Helped(nn.Module):
    """A stem with a tree, and a linear layer that only teaches the stem."""

    def __init__(self, stem: nn.Module, tree: TrainableTree, noise: float) -> None:
        super().__init__()
        self.stem, self.tree, self.noise = stem, tree, noise
        self.helper = nn.Linear(tree.in_features, tree.out_features)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        parts = self.stem(images)
        helped = self.helper(parts)
        if self.noise and self.training:
            parts = parts + self.noise * torch.randn_like(parts)
        return self.tree(parts), helped


def fit_linear(network: nn.Module, batches: Shifted, loss, epochs: int) -> None:
    """The same optimiser and schedule for a network without a tree."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(batches))
    network.train()
    for _ in range(epochs):
        for X, y in batches:
            objective = loss(network(X), y)
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
            schedule.step()
    network.eval()


def run(
    data: str, head: str, seed: int, test: bool, epochs: int | None, keep: Path | None
) -> list[dict]:
    """Train one network and judge it; the CPU seconds are those of training, over all threads."""
    setting = SETTINGS[data]
    (X, y), judged = load(data, seed, test)
    torch.manual_seed(seed)
    stem = make_stem(setting).to(memory_format=torch.channels_last)
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    batches = Shifted(X, y, setting, seed)
    epochs = epochs or setting.epochs
    started = time.process_time()
    if head != "linear":
        tree = make_tree(head, setting)
        fit_network(
            Helped(stem, tree, setting.noise),
            batches,
            lambda outputs, y: loss(outputs[0], y) + setting.help * loss(outputs[1], y),
            epochs=epochs,
            callbacks=[_tell],
        )
        spent = time.process_time() - started
        model = tree.harden(classes=range(10))
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            torch.save(stem.state_dict(), keep / f"stem-{seed}.pt")
            model.save(keep / f"tree-{seed}.dgt")
    else:
        top = nn.Linear(setting.parts, 10)
        fit_linear(nn.Sequential(stem, top), batches, loss, epochs)
        spent = time.process_time() - started
    found = []
    for name, (images, labels) in judged.items():
        with torch.no_grad():
            parts = torch.cat([stem(some) for some in images.split(1000)])
            # The tree alone, as it is served.
            chosen = top(parts).argmax(1) if head == "linear" else model.predict(parts.numpy())
            guess = np.asarray(chosen)
        right = float(np.mean(guess == labels.numpy()))
        values = data, head, seed, epochs, name, round(right, 5), round(spent, 1)
        found.append(dict(zip(FIELDS, values, strict=True)))
    return found


def _tell(epoch: int, epochs: int, metrics: dict[str, float]) -> None:
    if epoch % 5 == 0:
        print(f"epoch {epoch} of {epochs}: loss {metrics['loss']:.4f}", flush=True)


def draw(data: str, seed: int, folder: Path, path: Path) -> None:
    """What the upper nodes of a network that was kept see, by rows of the training part."""
    import matplotlib as mpl

    mpl.use("Agg")
    (X, _), _ = load(data, seed, test=False)
    stem = make_stem(SETTINGS[data])
    stem.load_state_dict(torch.load(folder / f"stem-{seed}.pt", weights_only=True))
    stem.eval()
    with torch.no_grad():
        parts = stem(X[:2000]).numpy()
    model = dgtrees.load(folder / f"tree-{seed}.dgt")
    ax = plot_node_examples(model, parts, X[:2000, 0].numpy(), each=7)
    ax.figure.savefig(path, dpi=100)


def record(found: dict) -> None:
    """Add a line to the results."""
    begun = RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not begun:
            writer.writeheader()
        writer.writerow(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=SETTINGS)
    parser.add_argument(
        "--heads", nargs="+", default=["tree"], choices=["tree", "sloped-tree", "linear"]
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--test", action="store_true", help="judge by test rows: once, at the end")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--draw", type=Path, help="a folder that --keep has filled")
    parser.add_argument("--picture", type=Path, default=Path("nodes.png"))
    told = parser.parse_args()
    torch.set_num_threads(1)
    if told.draw:
        draw(told.data, told.seeds[0], told.draw, told.picture)
        return
    accuracies: dict[str, list[float]] = {head: [] for head in told.heads}
    for seed in told.seeds:
        for head in told.heads:
            found = run(told.data, head, seed, told.test, told.epochs, told.keep)
            print(*found, sep="\n", flush=True)
            if told.test or not told.epochs:  # of a look before the real run nothing is kept
                for line in found:
                    record(line)
            accuracies[head].append(100 * found[-1]["accuracy"])
    for head, found in accuracies.items():
        deviation = np.std(found, ddof=1) if len(found) > 1 else 0.0
        print(f"{told.data}, {head}: {np.mean(found):.2f} +- {deviation:.2f} %")


if __name__ == "__main__":
    main()
