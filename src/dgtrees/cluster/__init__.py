"""One tree on many workers: Parquet files in shards, processes that train together, restarts."""

from importlib.util import find_spec

if find_spec("torch") is None:  # whose process groups the workers are
    raise ImportError(
        "dgtrees.cluster (fit_shards) needs torch, which is not installed: pip install "
        '"dgtrees[torch]"',
        name="torch",
    )
