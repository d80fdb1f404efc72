from __future__ import annotations

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.verdicts import bears_out, names, same


def test_who_was_named_before_is_not_blamed_for_what_its_own_time_does_not_explain():
    named = SlowVerdict(SlowKind.NON_COMMUNICATION, (3,))
    own = {0: 0.0, 1: 0.01, 2: 0.0, 3: 0.3}
    assert bears_out(SlowVerdict(SlowKind.UNCLEAR, excess=own, lost=0.5), named)
    assert not bears_out(SlowVerdict(SlowKind.UNCLEAR, excess=own, lost=2.0), named)
    assert not bears_out(SlowVerdict(SlowKind.UNCLEAR, excess={**own, 1: 0.4}, lost=0.5), named)


def test_a_rank_or_a_link_is_a_name() -> None:
    assert names(SlowVerdict(SlowKind.NON_COMMUNICATION, culprits=(3,)))
    assert names(SlowVerdict(SlowKind.COMMUNICATION, link=(1, 2)))
    assert not names(SlowVerdict(SlowKind.COMMUNICATION))


def test_numbers_do_not_make_another_verdict() -> None:
    one = SlowVerdict(SlowKind.NON_COMMUNICATION, culprits=(3,), lost=1.0)
    assert same(one, SlowVerdict(SlowKind.NON_COMMUNICATION, culprits=(3,), lost=2.0))
    assert not same(one, SlowVerdict(SlowKind.NON_COMMUNICATION, culprits=(4,), lost=1.0))
