"""The table of docs/bandits.md from the records of `benchmarks.bandit_peers`, and its sums.

Of bayesianbandits there are records of three data sets; the page has them in its text.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

__all__ = ["write_table"]

TITLES = {
    "letter": "Letter", "pendigits": "PenDigits", "satimage": "SatImage", "segment": "Segment",
    "connect4": "Connect4", "covtype": "covtype", "mnist": "MNIST",
}  # fmt: skip
COLUMNS = {
    "ours": "`DGTBandit()`",
    "linucb": "LinUCB",
    "untuned linucb": "untuned",
    "quadratic linucb": "quadratic LinUCB",
    "vw": "VW",
}
MEASURES = ("held_out", "progressive")
_EARLY = 10_000
_LEVEL = 2.0  # standard errors of the difference, seeds paired

Figures = dict[tuple[str, int, str], dict[int, tuple[float, float]]]


def write_table(records: list[dict[str, str]]) -> str:
    """A row per data set and number of answers, and how often ours is level with the best peer."""
    found: Figures = defaultdict(dict)
    for line in records:
        key = line["data"], int(line["queries"]), line["peer"]
        held, progressive = (float(line[measure]) for measure in MEASURES)
        found[key][int(line["seed"])] = held, progressive
    peers = [peer for peer in COLUMNS if any(peer == key[2] for key in found)]
    lines = [
        "| data | answers | " + " | ".join(COLUMNS[peer] for peer in peers) + " |",
        "|---|---|" + "---|" * len(peers),
    ]
    counted = {True: np.zeros(3, dtype=int), False: np.zeros(3, dtype=int)}
    for data, title in TITLES.items():
        for queries in sorted({key[1] for key in found if key[0] == data}):
            row = {peer: found.get((data, queries, peer), {}) for peer in peers}
            if not row["ours"]:
                continue
            told = [_cell(peer, row) for peer in peers]
            lines.append(f"| {title} | after {queries:,} | " + " | ".join(told) + " |")
            if any(row[peer] for peer in peers if peer != "ours"):
                counted[queries <= _EARLY] += _judge(row)
    for early, (ahead, level, cells) in counted.items():
        which = f"up to {_EARLY:,} answers" if early else "further on"
        lines.append(f"\n{which}: {ahead} of {cells} cells ahead, {level} level, of the best peer")
    return "\n".join(lines)


def _mean(seeds: dict[int, tuple[float, float]], measure: int) -> float:
    return float(np.mean([figures[measure] for figures in seeds.values()]))


def _cell(peer: str, row: dict[str, dict[int, tuple[float, float]]]) -> str:
    """Held-out accuracy and, in brackets, that while learning; the best of a row is bold."""
    if not row[peer]:
        return "-"
    parts = []
    for measure in range(2):
        values = {name: round(_mean(seeds, measure), 1) for name, seeds in row.items() if seeds}
        text = f"{values[peer]:.1f}"
        bold = len(values) > 1 and values[peer] == max(values.values())
        parts.append(f"**{text}**" if bold else text)
    few = "" if len(row[peer]) == len(row["ours"]) else f", seeds: {len(row[peer])}"
    return f"{parts[0]} ({parts[1]}{few})"


def _judge(row: dict[str, dict[int, tuple[float, float]]]) -> np.ndarray:
    """Cells in which ours is ahead of every peer, those where it is level besides, and all."""
    counts = np.zeros(3, dtype=int)
    for measure in range(2):
        counts[2] += 1
        ours = row["ours"]
        peer = max(
            (name for name in row if name != "ours" and row[name]),
            key=lambda name: _mean(row[name], measure),
        )
        if _mean(ours, measure) >= _mean(row[peer], measure):
            counts[0] += 1
            continue
        shared = sorted(ours.keys() & row[peer].keys())
        gaps = np.array([row[peer][seed][measure] - ours[seed][measure] for seed in shared])
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        counts[1] += bool(gaps.mean() <= _LEVEL * error)
    return counts
