"""Uploads: nameless files, harmless names, and nothing left of them."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import SpooledTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.sources import STDIN, is_packed, open_log
from evenpace.serve.receiving import LONGEST_NAME, Upload, distinct, shown


def upload(name: str, content: bytes) -> tuple[Upload, SpooledTemporaryFile[bytes]]:
    file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=64)  # noqa: SIM115
    file.write(content)
    return Upload(name, file), file


@pytest.mark.parametrize("content", [b"", b"short", b"long\n" * 1000])
def test_an_upload_is_read_as_a_path_is(content: bytes) -> None:
    one, file = upload("rank3.log", content)
    with file:
        assert str(one) == "rank3.log"
        assert os.stat(one).st_size == len(content)  # noqa: PTH116  as the reader does
        assert one.is_file()
        for _ in range(2):
            with open_log(one) as opened:  # type: ignore[arg-type]
                assert opened.read() == content
        assert not is_packed(one)  # type: ignore[arg-type]
        assert "deleted" in os.readlink(one)  # noqa: PTH115


def test_nothing_of_a_closed_upload_can_be_read() -> None:
    one, file = upload("a.log", b"secret\n" * 100)
    place = Path(os.fspath(one))
    file.close()
    assert not place.is_file()


@given(st.text(max_size=400))
def test_any_name_is_harmless(name: str) -> None:
    text = shown(name)
    assert 0 < len(text) <= LONGEST_NAME
    assert text.isprintable() or not any(letter in text for letter in "\x00\x1b\n\r\u202e")
    assert text != STDIN
    text.encode()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("logs/rank3/stderr", "logs/rank3/stderr"),
        ("../../etc/passwd", "../../etc/passwd"),  # only ever shown
        ("-", "log"),
        ("", "log"),
        ("/", "log"),
        ("..", "log"),
        ("a\nb", "a b"),
        ("a\x1b[2J", "a␛[2J"),
        ("노드042.log", "노드042.log"),
        ("x" * 1000 + ".log", "x" * (LONGEST_NAME - 4) + ".log"),
    ],
)
def test_how_names_are_shown(name: str, said: str) -> None:
    assert shown(name) == said


@given(st.lists(st.sampled_from(["a", "b", "(2)/a", "(2)/b"]), max_size=12))
def test_each_upload_has_a_name_of_its_own(names: list[str]) -> None:
    found = list(distinct(names))
    assert len(set(found)) == len(names)
    assert all(one.endswith(name) for one, name in zip(found, names, strict=True))
