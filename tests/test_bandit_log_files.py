"""Decision logs: written by many, killed at any moment, read by one."""

import gzip
import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit import Decision, LogWriter, SlateDecision, read_decisions
from dgtrees.bandit.ids import IdMaker
from dgtrees.errors import DataError

MAKER = IdMaker()
CELLS = st.one_of(st.none(), st.booleans(), st.floats(-1e9, 1e9), st.integers(0, 9))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
CONTEXTS = st.dictionaries(TEXTS, st.one_of(CELLS, TEXTS), max_size=3)


def decision(action="mail", number=1, **more):
    chances = {"mail": 0.25, "gift": 0.75}
    return Decision(action, chances.get(action, 0.5), "a" * 32, number, MAKER.make(number), chances)


def logged(path, *events):
    with LogWriter(path) as log:
        for event in events:
            log.write(*event)
    return read_decisions(path)


@given(st.lists(st.tuples(CONTEXTS, st.floats(-1e12, 1e12), st.booleans()), max_size=8))
def test_what_is_written_is_read(tmp_path_factory, events):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    late, wanted = [], []
    with LogWriter(path) as log:
        for number, (context, loss, at_once) in enumerate(events):
            taken = decision(number=number)
            log.write(context, taken, *([loss] if at_once else []))
            (wanted if at_once else late).append((taken.id, loss))
        for id, loss in reversed(late):
            log.write_loss(id, loss)
    read = read_decisions(path)
    assert [(answer.id, answer.loss) for answer in read] == wanted + late[::-1]
    assert not any(read.left_out.values())


@given(st.integers(0, 400))
def test_a_log_that_is_cut_anywhere_has_whole_answers(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    events = [({"age": 31.5, "city": "Pün"}, decision(number=k), 0.1 * k) for k in range(3)]
    whole = logged(path, *events)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - cut])
    read = read_decisions(path)
    kept = data[: len(data) - cut].count(b"\n")
    assert [a.id for a in read] == [a.id for a in whole][:kept]
    ended = not path.read_bytes() or path.read_bytes().endswith(b"\n")
    assert read.left_out["cut"] == (not ended)
    with LogWriter(path) as log:  # goes on after the cut
        log.write({"age": 1}, decision(number=9), 0.5)
        log.write({"age": 2}, decision(number=10), 0.5)
    again = read_decisions(path)
    assert len(again) == kept + 2 and again.left_out["cut"] == (not ended)


