"""The documentation in a real browser: it fits a phone, nothing is missing, search finds words.

Needs Chromium (`apt-get install chromium`). DGTREES_SCREENSHOTS names a folder for
pictures to look at.
"""

import html.parser
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from browser import Browser, find_browser, serving

ROOT = Path(__file__).parents[1]
PHONE, DESKTOP = 390, 1280
FRONT = ["", "first_five_minutes/", "quickstart/", "reference/estimators/", "comparison/", "paper/"]
SEARCHED = {
    "early stopping": "questions/#early-stopping",
    "categories": "questions/#categories-text-dates-and-missing-values",
    "imbalance": "questions/#imbalanced-classes",
    "GPU": "questions/#gpu",
    "monotone": "questions/#monotone-predictions",
    "calibration": "questions/#calibrated-probabilities",
    "drift": "questions/#drift",
    "deployment": "questions/#deployment",
    "citing": "questions/#citing-dgtrees",
}
FOUND = 8
"""Results that somebody looks at."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="builds the documentation")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def address(site):
    with serving(site) as found:
        yield found


@pytest.fixture
def page(tmp_path):
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    opened = Browser(program, tmp_path)
    yield opened
    opened.close()


class Links(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets += [found[key] for key in ("href", "src") if found.get(key)]


def test_links_and_pictures_lead_somewhere(site):
    pages = {path: Links(path) for path in site.rglob("*.html")}
    wrong = []
    for path, links in pages.items():
        here = "http://site/" + str(path.relative_to(site)).removesuffix("index.html")
        for target in links.targets if path.name != "404.html" else ():
            to = urlsplit(urljoin(here, target))
            if to.netloc != "site" or to.scheme != "http":
                continue
            file = site / unquote(to.path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            known = pages[file].names if file in pages else set()
            if not file.is_file() or (to.fragment and unquote(to.fragment) not in known):
                wrong.append(f"{path.relative_to(site)}: {target}")
    assert len(pages) > 40 and not wrong, wrong


def test_every_page_fits_a_phone_and_asks_nobody_else(site, address, page):
    wide, broken = [], []
    for path in sorted(site.rglob("index.html")):
        where = str(path.parent.relative_to(site)).removeprefix(".")
        page.show(f"{address}/{where}", PHONE, 844)
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(where)
        pictures = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        broken += page.evaluate(pictures)
    assert not wide and not broken and not page.complaints, (wide, broken, page.complaints)
    others = [url for url in page.requests if not url.startswith((address, "data:"))]
    assert not others


def test_pages_that_people_see_first_work_on_both_screens(address, page):
    folder = os.environ.get("DGTREES_SCREENSHOTS")
    for where in FRONT:
        for width in (DESKTOP, PHONE):
            page.show(f"{address}/{where}", width, 900)
            assert page.evaluate("document.querySelector('h1').innerText").strip("¶ ")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if folder:
                name = where.strip("/").replace("/", "-") or "home"
                page.photograph(Path(folder, f"{name}-{width}.png"))
    assert not page.complaints


SEARCH = """
new Promise((resolve, reject) => {
  document.querySelector("label[for=__search]").click();
  const box = document.querySelector("input.md-search__input");
  box.focus();
  box.value = %s;
  box.dispatchEvent(new Event("input", {bubbles: true}));
  box.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
  const started = Date.now();
  const look = () => {
    const links = [...document.querySelectorAll("a.md-search-result__link")];
    if (links.length) resolve(links.map(link => link.href));
    else if (Date.now() - started > 20000) resolve([]);
    else setTimeout(look, 100);
  };
  setTimeout(look, 300);
})
"""


@pytest.mark.parametrize("word", SEARCHED)
def test_search_finds(word, address, page):
    page.show(f"{address}/", DESKTOP)
    links = page.evaluate(SEARCH % json.dumps(word))
    found = [link.removeprefix(f"{address}/").partition("?")[0] for link in links]
    anchors = [urlsplit(link).fragment for link in links]
    seen = [f"{where.partition('#')[0]}#{name}" for where, name in zip(found, anchors, strict=True)]
    assert SEARCHED[word] in seen[:FOUND], seen[:FOUND]
