"""One thread for torch while a tree is trained, the caller's number again afterwards."""

import threading

import torch

from dgtrees.nn.torch_threads import one_torch_thread


def test_one_thread_inside_and_the_callers_number_after():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_torch_thread():
            assert torch.get_num_threads() == 1
            with one_torch_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_trainings_that_overlap_leave_the_callers_number():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    begun, ended = threading.Event(), threading.Event()

    def other():
        with one_torch_thread():
            begun.set()
            ended.wait(60)

    try:
        with one_torch_thread():
            thread = threading.Thread(target=other)
            thread.start()
            begun.wait(60)
        ended.set()
        thread.join()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
