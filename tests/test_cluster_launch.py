"""The workers that `fit_shards` starts: who can reach them, and what becomes of them."""

import ipaddress
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dgtrees import DGTClassifier, fit_shards
from dgtrees.cluster import launch
from dgtrees.errors import StateError

SECONDS = 120
"""After which a test gives up waiting for what should have happened long before."""

CALLER = """
import sys
from dgtrees import DGTClassifier, fit_shards

model = DGTClassifier(3, max_epochs=1_000_000, random_state=0)
fit_shards(model, sys.argv[1], "label", workers=2, checkpoint=sys.argv[2] or None)
"""

linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks into Linux's /proc")


@pytest.fixture
def shards(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    x = np.random.default_rng(0).normal(size=(600, 2))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "label": x[:, 0] * x[:, 1] > 0})
    parquet.write_table(table, folder / "part.parquet")
    return folder


@pytest.fixture
def temporary(tmp_path):
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


@pytest.fixture
def training(shards, temporary):
    """Starts a process that trains with two workers for ever; it has done an epoch."""
    started = []

    def start(checkpoint=""):
        environment = {**os.environ, "TMPDIR": str(temporary)}
        environment.pop("GLOO_SOCKET_IFNAME", None)
        command = [sys.executable, "-c", CALLER, str(shards), str(checkpoint)]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        place = Path(checkpoint) if checkpoint else temporary
        assert wait_for(lambda: list(place.rglob(launch.PROGRESS)) or process.poll() is not None)
        assert process.poll() is None, process.communicate()[1]
        started.append((process, descendants(process.pid)))
        return process

    yield start
    for process, family in started:
        process.kill()
        process.communicate()
        for pid in filter(alive, family):
            os.kill(pid, signal.SIGKILL)


def folders(temporary):
    return list(temporary.glob("dgtrees-*"))


def wait_for(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def status(pid):
    """State and parent of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone", 0
    return fields[0], int(fields[1])


def alive(pid):
    return status(pid)[0] not in ("gone", "Z", "X")


def descendants(pid):
    parents = {int(p.name): status(p.name)[1] for p in Path("/proc").glob("[0-9]*")}
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def listening(pids):
    """Addresses at which some of these processes wait for connections."""
    sockets = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(file))
            except FileNotFoundError:  # it was closed since
                continue
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(address_of(fields[1].partition(":")[0]))
    return found


def address_of(text):
    """What /proc/net/tcp writes as words of 32 bits, in this machine's order of bytes."""
    words = [int(text[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(text), 8)]
    return ipaddress.ip_address(b"".join(words))


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_an_open_port_is_seen_for_what_it_is(host):
    with socket.create_server((host, 0)):
        assert ipaddress.ip_address(host) in listening([os.getpid()])


def test_an_interface_that_the_user_names_is_left_alone(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    assert launch._environment(0, 2, 0)["GLOO_SOCKET_IFNAME"] in ("lo", "lo0")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    assert launch._environment(0, 2, 0)["GLOO_SOCKET_IFNAME"] == "eth7"


@pytest.mark.slow
@linux
@pytest.mark.parametrize(
    ("how", "checkpoint"), [(signal.SIGTERM, ""), (signal.SIGINT, ""), (signal.SIGKILL, "run")]
)
def test_workers_listen_on_loopback_only_and_end_with_the_caller(
    training, temporary, tmp_path, how, checkpoint
):
    process = training(checkpoint and tmp_path / checkpoint)
    workers = descendants(process.pid)
    assert len(workers) >= 2 and folders(temporary)
    addresses = listening([process.pid, *workers])
    assert addresses  # workers wait for each other's connections: there is something to see
    assert all(address.is_loopback for address in addresses), addresses
    process.send_signal(how)
    process.communicate(timeout=SECONDS)
    assert process.returncode == -how
    assert wait_for(lambda: not any(map(alive, workers))), "workers are left"
    assert not folders(temporary)
    # What the user has named is the user's, and a later call goes on from it.
    assert not checkpoint or (tmp_path / checkpoint / "checkpoint.npz").exists()


@pytest.mark.slow
@linux
def test_workers_that_die_again_and_again_are_given_up(shards, tmp_path, monkeypatch):
    # Every worker dies before it can say anything.
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "sitecustomize.py").write_text(
        "import os, signal\n"
        "number = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        f"open({str(tmp_path / 'starts')!r}, 'a').write(number)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "early"), prepend=os.pathsep)
    model = DGTClassifier(2, random_state=0)
    with pytest.raises(StateError, match=r"within 1 restarts.*SIGKILL.*give a checkpoint folder"):
        fit_shards(model, shards, "label", workers=2, max_restarts=1)
    assert set((tmp_path / "starts").read_text()) == {"0", "1"}