KILLED = """
import sys
from dgtrees.bandit import Decision, LogWriter
from dgtrees.bandit.ids import IdMaker
ids = IdMaker()
with LogWriter(sys.argv[1]) as log:
    number = 0
    while True:
        number += 1
        made = Decision("mail", 0.5, "a" * 32, number, ids.make(number), {"mail": 0.5, "gift": 0.5})
        cells = {"text": "x" * 3000, "number": number, "writer": sys.argv[2]}
        log.write(cells, made, loss=float(number))
        print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is for POSIX")
def test_kill_9_loses_no_line_that_was_written(tmp_path):
    path, done = tmp_path / "log.jsonl", {}
    for round_ in range(3):
        writers = {}
        for name in (f"{round_}a", f"{round_}b"):
            command = [sys.executable, "-c", KILLED, str(path), name]
            writers[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        told = {name: w.stdout.readline() for name, w in writers.items()}  # both have begun
        time.sleep(0.05 * round_)
        for writer in writers.values():
            os.kill(writer.pid, signal.SIGKILL)
        for name, writer in writers.items():
            whole = (told[name] + writer.stdout.read()).rpartition("\n")[0].split()
            done[name] = int(whole[-1])
            writer.stdout.close()
            writer.wait()
        read = read_decisions(path)
        assert read.left_out["cut"] <= 2 * (round_ + 1)
        assert all(answer.loss == answer.context["number"] for answer in read)
        for name, last in done.items():
            found = {a.loss for a in read if a.context["writer"] == name}
            assert found >= set(range(1, last + 1))


def test_threads_share_a_writer_and_processes_a_file(tmp_path):
    path = tmp_path / "log.jsonl"
    first, second = LogWriter(path), LogWriter(path, sync=True)

    def work(log, start):
        for number in range(start, start + 50):
            log.write({"n": number}, decision(number=number), float(number))

    threads = [
        threading.Thread(target=work, args=(log, 100 * i))
        for i, log in enumerate([first, second] * 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.close()
    second.close()
    second.close()
    read = read_decisions(path)
    assert sorted(answer.loss for answer in read) == sorted(
        float(number) for i in range(8) for number in range(100 * i, 100 * i + 50)
    )
    with pytest.raises(DataError, match="must be open to be written, and is closed"):
        first.write({}, decision(), 0.5)


def test_what_is_left_out_is_counted(tmp_path):
    path = tmp_path / "log.jsonl"
    answered, waiting = decision(number=1), decision(number=2)
    with LogWriter(path) as log:
        log.write({"a": 1}, answered, reward=2.0)
        log.write_loss(answered, 3.0)
        log.write({"a": 2}, waiting)
        log.write_loss(MAKER.make(77), 1.0)
        log.write({"a": 3}, waiting._replace(id=""))
    read = read_decisions(path)
    assert [(a.context, a.loss) for a in read] == [({"a": 1.0}, -2.0)]
    assert read.left_out == {"unanswered": 2, "cut": 0, "duplicate": 1, "unknown": 1}
    assert read.actions == ("mail", "gift") and read.answers[0].allowed == ("mail", "gift")
    assert read_decisions(path, unanswered=0.5).losses.tolist() == [-2.0, 0.5]
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read_decisions(packed)) == len(read_decisions(io.BytesIO(path.read_bytes()))) == 1


def test_losses_in_another_file_and_before_their_decision(tmp_path):
    decisions, losses = tmp_path / "decisions.jsonl", tmp_path / "losses.jsonl"
    taken = [decision(number=k) for k in range(3)]
    with LogWriter(decisions) as log, LogWriter(losses) as other:
        for one in taken:
            log.write({"a": 1}, one)
            other.write_loss(one, 0.5)
    for order in ((decisions, losses), (losses, decisions)):
        assert [answer.id for answer in read_decisions(*order)] == [one.id for one in taken]


def test_slates_and_rows(tmp_path):
    path = tmp_path / "log.jsonl"
    slate = SlateDecision(
        ("mail", "call"), {"mail": 1.0, "gift": 0.6, "call": 0.4}, "a", 1, MAKER.make(1)
    )
    with LogWriter(path) as log:
        log.write([1.0, "x", None], slate)
        log.write_loss(slate, 0.2, action="call")
        with pytest.raises(ValueError, match="a loss per action"):
            log.write([1.0], slate, 0.5)
        with pytest.raises(ValueError, match="give action="):
            log.write_loss(slate, 0.5)
    (answer,) = read_decisions(path)
    assert answer[:4] == ([1.0, "x", None], "call", 0.4, 0.2) and answer.slate
    plain = io.BytesIO(b'{"x": {"a": 1}, "action": 3, "probability": 0.5, "loss": 1}\n')
    assert read_decisions(plain).answers[0][:4] == ({"a": 1}, 3, 0.5, 1.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1: a line must be one JSON object"),
        ("[1]", "line 1: a line must be one JSON object"),
        ("{}", "a decision, or an id and its loss"),
        ('{"decision": {}, "context": {}}', "a logged Decision has the fields"),
        ('{"id": 3, "loss": 1}', "a loss must have an id"),
        ('{"id": "x"}', "a loss must have an id"),
        (
            '{"x": 3, "action": 1, "probability": 0.5, "loss": 1}',
            "the x must be an object or a list",
        ),
        ('{"x": [1], "action": 1, "probability": 0, "loss": 1}', "probability must be above 0"),
        ('{"x": [1], "action": 1, "probability": 0.5, "loss": "a"}', "loss must be a number"),
    ],
)
def test_whole_lines_that_cannot_be_meant_are_refused(line, message):
    with pytest.raises(DataError, match=message) as caught:
        read_decisions(io.BytesIO(line.encode() + b"\n"))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        LogWriter(tmp_path / "no" / "folder.jsonl")
    with LogWriter(tmp_path / "log.jsonl") as log:
        with pytest.raises(TypeError, match="what decide returned, got 3"):
            log.write({}, 3)
        for bad in ({"a": {}}, {"a": np.inf}, 3):
            with pytest.raises(ValueError, match="must"):
                log.write(bad, decision())
        with pytest.raises(ValueError, match="one number, got"):
            log.write({}, decision(), [1.0, 2.0])
        with pytest.raises(ValueError, match="26 characters"):
            log.write_loss("x", 1.0)
    assert (tmp_path / "log.jsonl").read_bytes() == b""
