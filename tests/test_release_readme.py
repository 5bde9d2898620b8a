"""README on PyPI, and one version everywhere."""

import re
from pathlib import Path

import pytest

import dgtrees

ROOT = Path(__file__).parents[1]
TEXT = "![a tree](docs/tree.png) [start](docs/start.md#keep-it) [cff](https://x.org) [up](#top)"


@pytest.fixture
def make_absolute():
    pytest.importorskip("hatchling", reason="the hook is hatchling's")
    from release.readme_hook import make_absolute

    return make_absolute


def test_links_lead_to_the_repository_at_the_tag_of_the_version(make_absolute):
    assert make_absolute(TEXT, "https://host/me/dgtrees/", "0.2.0") == (
        "![a tree](https://host/me/dgtrees/raw/v0.2.0/docs/tree.png) "
        "[start](https://host/me/dgtrees/blob/v0.2.0/docs/start.md#keep-it) "
        "[cff](https://x.org) [up](#top)"
    )


def test_without_a_repository_no_link_is_dead(make_absolute):
    assert make_absolute(TEXT, None, "0.2.0") == " start [cff](https://x.org) [up](#top)"
    readme = make_absolute((ROOT / "README.md").read_text(), None, "0.2.0")
    assert not re.findall(r"\]\((?!https?:|#)", readme)


def test_the_version_is_the_same_everywhere():
    version = re.escape(dgtrees.__version__)
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text()
    dated = re.search(rf"^## {version} - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE)
    assert f"date-released: {dated[1]}\n" in (ROOT / "CITATION.cff").read_text()
