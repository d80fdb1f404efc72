from __future__ import annotations

from tests.diagnose.made import sighting, signature

from evenpace.diagnose.attribution import Verdict, attribute
from evenpace.diagnose.claims import claims
from evenpace.diagnose.model import Identity, Sighting
from evenpace.diagnose.roster import Roster
from evenpace.diagnose.signature import Signature


def judge(signatures: list[Signature], *seen: Sighting) -> Verdict:
    return attribute(claims(seen, {one.id: one for one in signatures}, Roster()))


def ids(verdict: Verdict) -> list[str]:
    return [claim.signature.id for claim in verdict.answers]


ECC = signature("ecc", explains=["oom"])
OOM = signature("oom", fault="oom-gpu")
TIMEOUT = signature("timeout", fault="unexplained-failure", role="consequence")
SMELL = signature("smell", fault="config", role="hint", certainty=0.9)


def test_a_cause_explains_every_consequence_and_names_its_printers_as_victims() -> None:
    verdict = judge([ECC, TIMEOUT], sighting("timeout", Identity(rank=3)), sighting("ecc", Identity(rank=0)))
    assert ids(verdict) == ["ecc"]
    assert verdict.answers[0].victims == [Identity(rank=3)]


def test_less_said_about_the_culprit_makes_no_victim_of_it() -> None:
    said = [sighting("timeout", Identity(local_rank=1)), sighting("timeout", Identity(rank=0))]
    verdict = judge([ECC, TIMEOUT], *said, sighting("ecc", Identity(rank=1, local_rank=1)))
    assert verdict.answers[0].victims == [Identity(rank=0)]


def test_a_cause_is_first_although_another_cause_is_surer() -> None:
    verdict = judge([ECC, OOM], sighting("oom"), sighting("ecc"))
    assert ids(verdict) == ["ecc"]


def test_what_came_long_before_is_not_explained() -> None:
    verdict = judge([ECC, OOM], sighting("oom", time=1000.0), sighting("ecc", time=5000.0))
    assert sorted(ids(verdict)) == ["ecc", "oom"]


def test_clocks_of_two_hosts_may_differ_a_little() -> None:
    verdict = judge([ECC, OOM], sighting("oom", time=1000.0), sighting("ecc", time=1060.0))
    assert ids(verdict) == ["ecc"]


def test_independent_causes_are_several_answers() -> None:
    other = signature("disk", fault="storage", certainty=0.8)
    assert ids(judge([ECC, other], sighting("disk"), sighting("ecc"))) == ["ecc", "disk"]


def test_a_hint_is_told_only_where_nothing_better_is_known() -> None:
    assert ids(judge([ECC, SMELL], sighting("smell"), sighting("ecc"))) == ["ecc"]
    assert ids(judge([SMELL, TIMEOUT], sighting("smell"), sighting("timeout"))) == ["smell"]


def test_consequences_alone_name_nobody() -> None:
    verdict = judge([TIMEOUT], sighting("timeout", Identity(rank=3)))
    assert verdict.answers == []
    assert [claim.signature.id for claim in verdict.consequences] == ["timeout"]


def test_a_consequence_with_a_usual_cause_says_it() -> None:
    usual = signature("bare-error", fault="shm", role="consequence", certainty=0.4)
    assert ids(judge([usual, TIMEOUT], sighting("timeout"), sighting("bare-error"))) == ["bare-error"]


def test_two_broken_gpus_of_one_host_are_one_answer() -> None:
    lost = signature("lost")
    verdict = judge(
        [ECC, lost],
        sighting("ecc", Identity(host="n3", gpu="0000:3e:00")),
        sighting("lost", Identity(host="n3", gpu="0000:b1:00")),
    )
    assert [claim.culprit for claim in verdict.answers] == [
        Identity(host="n3", gpu=("0000:3e:00", "0000:b1:00"))
    ]


def test_causes_that_explain_each_other_leave_one() -> None:
    one, other = signature("one", explains=["other"]), signature("other", explains=["one"], certainty=0.7)
    assert ids(judge([one, other], sighting("other"), sighting("one"))) == ["one"]


def test_what_was_over_long_before_is_told_after_the_answer() -> None:
    verdict = judge([ECC, TIMEOUT], sighting("ecc", time=1000.0), sighting("timeout", time=900_000.0))
    assert ids(verdict) == []
    assert [claim.signature.id for claim in verdict.older] == ["ecc"]


def test_of_two_causes_days_apart_the_later_is_the_answer() -> None:
    disk = signature("disk", fault="storage", certainty=0.6)
    verdict = judge([ECC, disk], sighting("ecc", time=1000.0), sighting("disk", time=900_000.0))
    assert ids(verdict) == ["disk"]
    assert [claim.signature.id for claim in verdict.older] == ["ecc"]


def test_a_suspicion_does_not_hide_an_exception_of_its_own() -> None:
    gone = signature("peer-gone", fault="user-code-exception", certainty=0.48)
    own = signature("own", fault="user-code-exception", role="hint", certainty=0.55)
    assert ids(judge([gone, own], sighting("peer-gone"), sighting("own")))[0] == "own"


def test_trouble_without_a_time_is_as_late_as_the_end_of_its_log() -> None:
    seen = [sighting("ecc", source="dmesg.txt", time=1000.0), sighting("oom", source="train.log")]
    known = {one.id: one for one in (ECC, OOM)}
    verdict = attribute(claims(seen, known, Roster()), {"train.log": 900_000.0, "dmesg.txt": 1000.0})
    assert ids(verdict) == ["oom"]
    assert [claim.signature.id for claim in verdict.older] == ["ecc"]
