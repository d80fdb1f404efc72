"""Pickles from anybody: plain data come back, and nothing is ever called."""

from __future__ import annotations

import contextlib
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.plain_pickle import NotPlain, read_pickle

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN, st.integers(3, pickle.HIGHEST_PROTOCOL))  # older protocols spell bytes as a call
def test_plain_data_come_back(value: object, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol)) == value


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_calls_anything_is_refused(protocol: int) -> None:
    with pytest.raises(NotPlain):
        read_pickle(pickle.dumps({"entries": [Evil()]}, protocol))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(NotPlain):
        read_pickle(data)


@given(PLAIN, st.integers(0, 60), st.binary(max_size=6))
def test_damaged_pickles_are_read_or_refused(value: object, at: int, junk: bytes) -> None:
    data = pickle.dumps({"entries": [value]}, 2)
    with contextlib.suppress(NotPlain):
        read_pickle(data[:at] + junk + data[at + len(junk) :])
