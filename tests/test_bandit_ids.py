"""Ids: unique, ascending, readable; and the memory of those that were answered."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.ids import IdMaker, read_id, time_of
from dgtrees.bandit.recent import MOST, Recent, key_of


def test_ids_ascend_and_tell_the_time():
    maker = IdMaker()
    before = time.time()
    made = [maker.make(number) for number in range(1, 2000)]
    assert made == sorted(made) and len(set(made)) == len(made)
    assert all(before - 0.01 <= time_of(id) <= time.time() + 0.01 for id in made)
    assert [read_id(id) & 0xFFFF_FFFF for id in made] == list(range(1, 2000))


def test_a_clock_that_goes_back_does_not_matter(monkeypatch):
    maker = IdMaker()
    first = maker.make(1)
    monkeypatch.setattr(time, "time_ns", lambda: 10**15)
    assert maker.make(2) > first


def test_no_two_makers_share_an_id():
    ids, lock = [], threading.Lock()

    def work():
        maker = IdMaker()
        made = [maker.make(number) for number in range(500)]
        with lock:
            ids.extend(made)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 8 * 500


@pytest.mark.parametrize(
    "text", ["", "1", "U" * 26, "8" + "0" * 25, "0" * 27, 3, None, "0" * 25 + "i"]
)
def test_other_text_is_no_id(text):
    with pytest.raises(ValueError, match="an id must be 26 characters"):
        read_id(text)


@given(st.lists(st.integers(0, 2**128 - 1), max_size=40))
def test_the_memory_survives_a_file(keys):
    recent = Recent()
    for key in keys:
        recent.add(key)
    words = recent.to_array()
    assert words.dtype == np.int32 and words.shape == (len(set(keys)), 4)
    twin = Recent.from_array(words)
    assert list(twin._seen) == list(recent._seen)


def test_the_memory_is_bounded():
    recent = Recent(most=100)
    for key in range(1000):
        recent.add(key)
    assert len(recent) == 100 and 900 in recent and 899 not in recent
    for bad in (
        np.zeros((2, 3), np.int32),
        np.zeros(4, np.int32),
        np.zeros((MOST + 1, 4), np.int32),
    ):
        with pytest.raises(ValueError, match="recent ids must be at most"):
            Recent.from_array(bad)


def test_keys():
    id = IdMaker().make(1)
    assert key_of("") is None and key_of(id) == read_id(id)
    assert len({key_of(id), key_of(id, "a"), key_of(id, "b")}) == 3
