"""Settings for all tests, and who may see the data sets that lie beside the repository.

Only tests marked `data` see them. For all others DGTREES_DATA names a folder that does not exist,
so that no test passes here, where the data is, and fails on a fresh clone, where it is not. CI runs
the marked ones a second time without data.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import dgtrees
import shard_tables
from dgtrees.learn.threads import one_thread

# Compiled kernels are slow the first time; timing is not what these tests are about.
settings.register_profile("dgtrees", deadline=None, derandomize=True)
settings.load_profile("dgtrees")

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "datasets"
DATA = os.environ.get("DGTREES_DATA") or str(BESIDE)
NOWHERE = str(Path(__file__).resolve().parent / "no-such-folder-of-data")


def pytest_runtest_setup(item):
    os.environ["DGTREES_DATA"] = DATA if item.get_closest_marker("data") else NOWHERE


@pytest.fixture(scope="session")
def shards(tmp_path_factory):
    """A folder of Parquet files, see `shard_tables`."""
    return shard_tables.written(shard_tables.rows(), tmp_path_factory.mktemp("table") / "shards")


@pytest.fixture(scope="session")
def undisturbed(shards):
    """What two workers learn from it if nothing happens to them."""
    model = dgtrees.DGTClassifier(**shard_tables.OPTIONS)
    return dgtrees.fit_shards(model, shards, "label", workers=2)


@pytest.fixture
def one_blas_thread():
    """As estimators train: several threads only wait for each other where tests share a machine."""
    with one_thread():
        yield
