from __future__ import annotations

import pytest

from evenpace.diagnose.identity import accusable, canonical_gpu, from_captures, with_far_end
from evenpace.diagnose.model import Identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PCI:0000:9b:00", "0000:9B:00.0"),
        ("00000000:9b:00.0", "0000:9b:00"),
        ("9b:00.0", "0000:9b:00"),
        ("GPU 5", "5"),
        ("GPU5", "cuda:5"),
        ("GPU-7e03d1ac", "gpu-7E03D1AC"),
    ],
)
def test_spellings_of_one_gpu_are_equal(one: str, other: str) -> None:
    assert canonical_gpu(one) == canonical_gpu(other)


@pytest.mark.parametrize(
    ("one", "other"), [("0001:4f:00", "0000:4f:00"), ("0000:4f:00", "0000:4e:00"), ("5", "15")]
)
def test_different_gpus_differ(one: str, other: str) -> None:
    assert canonical_gpu(one) != canonical_gpu(other)


def test_captures_become_an_identity() -> None:
    assert from_captures({"ranks": "{1, 2, 5}", "host": "n1", "pid": "77"}) == Identity(
        rank=(1, 2, 5), host="n1", pid=77
    )
    assert from_captures({"gpus": "0x41 0x61", "rank": "3"}) == Identity(rank=3, gpu=("0x41", "0x61"))
    assert not from_captures({"other": "x"})


def test_both_ends_of_a_link_are_named() -> None:
    here = Identity(host="vm1", gpu="0")
    assert with_far_end(here, {"other_host": "10.0.0.9"}) == Identity(host=("vm1", "10.0.0.9"))
    assert with_far_end(here, {}) == here
    assert with_far_end(Identity(rank=1), {"other_host": "x"}) == Identity(rank=1)


@pytest.mark.parametrize("host", ["7c21fa3b90d4", "4c17be0a92d3"])
def test_the_id_of_a_container_is_no_machine(host: str) -> None:
    assert accusable(Identity(rank=1, host=host)) == Identity(rank=1)


@pytest.mark.parametrize("host", ["node042", "deadbeefcafe", "ip-10-3-7-21", "10.0.0.9"])
def test_the_name_of_a_machine_stays(host: str) -> None:
    assert accusable(Identity(host=host)) == Identity(host=host)
