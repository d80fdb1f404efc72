from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.formats.iterations_scan import Scanner


def megatron(step, ms=1000.0, loss="2.5E+00"):
    return (
        f" iteration {step:8d}/ 90000 | elapsed time per iteration (ms): {ms:.1f} | lm loss: {loss} | "
        f"grad norm: 0.9 |\n"
    ).encode()


def scanned(data, block=10_000, size=None, points=200):
    scanner = Scanner(data[: 1 << 20], size if size is not None else len(data), points)
    begin = 0
    while begin < len(data):
        end = data.rfind(b"\n", begin, begin + block) + 1 or len(data)
        scanner.feed(data[begin:end], begin)
        begin = end
    return scanner.offsets()


def line_at(data, offset):
    assert offset == 0 or data[offset - 1 : offset] == b"\n"
    return data[offset : data.find(b"\n", offset)].decode()


def test_lines_stand_evenly_and_extremes_are_among_them():
    rows = [megatron(step) for step in range(20_000)]
    rows[7_777] = megatron(7_777, ms=9_999.0)
    rows[11_111] = megatron(11_111, loss="nan")
    data = b"".join(rows)
    lines = [line_at(data, offset) for offset in scanned(data)]
    steps = [int(line.split()[1].rstrip("/")) for line in lines]
    assert len(steps) < 1000
    assert {7_777, 11_111} <= set(steps)
    assert max(after - before for before, after in pairwise(steps)) < 300


def test_memory_is_bounded_where_the_size_is_unknown():
    data = b"".join(megatron(step) for step in range(60_000))
    scanner = Scanner(data[: 1 << 20], None, 100)
    scanner.feed(data, 0)
    assert len(scanner.offsets()) < 1000


def test_a_file_without_iteration_lines_is_not_scanned():
    assert scanned(b"nothing of the kind\n" * 5000) == []


@pytest.mark.parametrize(
    "line",
    [
        b"  5%|#         | 40/800 [02:00<38:00,  3.00s/it]\n",
        b"{'loss': 1.25, 'grad_norm': 0.5, 'epoch': 0.4}\n",
        b"step: 10  loss:  4.1006  memory: 40.33GiB  tps: 13,600  tflops: 300.20\n",
        b"Epoch: [3][ 50/100]  Time  0.873 ( 0.881)  Data  0.005 ( 0.017)  Loss 6.8e+00\n",
        b"step 20380 loss 2.19 tok/s 88864\n",
        b"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 2, reducing to 1\n",
    ],
)
def test_each_way_of_printing_is_found(line):
    assert scanned(line * 1000)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.binary(max_size=60), max_size=40), st.integers(1, 400))
def test_no_bytes_break_it(pieces, block):
    data = b"".join(megatron(1) for _ in range(4)) + b"\n".join(pieces) + megatron(2, loss="x-")
    for offset in scanned(data, block=max(block, 200)):
        assert 0 <= offset < len(data)
