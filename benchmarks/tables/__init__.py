"""Our defaults beside other models on ordinary tables: `python -m benchmarks.tables --help`.

`suites` knows the tables, `protocol` splits, encodes and scores, `models` has the contestants,
`records` keeps one CSV file for each, `run` adds what is missing to them, `statistics`, `picture`
and `report` make a page of documentation out of them.
"""
