"""The documentation's claims: code on the first screen runs, names exist, links lead somewhere."""

import re
from pathlib import Path

import pytest

import dgtrees

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_are_python(page):
    for code in blocks(page, "python"):
        compile(code, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", page.read_text()):
        made_of = re.fullmatch(r"notebooks/(\w+)\.md", target)  # when the site is built
        source = f"../examples/{made_of[1]}.ipynb" if made_of else target
        assert (page.parent / source).exists(), target


def test_public_names_exist():
    for name in dgtrees.__all__:
        assert getattr(dgtrees, name).__doc__
    assert set(dgtrees.__all__) <= set(dir(dgtrees))
    with pytest.raises(AttributeError, match="no attribute 'DGTNothing'"):
        dgtrees.DGTNothing  # noqa: B018


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^make (\w+)", page.read_text(), flags=re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), (page.name, target)
