"""One BLAS thread while trees are trained, the caller's number again afterwards."""

import threading

import pytest
import scipy.linalg.cython_blas  # noqa: F401  (whose threads are counted)
from threadpoolctl import threadpool_info, threadpool_limits

from dgtrees.learn.threads import one_thread


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    """The main thread has said how many it wants, as scikit-learn and joblib do."""
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no threads to limit here")
        yield


def in_another_thread(work):
    """What `work` returns, or raises, in a thread that is not the main one."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    (value,) = found
    if isinstance(value, BaseException):
        raise value
    return value


def inside():
    with one_thread():
        return blas_threads()


def test_one_thread_inside_and_the_callers_number_after():
    assert inside() == {1}
    assert blas_threads() == {2}


def test_outside_the_main_thread_too():
    assert in_another_thread(inside) == {1}
    assert blas_threads() == {2}
    assert inside() == {1}  # the main thread again, and others after it
    assert in_another_thread(inside) == {1}
    assert blas_threads() == {2}


@pytest.mark.parametrize("run", [lambda work: work(), in_another_thread])
def test_nested(run):
    def work():
        with one_thread():
            with one_thread():
                assert blas_threads() == {1}
            return blas_threads()

    assert run(work) == {1}
    assert blas_threads() == {2}


def test_an_error_inside_is_no_reason_to_stay_at_one():
    def work():
        with one_thread():
            raise KeyError("inside")

    for run in (lambda work: work(), in_another_thread):
        with pytest.raises(KeyError, match="inside"):
            run(work)
        assert blas_threads() == {2}


def test_trainings_that_overlap_end_in_any_order():
    begun, may_end = [threading.Event() for _ in range(3)], [threading.Event() for _ in range(3)]
    seen = []

    def work(k):
        with one_thread():
            begun[k].set()
            may_end[k].wait(60)
            seen.append(blas_threads())

    group = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread, event in zip(group, begun, strict=True):
        thread.start()
        event.wait(60)
    for k in (1, 0):
        may_end[k].set()
        group[k].join(60)
        assert blas_threads() == {1}  # the last one is still there
    may_end[2].set()
    group[2].join(60)
    assert seen == [{1}] * 3
    assert blas_threads() == {2}
