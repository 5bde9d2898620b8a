"""Every table and figure of the paper: what is compared is declared, run once and recorded.

    dgt paper list                                            experiments, and how far they are
    dgt paper run --table 1 --dataset ailerons --seeds 10     runs what is missing
    dgt paper report                                          writes the page and its figures

Everything that exists because of the paper; only `cli` imports it. `catalog` has its data sets,
`baselines` the methods that it compares with, and `experiments/*.toml` say what is compared.
`experiment` turns these into cells, `work` runs one cell (`supervised`, `streams`), `runner` runs
many of them in processes of their own, and `report` with `report_tables`, `figures` and
`statistics` writes down what was recorded.
"""
