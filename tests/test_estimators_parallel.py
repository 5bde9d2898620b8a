"""The same forest and the same search, whichever joblib backend does the work."""

import os
import threading
import time

import joblib
import numpy as np
import pytest

from dgtrees import DGTForestClassifier
from dgtrees.estimators import parallel
from dgtrees.estimators.search import Search

psutil = pytest.importorskip("psutil")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def forest(**changes):
    settings = {"n_estimators": 4, "max_depth": 3, "max_epochs": 20, "random_state": 0}
    return DGTForestClassifier(**{**settings, **changes})


@pytest.fixture(scope="module")
def expected():
    return forest().fit(X, Y).predict_proba(X)


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        object_store_memory=100_000_000,
    )
    register_ray()
    yield ray
    ray.shutdown()


def test_results_come_in_order_and_are_counted():
    counts = []
    results = parallel.run(os.path.join, ("a",), ["x", "y", "z"], 2, counts.append)
    assert results == ["a/x", "a/y", "a/z"]
    assert counts == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_ray_gives_the_same_forest_and_keeps_shared_data_once(ray_cluster, expected, monkeypatch):
    put = []
    original = ray_cluster.put
    monkeypatch.setattr(ray_cluster, "put", lambda item: put.append(item) or original(item))
    with joblib.parallel_config("ray"):
        assert np.array_equal(forest().fit(X, Y).predict_proba(X), expected)
    assert len(put) == 4  # rows, class weights, validation rows, settings: once, not once a tree
    with joblib.parallel_config("ray"):
        assert parallel.run(os.path.join, ("a",), ["x", "y"], n_jobs=1) == ["a/x", "a/y"]
        with pytest.raises(TypeError, match=r"^join"):  # the cause itself, not Ray's report of it
            parallel.run(os.path.join, ("a",), [1, 2])
        # Tasks that fail together: what is still under way is left alone, for Ray aborts the
        # whole process when a task is cancelled just as it starts.
        for _ in range(20):
            with pytest.raises(TypeError, match=r"^join"):
                parallel.run(os.path.join, ("a",), [1, 2, 3, 4, 5, 6])


@pytest.mark.filterwarnings("ignore")
def test_a_search_on_ray_finds_what_a_search_at_home_finds(ray_cluster, tmp_path):
    pytest.importorskip("optuna")
    scores = {}
    for backend in ("loky", "ray"):
        search = Search(
            "classification",
            tmp_path / f"{backend}.dgt",
            study=tmp_path / f"{backend}.study",
            max_depth=3,
            max_epochs=5,
        )
        with joblib.parallel_config(backend, n_jobs=2):
            best = search.run(X, Y, trials=4, n_jobs=2)
        scores[backend] = best.score, best.parameters, search.n_trials
    assert scores["ray"] == scores["loky"]
    one, other = ((tmp_path / f"{name}.dgt").read_bytes() for name in scores)
    assert one == other


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_ray_worker_killed_in_the_middle_changes_nothing(ray_cluster):
    calm = forest(n_estimators=2, max_epochs=150).fit(X, Y)
    killed = []

    def kill_one():
        """Kill the first worker that is seen growing a tree."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for process in psutil.Process().children(recursive=True):
                try:
                    if process.name().startswith("ray::grow") or "ray::grow" in process.cmdline():
                        time.sleep(0.2)
                        process.kill()
                        killed.append(process.pid)
                        return
                except psutil.Error:
                    continue
            time.sleep(0.02)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with joblib.parallel_config("ray"):
        disturbed = forest(n_estimators=2, max_epochs=150).fit(X, Y)
    killer.join()
    assert killed
    assert np.array_equal(disturbed.predict_proba(X), calm.predict_proba(X))


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same_forest(expected):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR"
    )
    with cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        assert np.array_equal(forest().fit(X, Y).predict_proba(X), expected)
