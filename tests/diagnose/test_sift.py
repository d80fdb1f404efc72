from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose import sift as module
from evenpace.diagnose.sift import Binary, Part, sift, split

ORDINARY = "step 10 loss 2.0 tok/s 13600\n"


def log(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.log"
    path.write_text(text)
    return path


def numbered(pieces: list[tuple[int, bytes]]) -> dict[int, bytes]:
    return {
        first + offset: line
        for first, data in pieces
        for offset, line in enumerate(data.splitlines(keepends=True))
    }


def test_a_short_file_is_kept_whole(tmp_path: Path) -> None:
    found = sift(Part(log(tmp_path, ORDINARY * 3)))
    assert found.whole
    assert (found.lines, found.pieces) == (3, [(1, (ORDINARY * 3).encode())])


@pytest.mark.parametrize("at", [0, 1, 4999, 50_000, 99_999])
def test_the_lines_around_a_hit_are_kept_with_their_numbers(tmp_path: Path, at: int) -> None:
    lines = [ORDINARY] * 100_000
    lines[at] = "NVRM: Xid (PCI:0000:3e:00): 79, GPU has fallen off the bus.\n"
    found = sift(Part(log(tmp_path, "".join(lines)), whole=0, head=100, tail=100, points=10))
    kept = numbered(found.pieces)
    assert kept[at + 1] == lines[at].encode()
    assert found.lines == 100_000
    assert len(kept) < 100
    assert all(lines[number - 1].encode() == line for number, line in kept.items())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [ORDINARY, "x\n", "\n", "CUDA error: unspecified launch failure\n", "y" * 300 + "\n"]
        ),
        max_size=400,
    ),
    st.integers(10, 3000),
)
def test_every_line_that_is_kept_is_the_one_with_its_number(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int
) -> None:
    path = log(tmp_path_factory.mktemp("sift"), "".join(lines))
    before = module.BLOCK, module.MARGIN
    module.BLOCK, module.MARGIN = block, 400
    try:
        found = sift(Part(path, whole=0, head=50, tail=50, points=10))
    finally:
        module.BLOCK, module.MARGIN = before
    kept = numbered(found.pieces)
    assert all(lines[number - 1].encode() == line for number, line in kept.items())
    assert {number for number, line in enumerate(lines, 1) if "CUDA error" in line} <= set(kept)
    assert found.lines == len(lines)


def test_what_fills_a_log_is_taken_out_of_the_gate(tmp_path: Path) -> None:
    text = (
        ("ERROR something harmless, again and again\n" * 100_000) + "Segmentation fault\n" + ORDINARY * 10_000
    )
    found = sift(Part(log(tmp_path, text), whole=0, head=100, tail=100, points=10))
    assert found.kept < 2000
    assert 100_001 in numbered(found.pieces)


def test_a_line_of_many_megabytes_does_no_harm(tmp_path: Path) -> None:
    text = "x" * (20 << 20) + "\nSegmentation fault\n"
    found = sift(Part(log(tmp_path, text)))
    assert numbered(found.pieces)[2] == b"Segmentation fault\n"
    assert sum(len(data) for _, data in found.pieces) < 2 << 20


def test_ranges_of_a_file_join_without_a_seam(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(10_000)]
    path = log(tmp_path, "".join(lines))
    size = path.stat().st_size
    ranges = list(split(path, size, 10_000))
    data = path.read_bytes()
    assert b"".join(data[start:end] for start, end in ranges) == data
    assert all(data[start - 1 : start] == b"\n" for start, _ in ranges[1:])
    assert sum(sift(Part(path, start=a, end=b)).lines for a, b in ranges) == len(lines)


def test_binary_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(range(32)) * 1000)
    with pytest.raises(Binary):
        sift(Part(path))


def test_utf16_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("Segmentation fault\n".encode("utf-16"))
    assert sift(Part(path)).whole
