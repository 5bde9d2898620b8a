"""Independent pieces of work through joblib, on whichever backend is active.

`run` calls one function for many tasks that share large arguments. Processes of this machine
(loky), Dask and others are joblib's own business. On Ray the work goes to Ray's tasks instead of
its joblib pool: the shared arguments are put into the object store once, and a task whose worker
dies is given to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

__all__ = ["run", "workers"]

_RETRIES = 3
"""Workers that may die under one task before Ray gives it up."""

_AHEAD = 2
"""Tasks handed to Ray for every core it has: one to work on, one that is ready when it ends."""


def run(
    function: Callable,
    shared: Sequence[Any],
    tasks: Sequence[Any],
    n_jobs: int | None = None,
    done: Callable[[int], None] | None = None,
) -> list[Any]:
    """``[function(*shared, task) for task in tasks]``, in that order, done in parallel.

    `done` is called with the number of finished tasks, whenever that grows.
    """
    backend, active_jobs = get_active_backend()
    if _is_ray(backend):
        jobs = active_jobs if n_jobs is None else n_jobs
        return _on_ray(function, shared, tasks, jobs, backend.ray_remote_args or {}, done)
    as_they_come = "generator" if backend.supports_return_generator else "list"
    results = []
    parallel = Parallel(n_jobs=n_jobs, return_as=as_they_come)
    for result in parallel(delayed(function)(*shared, task) for task in tasks):
        results.append(result)
        if done is not None:
            done(len(results))
    return results


def workers(n_jobs: int | None = None) -> int:
    """How many tasks `run` would do at the same time."""
    backend, active_jobs = get_active_backend()
    jobs = active_jobs if n_jobs is None else n_jobs
    if not _is_ray(backend) or (jobs is not None and jobs > 0):
        return effective_n_jobs(n_jobs)
    return _cores(_connected())


def _is_ray(backend: Any) -> bool:
    return type(backend).__module__.startswith("ray.")


def _connected() -> Any:
    """Ray, connected to the cluster of RAY_ADDRESS or to a local one."""
    import ray

    if not ray.is_initialized():
        ray.init()
    return ray


def _cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _on_ray(
    function: Callable,
    shared: Sequence[Any],
    tasks: Sequence[Any],
    n_jobs: int | None,
    options: dict[str, Any],
    done: Callable[[int], None] | None,
) -> list[Any]:
    ray = _connected()
    remote = ray.remote(function).options(**{"max_retries": _RETRIES, **options})
    references = [ray.put(item) for item in shared]
    waiting = list(enumerate(tasks))[::-1]
    running: dict[Any, int] = {}
    results: list[Any] = [None] * len(tasks)
    finished = 0
    try:
        while waiting or running:
            # Asked again each time: a cluster may grow. What was handed over when an error or an
            # interrupt comes is left to end by itself, and so it must be little: to cancel a task
            # that is just being started can abort the whole process (Ray 2.60).
            limit = _AHEAD * _cores(ray) if n_jobs is None or n_jobs < 0 else max(1, n_jobs)
            while waiting and len(running) < limit:
                number, task = waiting.pop()
                running[remote.remote(*references, task)] = number
            ready, _ = ray.wait(list(running))
            for reference in ready:
                results[running.pop(reference)] = ray.get(reference)
                finished += 1
                if done is not None:
                    done(finished)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from error
    return results
