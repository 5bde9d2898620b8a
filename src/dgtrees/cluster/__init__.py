"""One tree on many workers: Parquet files in shards, processes that train together, restarts."""
