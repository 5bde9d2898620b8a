"""Downloads from a server of our own: whole, cut short, missing, altered, or not there at all."""

import dataclasses
import gzip
import hashlib
import io
import socket
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dgtrees.errors import DataError
from dgtrees.paper import catalog
from dgtrees.paper.archives import DataFile
from dgtrees.paper.catalog import CATALOG, fetch, status

TEXT = b"M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n" * 9


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Answers(BaseHTTPRequestHandler):
    files: dict  # path: (status, body, announced length or None)

    def do_GET(self):
        self.server.asked.append(self.path)
        code, body, length = self.files.get(self.path, (404, b"no such file", 12))
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """A server on this machine; `serve(path, body)` gives an address that answers with it."""
    handler = type("Handler", (Answers,), {"files": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def serve(path, body, code=200, announced=...):
            handler.files[path] = (code, body, len(body) if announced is ... else announced)
            return f"http://127.0.0.1:{running.server_port}{path}"

        running.serve = serve
        yield running
        running.shutdown()
        thread.join()


def publish(monkeypatch, *files, name="abalone"):
    monkeypatch.setitem(CATALOG, name, dataclasses.replace(CATALOG[name], files=files))


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_is_verified_and_stored_as_published(server, monkeypatch, tmp_path):
    url = server.serve("/data/abalone.data.gz", gzip.compress(TEXT))
    publish(monkeypatch, DataFile("abalone.data", url, digest(TEXT)))
    seen = []
    folder = fetch("abalone", tmp_path, lambda done, total: seen.append((done, total)))
    assert folder == tmp_path / "abalone" and left_in(tmp_path) == ["abalone.data.gz"]
    size = (folder / "abalone.data.gz").stat().st_size
    assert seen[-1] == (size, size)
    assert status("abalone", tmp_path).bytes == size
    fetch("abalone", tmp_path)
    assert server.asked == ["/data/abalone.data.gz"]  # the second time it was there


def test_a_server_may_keep_the_length_to_itself(server, monkeypatch, tmp_path):
    url = server.serve("/abalone.data", TEXT, announced=None)
    publish(monkeypatch, DataFile("abalone.data", url, digest(TEXT)))
    seen = []
    fetch("abalone", tmp_path, lambda done, total: seen.append((done, total)))
    assert seen == [(len(TEXT), None)]


def test_an_archive_of_two_files_is_downloaded_once(server, monkeypatch, tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as bundle:
        for name in ("a.data", "a.test"):
            member = tarfile.TarInfo(f"Folder/{name}")
            member.size = len(TEXT)
            bundle.addfile(member, io.BytesIO(TEXT))
    url = server.serve("/a.tgz", packed.getvalue())
    files = [DataFile(n, url, digest(TEXT), archive="a.tgz") for n in ("a.data", "a.test")]
    publish(monkeypatch, *files)
    fetch("abalone", tmp_path)
    assert server.asked == ["/a.tgz"] and left_in(tmp_path) == ["a.tgz"]
    assert status("abalone", tmp_path).present


def test_load_downloads_only_when_asked(server, monkeypatch, tmp_path):
    url = server.serve("/abalone.data", TEXT)
    publish(monkeypatch, DataFile("abalone.data", url, digest(TEXT)))
    changed = dataclasses.replace(CATALOG["abalone"], rows=(5, 2, 2))
    monkeypatch.setitem(CATALOG, "abalone", changed)
    with pytest.raises(DataError, match="is missing: run `dgt data fetch abalone`"):
        catalog.load("abalone", folder=tmp_path)
    assert catalog.load("abalone", folder=tmp_path, download=True).rows == (5, 2, 2)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"body": TEXT[:100], "announced": len(TEXT)}, r"\(got 100 of 423 bytes\)"),
        ({"body": b"gone", "code": 404}, r"\(404 Not Found\)"),
        ({"body": b"busy", "code": 503}, r"\(503 Service Unavailable\)"),
        (
            {"body": TEXT + b"more"},
            f"must have sha256 {digest(TEXT)}, got {digest(TEXT + b'more')}",
        ),
    ],
)
def test_what_is_not_the_file_is_not_kept(answer, message, server, monkeypatch, tmp_path):
    url = server.serve("/abalone.data", **answer)
    publish(monkeypatch, DataFile("abalone.data", url, digest(TEXT)))
    with pytest.raises(DataError, match=message) as caught:
        fetch("abalone", tmp_path)
    text = str(caught.value)
    assert url in text and "by hand" in text and "\n" not in text and ".part-" not in text
    assert str(tmp_path / "abalone" / "abalone.data") in text
    assert left_in(tmp_path) == []


def test_a_compressed_file_that_is_none_is_not_kept(server, monkeypatch, tmp_path):
    url = server.serve("/abalone.data.gz", gzip.compress(TEXT)[:-9])
    publish(monkeypatch, DataFile("abalone.data", url))
    with pytest.raises(DataError, match="must be a whole, readable file"):
        fetch("abalone", tmp_path)
    assert left_in(tmp_path) == []


def test_offline_the_address_and_the_place_are_named(monkeypatch, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/abalone.data"
        publish(monkeypatch, DataFile("abalone.data", url, digest(TEXT)))
        with pytest.raises(DataError, match=r"could not download http.*refused") as caught:
            fetch("abalone", tmp_path)
    place = tmp_path / "abalone" / "abalone.data"
    assert f"download it by hand and save it as {place}" in str(caught.value)
    assert left_in(tmp_path) == []
    place.write_bytes(TEXT)
    fetch("abalone", tmp_path)


def test_a_file_changed_on_disk_is_found_by_fetch_and_by_load(monkeypatch, tmp_path):
    publish(monkeypatch, DataFile("abalone.data", "http://127.0.0.1:9/x", digest(TEXT)))
    (tmp_path / "abalone").mkdir()
    (tmp_path / "abalone" / "abalone.data.gz").write_bytes(gzip.compress(TEXT[1:]))
    for work in (fetch, lambda name, folder: catalog.load(name, folder=folder)):
        with pytest.raises(DataError, match=r"abalone.data.gz must have sha256 .*: delete it and"):
            work("abalone", tmp_path)


@pytest.mark.parametrize(("name", "where"), [("yahoo", "apply for"), ("mslr", "agree to")])
def test_sets_on_application_say_where_to_apply(name, where, tmp_path):
    with pytest.raises(DataError, match=where) as caught:
        fetch(name, tmp_path)
    text = str(caught.value)
    assert CATALOG[name].page in text and CATALOG[name].files[0].archive in text
    assert str(tmp_path / name) in text


def test_a_folder_that_cannot_be_written_to_is_named(monkeypatch, tmp_path):
    publish(monkeypatch, DataFile("abalone.data", "http://127.0.0.1:9/abalone.data"))
    (tmp_path / "abalone").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"must be a folder that can be written to.*DGTREES_DATA"):
        fetch("abalone", tmp_path)
