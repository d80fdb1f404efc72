"""Records that ran together are split; quoted text is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.splits import pieces

BAR = "  3%|▎         | 23/846 [02:19<1:22:44,  6.03s/it]"


@pytest.mark.parametrize(
    "tail",
    [
        "[rank0]:[E0214 17:38:20.118603447 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught",
        "[E ProcessGroupNCCL.cpp:474] [Rank 3] Watchdog caught",
        "[default5]:terminate called",
        "Traceback (most recent call last):",
        "E0427 10:44:18.204000 140412 torch/distributed/elastic/multiprocessing/api.py:869] failed",
        "n-7:412:900 [3] transport/net_ib.cc:74 NCCL WARN NET/IB : x",
        "NVRM: Xid (PCI:0000:5d:00): 79, x",
        "[2397166.983093] NVRM: Xid (PCI:0000:5d:00): 79, x",
        "[Thu Mar 12 04:38:30 2026] NVRM: Xid (PCI:0000:5d:00): 79, x",
        "[1,4]<stderr>:x",
    ],
)
@pytest.mark.parametrize("head", [BAR, "step 20 loss 2.1 lr 1e-", 'File "/opt/x', "100%|██████|"])
def test_a_record_in_the_middle_is_split_off(head: str, tail: str) -> None:
    hosts = frozenset({"n-7"})
    assert list(pieces(head + tail, 0, hosts)) == [head, tail]


@pytest.mark.parametrize(
    "tail",
    [
        "{'loss': 1.2}",
        "WARNING:torch.distributed",
        "/opt/x.py:3: UserWarning",
        "Epoch 1:  3%|▎ | 1/9 [00:01<00:09]",
    ],
)
def test_whatever_is_glued_to_a_bar_is_split_off(tail: str) -> None:
    assert list(pieces(BAR + tail, 0)) == [BAR, tail]


def test_several_records_are_split() -> None:
    text = "a[rank1]: b[rank2]: c" + BAR + "Traceback (most recent call last):"
    assert list(pieces(text, 0)) == [
        "a",
        "[rank1]: b",
        "[rank2]: c" + BAR,
        "Traceback (most recent call last):",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "Traceback (most recent call last):\\n  File", "x": "a[rank3]: b"}',
        '"py_callstack": "Traceback (most recent call last):\\n"',
        "Original Traceback (most recent call last):",
        "msg='[rank3]: x'",
        'error="a[rank3]: b" code=1',
        "see [rank3]: x",
        "node042: NVRM: Xid (PCI:0000:5d:00): 79, x",
        "bench.0 [stderr] Traceback (most recent call last):",
        "[0]eth0:10.0.0.1<0> [1]ib0:10.0.0.2:1:1 [0]",
    ],
)
def test_what_belongs_together_stays(text: str) -> None:
    assert list(pieces(text, 0)) == [text]


def test_a_torn_host_is_known_from_other_lines() -> None:
    text = "via SHM/directn-7:412:900 [3] NCCL INFO x"
    assert list(pieces(text, 0, frozenset({"n-7"}))) == ["via SHM/direct", "n-7:412:900 [3] NCCL INFO x"]


@given(st.text(alphabet='[]rank0123:Tce"\\ |%/<', max_size=60), st.integers(0, 10))
def test_any_text_is_split_without_loss(text: str, body: int) -> None:
    assert "".join(pieces(text, body)) == text
