"""Lost connections: one remote host that all miss; one log that is silent."""

from __future__ import annotations

from dataclasses import replace

from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges.peers import judge
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Source


def closed(witness: str, peer: str) -> str:
    said = f"socketProgress: Connection closed by remote peer {peer}<4001>"
    return f"{witness}:91:95 [0] misc/socket.cc:49 NCCL WARN {said}"


def test_host_that_all_miss_is_named() -> None:
    (one,) = seen(judge, "\n".join([closed("n1", "10.9.0.4"), closed("n2", "10.9.0.4")]))
    assert (one.signature, one.culprit.host) == ("peer-died", "10.9.0.4")
    assert {victim.host for victim in one.victims} == {"n1", "n2"}


def test_complaint_of_itself_and_of_an_own_address_do_not_count() -> None:
    own = "n1:91:91 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.1<0>"
    assert seen(judge, f"{own}\n{closed('n1', '10.9.0.1')}\n{closed('n1', 'n1.cluster.local')}") == []


def test_two_hosts_that_accuse_each_other_are_both_victims() -> None:
    assert seen(judge, f"{closed('n1', 'n2')}\n{closed('n2', 'n1')}") == []


def test_chain_of_complaints_ends_at_who_complains_of_nobody() -> None:
    (one,) = seen(judge, f"{closed('n1', 'n2')}\n{closed('n2', 'n3')}")
    assert one.culprit.host == "n3"


def test_several_missed_hosts_name_nobody() -> None:
    assert seen(judge, f"{closed('n1', 'n2')}\n{closed('n1', 'n3')}") == []


def test_trouble_of_another_kind_tells_more_than_a_closed_connection() -> None:
    assert seen(judge, f"n2:9:9 [0] NCCL WARN Cuda failure 'out of memory'\n{closed('n1', 'n2')}") == []


def test_network_name_of_a_host_is_the_host() -> None:
    assert seen(judge, f"{closed('n1', 'n2-ib0')}\n{closed('n2', 'n1-ib0')}") == []


def test_mpi_peer_on_the_same_host_is_no_other_host() -> None:
    text = (
        "An MPI communication peer process has unexpectedly disconnected.  This\n"
        "  Local host: n1\n  Local PID:  95\n  Peer host:  {}\n"
    )
    assert seen(judge, text.format("n1")) == []
    (one,) = seen(judge, text.format("n2"))
    assert one.culprit.host == "n2"


def logs(ends: dict[str, float], trouble: set[str]) -> Case:
    lines = [
        line
        for name in ends
        for line in read_lines(
            name, "step 1\n" + (f"{closed('x', 'localhost')}\n" if name in trouble else "")
        )
    ]
    return Case(tuple(Source(name, last=end) for name, end in ends.items()), tuple(lines))


def test_log_that_ends_long_before_the_others_is_the_silent_host() -> None:
    ends = {"node1.log": 1000.0, "node2.log": 400.0, "node3.log": 1004.0}
    (one,) = judge(logs(ends, {"node1.log", "node3.log"}))
    assert (one.signature, one.culprit.host) == ("silent-host", "node2")


def test_log_without_the_trouble_of_all_the_others_is_the_silent_host() -> None:
    ends = {f"node{at}.log": 1000.0 for at in range(4)}
    (one,) = judge(logs(ends, set(ends) - {"node3.log"}))
    assert one.culprit.host == "node3"


def test_silence_is_no_evidence_with_two_logs_or_with_clocks_that_differ_a_little() -> None:
    assert list(judge(logs({"node1.log": 1000.0, "node2.log": 4.0}, {"node1.log"}))) == []
    ends = {"node1.log": 1000.0, "node2.log": 970.0, "node3.log": 1001.0}
    assert list(judge(logs(ends, set(ends)))) == []


def test_files_of_different_kinds_are_no_siblings() -> None:
    case = logs({"job.log": 1000.0, "dmesg.txt": 4.0, "nccl.conf": 1000.0}, {"job.log", "nccl.conf"})
    assert list(judge(case)) == []
    assert list(judge(replace(case, lines=()))) == []
