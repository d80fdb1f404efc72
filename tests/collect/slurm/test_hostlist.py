from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.slurm.hostlist import Hostlists, TooManyNames


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("gpu1", ("gpu1",)),
        ("gpu[1-3]", ("gpu1", "gpu2", "gpu3")),
        ("gpu[08-11]", ("gpu08", "gpu09", "gpu10", "gpu11")),
        ("gpu[1,3-4],login1", ("gpu1", "gpu3", "gpu4", "login1")),
        ("r[1-2]n[1-2]-ib", ("r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib")),
        ("(null)", ()),
        ("None assigned", ()),
        ("", ()),
        ("gpu[1-", ()),
        ("gpu[a-c]", ()),
    ],
)
def test_lists_are_expanded(written: str, names: tuple[str, ...]) -> None:
    assert Hostlists().expand(written) == names


@pytest.mark.parametrize("written", ["n[1-999999999]", "n[1-400]x[1-400]", ",".join(["n[1-60000]"] * 2)])
def test_a_list_larger_than_any_cluster_is_refused(written: str) -> None:
    with pytest.raises(TooManyNames):
        Hostlists().expand(written)


def test_all_lists_together_are_bounded_as_well() -> None:
    lists = Hostlists(in_all=100)
    assert lists.expand("n[1-60]") is lists.expand("n[1-60]")
    with pytest.raises(TooManyNames):
        lists.expand("n[2-60]")


@given(st.text(alphabet="gn01-9[],", max_size=60))
def test_no_list_raises_anything_else(written: str) -> None:
    with contextlib.suppress(TooManyNames):
        assert all(Hostlists(most=1000).expand(written))
