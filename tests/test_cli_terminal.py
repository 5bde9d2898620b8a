"""What `dgt` sends to a terminal: no traceback when interrupted, nothing that a terminal obeys."""

import csv
import io
import json
import os
import pty
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.cli.app import run
from dgtrees.cli.terminal import json_text, plain

# Sends this process a real SIGINT when a chosen module is about to be imported.
INTERRUPTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""
ESC, OVERRIDE = "\x1b[31m", "\u202e"
QUICK = ["--max-depth", "2", "--max-epochs", "2"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose names and labels hold control characters, and a model of it."""
    folder = tmp_path_factory.mktemp(f"folder{ESC}")
    rows = [[i, i % 7, f"yes{ESC}" if i % 3 else f"no{OVERRIDE}"] for i in range(60)]
    with open(folder / "t.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[f"a{ESC}", "b\x9b\x07", f"y{OVERRIDE}"], *rows])
    arguments = [folder / "t.csv", "-t", f"y{OVERRIDE}", "-o", folder / "m.dgt", "-q", *QUICK]
    assert dgt("fit", *arguments) == 0
    return folder


def dgt(*arguments) -> int:
    return run([str(argument) for argument in arguments])


def obeyed(text: str) -> set[str]:
    """Characters of a text that a terminal would act upon."""
    return {c for c in text if not c.isprintable() and c != "\n"}


@pytest.mark.parametrize("module", ["dgtrees.cli.app", "typer", "numpy", "dgtrees.tables.table"])
def test_an_interrupt_during_imports_is_one_line_and_130(module, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    done = subprocess.run(
        [sys.executable, "-m", "dgtrees.cli", "fit", tmp_path / "t.csv", "-t", "y"],
        env=os.environ | {"PYTHONPATH": path, "INTERRUPT_AT": module},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dgt: interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "{t}", "-t", f"y{OVERRIDE}", "-o", "{m}", *QUICK],
        ["fit", "{t}", "-o", "{m}"],
        ["fit", "{t}", "-t", "height", "-o", "{m}"],
        ["fit", "{t}", f"--{ESC}"],
        ["fit", "{t}", "-t", f"y{OVERRIDE}", "--leaf", f"{ESC}\x00"],
        ["predict", "{m}", "{t}", "-o", "{o}"],
        ["predict", "{m}", f"no such file{ESC}"],
        ["show", "{m}"],
        ["show", "{m}", "--json"],
        ["explain", "{m}", "{t}"],
        ["explain", "{m}", "{t}", "--json"],
        ["export", "{m}", "--to", "text"],
        ["data", "list", "--folder", f"{ESC}"],
        ["data", "fetch", f"{ESC}"],
        [f"{ESC}"],
    ],
)
def test_names_and_labels_cannot_command_a_terminal(arguments, hostile, tmp_path, capsys):
    names = {"t": hostile / "t.csv", "m": hostile / "m.dgt", "o": tmp_path / "out.csv"}
    dgt(*[argument.format(**names) for argument in arguments])
    captured = capsys.readouterr()
    assert captured.out + captured.err
    assert not obeyed(captured.out + captured.err)


def test_machines_get_the_data_as_it_is(hostile, tmp_path, capsys):
    table, model, out = hostile / "t.csv", hostile / "m.dgt", tmp_path / "out.csv"
    assert dgt("predict", model, table, "-o", out, "--proba", "-q") == 0
    assert dgt("predict", model, table, "--proba", "-q") == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")
    assert out.read_text().startswith(f"prediction,p_no{OVERRIDE},p_yes{ESC}\n")
    assert dgt("show", model, "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["columns"]) == [f"a{ESC}", "b\x9b\x07"]


def test_a_table_that_goes_to_a_terminal_is_plain(hostile):
    said = on_a_terminal(["predict", hostile / "m.dgt", hostile / "t.csv", "--proba"])
    assert "p_yes\\x1b[31m" in said and not obeyed(said.replace("\r\n", "\n"))


def test_the_bar_never_says_none(hostile, tmp_path):
    arguments = ["fit", hostile / "t.csv", "-t", "-1", "-o", tmp_path / "m.dgt", *QUICK]
    said = on_a_terminal(arguments)
    assert "starting" in said and "epoch 2/2" in said
    assert "None" not in said


def on_a_terminal(arguments) -> str:
    """What a command writes to the terminal it runs on."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dgtrees.cli", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "200", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 1 << 16):
            said += part
    except OSError:  # how Linux says that nobody is at the other end any more
        pass
    os.close(ours)
    assert process.wait() == 0
    return said.decode()


@given(st.text())
def test_plain_text_is_harmless_and_json_means_the_same(text):
    shown = plain(text)
    assert not {"\x00", "\x1b", "\r", "\x9b", "\u202e"} & set(shown)
    io.BytesIO().write(shown.encode())  # also without lone surrogates
    assert plain(shown) == shown
    assert json.loads(json_text([text, {text: 1}])) == [text, {text: 1}]
    assert not {"\x00", "\x1b", "\x9b", "\u202e"} & set(json_text(text))
