"""Files that are written: whole or as before, in the right place, with the right mode."""

import errno
import io
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dgtrees import writing
from dgtrees.errors import DataError, ModelFileError
from dgtrees.model import file
from dgtrees.writing import check_target, whole_file

AS_ROOT = os.geteuid() == 0


@pytest.fixture(params=["nameless", "named", "copied"])
def way(request, monkeypatch):
    """The systems there are: with nameless files, without, and without a way to name them."""
    if request.param == "named":
        monkeypatch.setattr(writing, "_NAMELESS", None)
    elif request.param == "copied":

        def refuse(*_, **__):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


def put(path, content=b"new"):
    with whole_file(path) as stream:
        stream.write(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(way, umask, expected, tmp_path):
    before = os.umask(umask)
    try:
        put(tmp_path / "new")
        file.write(tmp_path / "model.dgt", {"kind": "test"}, {})
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == mode(tmp_path / "model.dgt") == expected
    assert names(tmp_path) == ["model.dgt", "new"]


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o666, 0o755])
def test_an_old_file_keeps_its_mode(way, kept, tmp_path):
    path = tmp_path / "model.dgt"
    path.write_bytes(b"old")
    path.chmod(kept)
    file.write(path, {"kind": "test"}, {})
    assert mode(path) == kept and path.read_bytes().startswith(file.MAGIC)
    assert names(tmp_path) == ["model.dgt"]


