from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.catalogue.asked import asked_codes


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Xid 79", "xid-79"),
        ("xid79", "xid-79"),
        ("XID: 79", "xid-79"),
        ("NVRM: Xid (PCI:0000:1b:00): 79, pid=1", "xid-79"),
        ("SXid 20034", "sxid-20034"),
        ("SXid (PCI:0000:85:00.0): 20034, Fatal", "sxid-20034"),
        ("ncclSystemError", "nccl-2"),
        ("NCCL error 2", "nccl-2"),
        ("nccl 6", "nccl-6"),
        ("cudaErrorIllegalAddress", "cuda-700"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE", "cuda-214"),
        ("CUDA error 700", "cuda-700"),
        ("CUDA error: device-side assert triggered", "cuda-710"),
        ("CUBLAS_STATUS_ALLOC_FAILED", "libraries-CUBLAS_STATUS_ALLOC_FAILED"),
        ("exit code 137", "exits-137"),
        ("exitcode  : -6 (pid: 401)", "exits--6"),
        ("Exited with exit code 1", "exits-1"),
        ("-9", "exits--9"),
        ("SIGBUS", "signals-7"),
        ("signal 11", "signals-11"),
        ("Received 15 death signal, shutting down", "signals-15"),
        ("error 12", "ib-12"),
        ("with status=IBV_WC_RETRY_EXC_ERR(12) opcode", "ib-12"),
        ("Got completion from peer 10.0.0.2<4000> with error 5, opcode 0", "ib-5"),
        ("vendor err 129", "ib-129"),
        ("errno: 111 - Connection refused", "errno-111"),
        ("ECONNRESET", "errno-104"),
        ("No space left on device", "errno-28"),
        ("./run.sh: line 3: 401 Bus error (core dumped)", "signals-7"),
    ],
)
def test_a_code_is_recognised(text: str, key: str) -> None:
    assert key in [asked.key for asked in asked_codes(text)]


def test_a_bare_number_has_each_of_its_meanings() -> None:
    keys = [asked.key for asked in asked_codes("11")]
    assert {"xid-11", "signals-11", "errno-11", "ib-11"} <= set(keys)
    assert len(keys) == len(set(keys))


def test_an_exit_code_says_which_signal() -> None:
    (asked,) = asked_codes("exit code 139")
    assert asked.title.startswith("exit code 139 = 128 + 11: signal 11: SIGSEGV")


@pytest.mark.parametrize(
    "text", ["CUDA 12.4", "NCCL version 2.19.3", "step 137 of 700", "Loss: 9", "a killed cat"]
)
def test_other_numbers_and_words_are_no_codes(text: str) -> None:
    assert asked_codes(text) == ()


@given(st.text(max_size=400))
def test_any_text_gives_a_bounded_answer(text: str) -> None:
    assert len(asked_codes(text)) <= 40
