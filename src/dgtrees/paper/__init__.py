"""Every table and figure of the paper: what is compared is declared, run once and recorded.

    dgt paper list                                            experiments, and how far they are
    dgt paper run --table 1 --dataset ailerons --seeds 10     runs what is missing
    dgt paper report                                          writes docs/paper.md and its figures

`experiments/*.toml` say what is compared. `experiment` turns them into cells, `work` runs one cell
(`supervised`, `streams`), `runner` runs many of them in processes of their own, and `report` with
`tables`, `figures` and `statistics` writes down what was recorded under `results`.
"""
