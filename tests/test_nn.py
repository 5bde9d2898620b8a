"""The room itself: what it offers, and what it says without torch."""

import subprocess
import sys

import dgtrees.nn


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_its_names():
    assert set(dgtrees.nn.__all__) <= set(dir(dgtrees.nn))
    assert all(hasattr(dgtrees.nn, name) for name in dgtrees.nn.__all__)
    assert not hasattr(dgtrees.nn, "Nothing")


def test_importing_it_does_not_import_torch():
    done = run("import sys, dgtrees.nn; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_torch_it_says_what_to_install():
    done = run("import sys; sys.modules['torch'] = None\nfrom dgtrees.nn import TrainableTree")
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        'ImportError: dgtrees.nn needs torch, which is not installed: pip install "dgtrees[torch]"'
    )
