"""What is put down to a worker, and what to a link."""

from __future__ import annotations

from evenpace.locate.links import LinkTime
from evenpace.respond.probing.judging import Judge, ProbeRequest, Reference


def test_a_link_far_slower_than_a_slow_worker_explains_is_named_beside_it():
    judge = Judge(ProbeRequest(), Reference(), dict(enumerate("abcd")))
    seconds = {(0, 1): 0.2, (1, 2): 4.0, (2, 3): 0.1, (3, 0): 0.1}
    times = [LinkTime(link, took) for link, took in seconds.items()]
    assert judge.slow_links(times, {1}) == {(1, 2)}
    assert judge.slow_links(times, set()) == {(0, 1), (1, 2)}
