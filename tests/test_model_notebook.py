"""notebook: HTML of models, explanations and decisions; what comes from a table is escaped."""

import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dgtrees import DGTBandit, DGTClassifier, DGTForestClassifier, explain
from dgtrees.bandit.decision import Decision
from dgtrees.model.notebook import html_table, model_html

X, y = load_iris(return_X_y=True)
NASTY = "<script>alert('x')</script>"


class Tags(HTMLParser):
    """Opened and closed tags, which must match; void ones apart."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def clf():
    names = pd.DataFrame(X, columns=[NASTY, "b & c", "d", "e"])
    return DGTClassifier(max_depth=2, max_epochs=3, random_state=0).fit(names, y)


def test_a_tree_is_drawn_once(clf):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    text = clf.model_._repr_html_()
    assert plt.get_fignums() == before
    assert Tags(text).seen.count("svg") == 1
    assert "DGTClassifier, classification: 0, 1, 2" in text and NASTY not in text


def test_without_matplotlib_rules_are_shown(clf, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    text = model_html(clf.model_)
    assert "pre" in Tags(text).seen and "svg" not in text and NASTY not in text
    assert "&lt;script&gt;" in text


def test_forests_are_summed_up():
    forest = DGTForestClassifier(2, max_depth=2, max_epochs=1, random_state=0).fit(X, y)
    assert Tags(forest.model_._repr_html_()).seen == ["p", "b", "br", "br"]


def test_explanations_have_a_line_per_decision(clf):
    names = pd.DataFrame(X, columns=[NASTY, "b & c", "d", "e"])
    found = explain(clf, names.iloc[0])
    text = found._repr_html_()
    assert Tags(text).seen.count("tr") == 1 + len(found.steps)
    assert NASTY not in text and "b &amp; c" in text


def test_decisions_show_all_chances():
    policy = DGTBandit(actions=["a", NASTY], max_depth=2, leaf="constant", random_state=0)
    decision = policy.decide(np.zeros(2))
    text = decision._repr_html_()
    assert Tags(text).seen.count("tr") == 3 and "taken" in text and NASTY not in text
    assert Tags(Decision(2, 0.8)._repr_html_()).seen.count("tr") == 2


def test_a_table_without_rows():
    assert Tags(html_table(["a"], [])).seen == ["table", "thead", "tr", "th", "tbody"]
