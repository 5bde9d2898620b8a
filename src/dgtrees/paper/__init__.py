"""Every table and figure of the paper: what is compared is declared, run once and recorded.

    dgt paper list                                            experiments, and how far they are
    dgt paper run --table 1 --dataset ailerons --seeds 10     runs what is missing
    dgt paper report                                          writes the page and its figures

Everything that exists because of the paper; only `cli` imports it. `data_sets.toml` lists its data
sets, which `catalog` fetches and loads; `baselines` are the methods that it compares with, and
`experiments/*.toml` declare what is compared. `experiment` reads these, `cells` turns them into
runs, `work` runs one (`supervised`, `streams`), `runner` many of them in processes of their own,
and `report` with `report_tables`, `figures` and `statistics` shows what was recorded.
"""
