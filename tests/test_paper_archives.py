"""Published files in all their forms."""

import bz2
import gzip
import hashlib
import lzma
import zipfile

import pytest

from dgtrees.errors import DataError
from dgtrees.paper.archives import DataFile, find_file, open_file, verify_file

TEXT = b"M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n" * 9


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_every_form_of_a_file_is_found_and_opened(tmp_path):
    file = DataFile("a.txt", sha256=digest(TEXT))
    forms = {
        "a.txt.xz": lzma.compress(TEXT),
        "a.txt.bz2": bz2.compress(TEXT),
        "a.txt.gz": gzip.compress(TEXT),
        "a.txt": TEXT,
    }
    assert find_file(file, tmp_path) is None
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        assert find_file(file, tmp_path) == tmp_path / name
        verify_file(file, tmp_path / name)
        (tmp_path / name).unlink()
    with zipfile.ZipFile(tmp_path / "a.txt.zip", "w") as bundle:
        bundle.writestr("deep/a.txt", TEXT)
        bundle.writestr("deep/not-a.txt", b"other")
    with open_file(find_file(file, tmp_path), "a.txt") as stream:
        assert stream.read() == TEXT
    with (
        pytest.raises(DataError, match=r"must hold one file b.txt, got 0 among its 2 members"),
        open_file(tmp_path / "a.txt.zip", "b.txt"),
    ):
        pass


def test_line_ends_can_be_left_out_of_the_comparison(tmp_path):
    file = DataFile("a.csv", sha256=digest(b"a,b\n1,2\n"), ignore_line_ends=True)
    for content in (b"a,b\n1,2\n", b"a,b\r\n\r\n1,2\r\n\r\n", b"a,b\n1,2"):
        (tmp_path / "a.csv").write_bytes(content)
        verify_file(file, tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,3\n")
    with pytest.raises(DataError, match="must have sha256"):
        verify_file(file, tmp_path / "a.csv")
