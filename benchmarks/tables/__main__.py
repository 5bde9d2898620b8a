"""Our models beside others on ordinary tables.

    python -m benchmarks.tables run                  what has no record yet, 5 seeds, 43 tables
    python -m benchmarks.tables run --suite raw --seeds 3
    python -m benchmarks.tables run --suite teaching --seeds 2     tables of three pip packages
    python -m benchmarks.tables run --models dgt-linear,forest --only car,yeast
    python -m benchmarks.tables report               docs/comparison.md, from the records

One thread. A run may be stopped and started again; records of ours that another recipe has made are
made anew.
"""

from __future__ import annotations

import os

# Before anything loads a library that starts threads: CPU seconds of one thread are compared.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

from benchmarks.tables.command import main

if __name__ == "__main__":
    raise SystemExit(main())