@pytest.mark.skipif(not AS_ROOT, reason="only root owns files of others")
def test_a_file_of_another_user_stays_theirs(way, tmp_path):
    path = tmp_path / "model.dgt"
    path.write_bytes(b"old")
    os.chown(path, 12345, 12346)
    put(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


def test_the_content_is_on_the_disk_before_it_has_the_name(way, tmp_path, monkeypatch):
    steps, fsync, replace = [], os.fsync, os.replace

    def synced(handle):
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        steps.append("folder" if folder else os.fstat(handle).st_size)
        fsync(handle)

    def replaced(*paths):
        steps.append("replace")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    put(tmp_path / "new", b"content")
    assert steps == ([7, 7] if way == "copied" else [7]) + ["replace", "folder"]


@pytest.mark.parametrize("error", [KeyError("body"), KeyboardInterrupt(), SystemExit(1)])
def test_whatever_is_raised_leaves_all_as_it_was(way, error, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"half")
        raise error

    with pytest.raises(type(error)), whole_file(path) as stream:
        fail(stream)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


def test_links_are_followed_and_stay(way, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/real")
    (tmp_path / "second").symlink_to("link")
    for content in (b"new", b"newer"):  # first to nothing, then to a file
        put(tmp_path / "second", content)
        assert (tmp_path / "far" / "real").read_bytes() == content
    assert names(tmp_path) == ["far", "link", "second"] and names(tmp_path / "far") == ["real"]
    assert (tmp_path / "second").is_symlink() and (tmp_path / "link").is_symlink()


def test_devices_and_pipes_are_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    file.write(pipe, {"kind": "test"}, {})
    reader.join()
    assert got[0].startswith(file.MAGIC) and pipe.is_fifo() and names(tmp_path) == ["pipe"]
    file.write(os.devnull, {"kind": "test"}, {})
    assert Path(os.devnull).is_char_device()


def test_what_standard_output_was_led_into_is_added_to(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "from dgtrees.writing import *\nwith whole_file('/dev/stdout') as s: s.write(b'new')"
    with log.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert log.read_text() == "before\nnew"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"new"


def refused(path, message, error=ModelFileError):
    with pytest.raises(error) as caught:
        file.write(path, {"kind": "test"}, {})
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    assert message in str(caught.value)


def test_paths_that_cannot_be_written_to(tmp_path):
    refused(tmp_path, "must be a file, and is a folder: add a file name")
    refused(tmp_path / "no" / "such", f"there is no folder {tmp_path / 'no'}: create it first")
    (tmp_path / "a").write_text("")
    refused(tmp_path / "a" / "b", "there is no folder")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    refused(tmp_path / "one", "is a link that leads back to itself: remove it")
    (tmp_path / "lost").symlink_to("gone/file")
    refused(tmp_path / "lost", f"there is no folder {tmp_path / 'gone'}: create it first")
    refused(tmp_path / ("long" * 100), "cannot be written (File name too long): check the path")
    refused("a\0b", "cannot be written (embedded null byte): check the path")
    put(tmp_path / ("n" * 255))
    assert names(tmp_path) == sorted(["a", "one", "two", "lost", "n" * 255])


def test_a_full_disk():
    refused("/dev/full", "must fit on its disk, and does not (No space left on device): make room")


def test_a_disk_that_becomes_full_while_writing(way, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"a: must fit on its disk.*File too large.*make room"):
            put(path, bytes(100_000))
        with (
            pytest.raises(DataError, match=r"a: must fit on its disk"),
            whole_file(path, text=True) as stream,
        ):
            stream.writelines("a line of text\n" for _ in range(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


UNPRIVILEGED = """
import os, sys
from dgtrees.writing import whole_file
from dgtrees.errors import DataError
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
for path in sys.argv[1:]:
    try:
        with whole_file(path) as stream:
            stream.write(b"new")
    except DataError as error:
        print(error)
"""


def test_no_permission(tmp_path):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:  # tmp_path is for its owner only
        place = Path(folder)
        place.chmod(0o777)
        (place / "file").write_text("old")
        (place / "file").chmod(0o444)
        (place / "closed").mkdir()
        (place / "closed").chmod(0o555)
        paths = [place / "file", place / "closed" / "new", place / "open"]
        (place / "code.py").write_text(UNPRIVILEGED)
        command = [sys.executable, place / "code.py", *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        advice = "cannot be written (Permission denied): check its permissions and those of its"
        assert [line.split(":")[0] for line in done.stdout.splitlines()] == list(
            map(str, paths[:2])
        )
        assert done.stdout.count(advice) == 2
        assert (place / "file").read_text() == "old" and (place / "open").read_text() == "new"


HALF = """
import sys, time
from dgtrees import writing
if sys.argv[2] == "named":
    writing._NAMELESS = None
with writing.whole_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def half_written(path, way):
    command = [sys.executable, "-c", HALF, str(path), way]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def has_nameless_files(folder):
    try:
        os.close(os.open(folder, writing._NAMELESS | os.O_RDWR))
    except (OSError, TypeError):
        return False
    return True


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_that_stays(tmp_path):
    path = tmp_path / "model.dgt"
    path.write_bytes(b"old")
    killed(half_written(path, "nameless"))
    if has_nameless_files(tmp_path):
        assert names(tmp_path) == ["model.dgt"]
    living = half_written(path, "named")
    try:
        killed(half_written(path, "named"))
        assert len(names(tmp_path)) == 3 and path.read_bytes() == b"old"
        (tmp_path / ".other.dgt.0123456789ab.part").write_bytes(b"of another target")
        put(path)
        left = [name for name in names(tmp_path) if name.startswith(".model.dgt.")]
        assert len(left) == 1  # that of the process which is still writing
    finally:
        killed(living)
    put(path, b"newer")
    assert names(tmp_path) == [".other.dgt.0123456789ab.part", "model.dgt"]
    assert path.read_bytes() == b"newer"


def test_saves_of_one_target_at_the_same_time(way, tmp_path):
    path, failed = tmp_path / "a", []

    def save(number):
        try:
            for _ in range(30):
                put(path, bytes([number]) * 1000)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set(path.read_bytes())) == 1 and len(path.read_bytes()) == 1000
    assert names(tmp_path) == ["a"]


def test_a_check_before_the_work_writes_nothing(tmp_path):
    check_target(tmp_path / "new")
    check_target(os.devnull)
    with pytest.raises(DataError, match="is a folder"):
        check_target(tmp_path)
    assert names(tmp_path) == []


def test_every_export_is_written_the_same_way(tmp_path):
    from dgtrees import ObliqueTree, export_c, export_dot, export_onnx
    from dgtrees.bandit import Log, write_log

    tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[10.0], [20.0]])
    log = Log([[1.0]], [0], [0.5], [1.0], n_actions=2)
    before = os.umask(0o077)
    try:
        export_c(tree, tmp_path / "t.c")
        export_dot(tree, tmp_path / "t.dot")
        export_onnx(tree, tmp_path / "t.onnx")
        write_log(log, tmp_path / "t.jsonl")
        write_log(log, tmp_path / "t.jsonl.gz")
    finally:
        os.umask(before)
    assert names(tmp_path) == ["t.c", "t.dot", "t.h", "t.jsonl", "t.jsonl.gz", "t.onnx"]
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    (tmp_path / "u.h").mkdir()
    with pytest.raises(DataError, match=r"u\.h: must be a file, and is a folder"):
        export_c(tree, tmp_path / "u.c")
    assert not (tmp_path / "u.c").exists()
    for export, name in ((export_dot, "x.dot"), (export_onnx, "x.onnx"), (write_log, "x.jsonl")):
        with pytest.raises(DataError, match="there is no folder"):
            export(log if export is write_log else tree, tmp_path / "no" / name)


def test_a_checkpoint_is_replaced_whole(tmp_path):
    from dgtrees.cluster.checkpoints import Checkpoints
    from dgtrees.learn.recipe import Recipe
    from training_rows import examples, trainer

    path, rows = tmp_path / "c.npz", examples()
    checkpoints = Checkpoints(path, "a run", 1)
    run = trainer(rows, Recipe(epochs=3)).begin(rows)
    for epochs in (1, 2):
        checkpoints.write(run.advance(epochs), [0.0])
        path.chmod(0o600)
        assert checkpoints.read()["told"]["epochs"] == epochs
    assert names(tmp_path) == ["c.npz"] and mode(path) == 0o600


def test_streams_are_what_libraries_expect(tmp_path):
    with whole_file(tmp_path / "a") as stream:
        assert isinstance(stream, io.BufferedWriter) and stream.tell() == 0
    with whole_file(tmp_path / "b", text=True) as stream:
        stream.write("π\n")
    assert (tmp_path / "b").read_bytes() == "π\n".encode()
