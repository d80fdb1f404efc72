from __future__ import annotations

from tests.diagnose.made import sighting, signature

from evenpace.diagnose.claims import agree, claims
from evenpace.diagnose.model import NOBODY, Identity
from evenpace.diagnose.roster import Roster


def test_sightings_of_one_part_are_one_claim() -> None:
    known = {"x": signature("x")}
    seen = [sighting("x", Identity(rank=3)), sighting("x", Identity(rank=3, host="n1"))]
    (claim,) = claims(seen, known, Roster())
    assert claim.culprit == Identity(rank=3, host="n1")
    assert len(claim.sightings) == 2


def test_two_broken_parts_are_two_claims() -> None:
    known = {"x": signature("x")}
    seen = [sighting("x", Identity(gpu="0000:3e:00")), sighting("x", Identity(gpu="0000:b1:00"))]
    assert len(claims(seen, known, Roster())) == 2


def test_a_sighting_of_nobody_joins_the_named_one() -> None:
    known = {"x": signature("x")}
    (claim,) = claims([sighting("x"), sighting("x", Identity(rank=0))], known, Roster())
    assert claim.culprit == Identity(rank=0)
    assert len(claim.sightings) == 2


def test_what_spreads_is_blamed_on_the_first() -> None:
    known = {"x": signature("x", spreads=True)}
    seen = [sighting("x", Identity(gpu="2")), sighting("x", Identity(gpu="3"))]
    (claim,) = claims(seen, known, Roster())
    assert claim.culprit == Identity(gpu="2")
    assert claim.victims == [Identity(gpu="3")]


def test_a_program_that_fails_on_most_ranks_is_nobodys_part() -> None:
    known = {"x": signature("x", fault="oom-gpu")}
    seen = [sighting("x", Identity(rank=rank)) for rank in range(4)]
    (claim,) = claims(seen, known, Roster(world=4))
    assert claim.culprit == NOBODY


def test_hardware_that_fails_on_several_gpus_stays_named() -> None:
    known = {"x": signature("x")}
    seen = [sighting("x", Identity(gpu=str(gpu))) for gpu in range(4)]
    assert len(claims(seen, known, Roster(world=4))) == 4


def test_identities_agree_where_something_is_equal_and_nothing_differs() -> None:
    assert agree(Identity(rank=3), Identity(rank=3, host="n1"))
    assert agree(Identity(gpu="PCI:0000:9b:00"), Identity(gpu="0000:9b:00.0"))
    assert not agree(Identity(rank=3), Identity(host="n1"))
    assert not agree(Identity(rank=3, host="n1"), Identity(rank=3, host="n2"))
    assert not agree(NOBODY, Identity(rank=3))
    assert agree(NOBODY, NOBODY)
