"""What pages say is what their examples say now, and so is what their pictures show."""

import re

import pytest
from docs.pages import (
    ARITHMETIC,
    ROOT,
    arithmetic,
    differences,
    fresh,
    pages,
    picture,
    statement_of,
    unrun,
)
from docs.refresh import LARGEST, with_old_seconds
from hypothesis import given
from hypothesis import strategies as st

DOCS = ROOT / "docs"
PICTURES = [path for folder in ("images", "gallery") for path in sorted((DOCS / folder).iterdir())]
WORDS = {"two": 2, "three": 3, "six": 6}
RUN = [  # pages that would use data sets may see them
    pytest.param(
        page, id=page.name, marks=[pytest.mark.data] * ("<!-- needs data" in page.read_text())
    )
    for page in pages()
]

# A figure of a page, the picture that shows the same tree, and where that states it.
STATED = [
    ("quickstart.md", r"with (\d+) leaves", "images/quickstart-tree.png", r"drawn: (\d+) leaves"),
    ("tables.md", r"with (\d+) leaves", "images/tables-tree.png", r": (\d+) leaves below"),
    ("tables.md", r"tree of depth (\d+)", "images/tables-tree.png", r"cut at depth \d of (\d+)"),
    ("tables.md", r"show model.dgt --depth (\d+)", "images/tables-tree.png", r"(\d+) levels"),
    ("explain.md", r"leaf \d+ of (\d+)", "gallery/tree.png", r"drawn: (\d+) leaves"),
]


# SHAP 0.51 calls what matplotlib 3.11 is about to deprecate.
@pytest.mark.filterwarnings("ignore:The set_.* function will:PendingDeprecationWarning")
@pytest.mark.parametrize("page", RUN)
def test_a_page_and_its_pictures_say_what_the_examples_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, stated = fresh(page)
    wrong = differences(page.read_text(), text)
    for name, statement in stated.items():
        wrong += differences(statement_of(picture(page, name)), statement)
    if wrong and arithmetic() not in ARITHMETIC.read_text().split():
        pytest.skip(f"{page.name} was written by a machine that rounds differently from this one")
    assert not wrong, "\n".join(["run make refresh:", *wrong])


def test_blocks_that_are_not_run_are_these():
    assert {page.name: reasons for page in pages() if (reasons := unrun(page))} == {
        "distributed.md": ["two workers take two minutes", "starts two workers"],
        "scaling.md": ["starts a Ray cluster"],
    }


@pytest.mark.parametrize(("page", "said", "shown", "stated"), STATED)
def test_pictures_show_the_trees_that_pages_speak_of(page, said, shown, stated):
    figure = re.search(said, (DOCS / page).read_text())[1]
    assert int(figure) == int(re.search(stated, statement_of(DOCS / shown))[1])


@pytest.mark.parametrize("name", ["tree", "tree-six"])
def test_trees_of_the_gallery_have_no_more_levels_than_it_says(name):
    path = DOCS / "gallery" / f"{name}.png"
    said = re.search(rf"(\w+) levels\]\(gallery/{name}.png", (DOCS / "gallery.md").read_text())[1]
    # Decisions that send all training rows one way are not drawn.
    assert 1 < int(re.search(r"(\d+) levels", statement_of(path))[1]) <= WORDS[said]


def test_the_oblique_tree_of_the_first_picture_is_small_and_right():
    found = re.findall(
        r"(\d+) leaves, (\d+)% right", statement_of(DOCS / "gallery" / "regions.png")
    )
    (stairs, cart), (leaves, oblique) = ([int(n) for n in pair] for pair in found)
    assert leaves * 4 <= stairs and oblique > cart
    alt = re.search(r"!\[(.*)\]\(docs/gallery/regions.png\)", (ROOT / "README.md").read_text())[1]
    assert re.findall(r"\d+", alt) == [str(n) for n in (600, stairs, cart, leaves, oblique)]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_pictures_are_small_shown_and_state_something(path):
    assert path.stat().st_size <= LARGEST
    assert statement_of(path)
    assert any(f"]({path.relative_to(DOCS)})" in page.read_text() for page in pages())


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_nodes_that_a_page_speaks_of_are_shown_above(page):
    parts = re.split(r"node (\d+)\s+above", page.read_text())
    for before, number in zip(parts[::2], parts[1::2], strict=False):
        assert f"\nnode {number}: " in before, f"node {number}"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("learnt from 1,200 rows in 20.2 s", "learnt from 1,200 rows in 3 s"),
        ("accuracy 0.944 with 5 leaves", "accuracy 0.945 with 5 leaves"),
        ("[60. 30.]", "[60. 30.]"),
        ("97% benign", "98% benign"),
        ("to 3e-16", "to 2e-16"),
        ("a   1.234", "a 1.235"),
    ],
)
def test_seconds_spaces_and_rounding_do_not_count(said, found):
    assert not differences(said, found)
    assert not differences(found, said)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("accuracy 0.944 with 5 leaves", "accuracy 0.944 with 6 leaves"),
        ("accuracy 0.944", "accuracy 0.92"),
        ("1,buys,0.94084454266208895", "1,buys,0.92782856233550581"),
        ("1,200 rows", "1,201 rows"),
        ("97% benign", "97% malignant"),
        ("97% benign", "95% benign"),
        ("0 0\n41 41", "0 0\n46 46"),
        ("to 3e-16", "to 3e-10"),
        ("-1.5", "1.5"),
        ("one\ntwo", "one"),
    ],
)
def test_everything_else_counts(said, found):
    assert differences(said, found)
    assert differences(found, said)


@given(st.text())
def test_any_text_is_like_itself_and_unlike_itself_with_a_word_more(text):
    assert not differences(text, text)
    assert differences(text, f"{text}word")
    assert with_old_seconds(text, text) == text


def test_seconds_stay_where_nothing_else_changes():
    said = "learnt from 9 rows in 20.2 s\naccuracy 0.5"
    assert with_old_seconds(said, said.replace("20.2", "3").replace("0.5", "0.6")) == (
        "learnt from 9 rows in 20.2 s\naccuracy 0.6"
    )


def test_arithmetic_is_the_same_every_time():
    assert arithmetic() == arithmetic()


def test_the_page_on_speed_agrees_with_itself_where_nothing_is_timed():
    page = (DOCS / "speed.md").read_text()
    bandwidth = float(re.search(r"against copying at ([\d.]+) GB/s", page)[1])
    row = r"│ d=(\d+), (\d+) trees?(, float32)? +│ +(\S+) │ +(\S+) │ +(\S+) │ +(\S+) │"
    found = re.findall(row, page)
    assert len(found) == 12
    for d, trees, narrow, took, touched, times, least in found:
        row_bytes = int(d) * (4 if narrow else 8)
        kilobytes = (row_bytes + 8 * 8 * int(trees) * (int(d) + 1)) / 1e3
        floor = (row_bytes + 8 * 255 * int(trees) * int(d) / 10_000) / 1e3
        assert (touched, least) == (f"{kilobytes:.1f}", f"{floor:.2f}")
        assert float(times) == pytest.approx(float(took) * bandwidth / kilobytes, rel=0.02)
