"""Tables as strangers bring them: `dgt fit` says in one line what is wrong and what to do next."""

import zipfile

import numpy as np
import pytest

from dgtrees.cli.app import run

ROWS = 120
RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 80, ROWS)
LABELS = np.where(AGES + RNG.normal(0, 9, ROWS) > 45, "yes", "no")


def lines(**columns):
    """CSV with ages, further columns, and labels."""
    named = {"age": AGES, **columns, "label": LABELS}
    rows = zip(*named.values(), strict=True)
    return "\n".join([",".join(named), *(",".join(map(str, row)) for row in rows)]) + "\n"


REFUSED = {
    "empty": ("", "must hold at least one row, got nothing: check the file"),
    "header": ("age,label\n", "must hold at least one row, got none"),
    "letter": ("Dear all,\n\nfigures attached. Yours,\nBob\n", "if this is a table"),
    "binary": (b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)), "--encoding latin-1"),
    "latin": ("age,label\n1,süß\n2,x\n".encode("latin-1"), "--encoding latin-1"),
    "ragged": ("age,label\n1,x\n2,y,3\n", "line 3, column 3: rows must have 2 fields"),
    "twice": ("age,age,label\n1,2,x\n3,4,y\n", "column names must differ, got 'age' twice"),
    "money": (lines(price=[f'"$1,{n:03}.00"' for n in range(ROWS)]), "--category price"),
    "gaps": (
        "age,label\n" + "1,x\n2,\n3,y\n4,\n" * 9,
        "got 18 missing values: leave such rows out",
    ),
    "one class": ("age,label\n" + "1,x\n2,x\n" * 9, "there is nothing to tell apart"),
    "one number": ("age,label\n" + "1,3.5\n2,3.5\n" * 30, "check --target"),
    "names": ("age,label\n" + "".join(f"1,n{k}\n" for k in range(60)), "classes must repeat"),
    "misspelt": ("age,lable\n1,x\n2,y\n", "did you mean 'lable'?"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_line_says_what_to_do(name, tmp_path, capsys):
    content, step = REFUSED[name]
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run(["fit", str(path), "-t", "label", "-o", str(tmp_path / "m.dgt")]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and step in err
    assert not (tmp_path / "m.dgt").exists()


USELESS = {
    "identifier": ({"uid": [f"{n * 7919:07x}" for n in range(ROWS)]}, "looks like identifiers"),
    "essay": (
        {"said": [f"it was good and cheap but late {n}" for n in range(ROWS)]},
        "looks like free text",
    ),
}


@pytest.mark.parametrize("name", USELESS)
def test_useless_columns_are_left_out_in_one_line(name, tmp_path, capsys):
    columns, reason = USELESS[name]
    path, out = tmp_path / "table.csv", tmp_path / "m.dgt"
    path.write_text(lines(**columns))
    arguments = ["fit", str(path), "-t", "label", "-o", str(out)]
    assert run([*arguments, "--strict"]) == 2 and not out.exists()
    refused = capsys.readouterr().err
    assert run([*arguments, "--max-depth", "2", "--max-epochs", "3"]) == 0
    told = capsys.readouterr().err
    assert refused.count("\n") == told.count("\n") == 1 and told.startswith("dgt: left out: ")
    assert reason in told and reason in refused and f"--drop {next(iter(columns))}" in refused


def test_spreadsheets_are_named(tmp_path, capsys):
    path = tmp_path / "sheet.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<a/>")
    assert run(["fit", str(path), "-t", "label"]) == 2
    assert "spreadsheets are not read: save it as CSV or Parquet" in capsys.readouterr().err


WELCOME = {
    "dates": {"joined": [f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(ROWS)]},
    "many categories": {"zip": [f"Z{n % 50}" for n in range(ROWS)]},
    "unicode": {"収入 (€)": range(ROWS, 0, -1)},
    "empty column": {"nothing": [""] * ROWS},
}


@pytest.mark.parametrize("name", WELCOME)
def test_these_are_learnt_from(name, tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text(lines(**WELCOME[name]))
    quick = ["--max-depth", "2", "--max-epochs", "3"]
    assert run(["fit", str(path), "-t", "label", "-o", str(tmp_path / "m.dgt"), *quick]) == 0
    assert "learnt from 120 rows, 2 columns, 2 classes" in capsys.readouterr().out
