from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evenpace.collect.slurm import live
from evenpace.collect.slurm.commands import NotRead
from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread, Why

RECORDED = Path(__file__).with_name("recorded")
NAMES = {
    "config": "scontrol_show_config.txt",
    "nodes": "scontrol_show_node.txt",
    "partitions": "scontrol_show_partition.txt",
    "reservations": "scontrol_show_reservation.txt",
    "topology": "scontrol_show_topology.txt",
    "jobs": "squeue.json",
    "jobs as text": "scontrol_show_job.txt",
    "accounting": "sacct.txt",
}
NOW = datetime(2026, 11, 30, 16, tzinfo=UTC)


class Answers:
    """Answer as a recorded version does, but for some questions; `asked` are all questions."""

    def __init__(self, version: str, other: Mapping[str, bytes | Unread] | None = None) -> None:
        self.asked: list[str] = []
        self._folder, self._other = RECORDED / version, dict(other or {})

    def __call__(self, asked: str, limit: float) -> bytes:
        self.asked.append(asked)
        assert 0 < limit <= live.LIMIT
        answer = self._other.get(asked)
        if isinstance(answer, Unread):
            raise NotRead(answer)
        return (self._folder / NAMES[asked]).read_bytes() if answer is None else answer


def failed(detail: str, why: Why = Why.FAILED) -> Unread:
    return Unread(why, "command", detail)


def read(answers: Answers, user: str = "ann") -> Snapshot:
    return live.read(set(TYPES) - {"scripts", "gres.conf"}, answers, lambda: NOW, user=user)


@pytest.mark.parametrize("version", ["22.05", "23.11", "24.11", "25.11"])
def test_every_version_is_read_whole(version: str) -> None:
    snapshot = read(Answers(version))
    assert dict(snapshot.unread) == {}
    assert (snapshot.family, snapshot.source, snapshot.taken) == ("slurm", "cluster hopper", NOW)
    assert snapshot.version is not None
    assert snapshot.version.startswith(version)
    assert [len(snapshot.kinds[kind]) for kind in ("nodes", "partitions", "reservations")] == [4, 2, 1]


def test_only_what_the_checks_need_is_asked() -> None:
    answers = Answers("24.11")
    live.read({"nodes"}, answers, lambda: NOW)
    assert answers.asked == ["config", "nodes"]


def test_a_slurm_without_json_is_asked_for_text() -> None:
    answers = Answers("22.05", {"jobs": failed("squeue: unrecognized option '--json'")})
    assert [job.id for job in read(answers).kinds["jobs"]] == ["2", "3"]
    assert answers.asked.count("jobs as text") == 1


def test_json_that_is_printed_empty_is_asked_for_as_text() -> None:
    assert len(read(Answers("23.11", {"jobs": b""})).kinds["jobs"]) == 3


def test_jobs_are_not_asked_for_twice_after_a_timeout() -> None:
    answers = Answers("24.11", {"jobs": failed("longer than 60 s", Why.TIMEOUT)})
    assert read(answers).unread["jobs"].why is Why.TIMEOUT
    assert "jobs as text" not in answers.asked


def test_a_column_that_sacct_does_not_know_is_left_out() -> None:
    table = (RECORDED / "22.05" / NAMES["accounting"]).read_bytes()
    unknown = failed('sacct: error: Invalid field requested: "FailedNode"')
    answers = Answers("22.05", {"accounting": unknown, "accounting without FailedNode": table})
    assert len(read(answers).kinds["accounting"]) == 1


def test_a_controller_that_does_not_answer_is_asked_once_and_the_accounting_still_read() -> None:
    gone = failed("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)")
    answers = Answers("24.11", {"config": gone})
    snapshot = read(answers)
    assert answers.asked == ["config", "accounting"]
    assert {reason.detail for reason in snapshot.unread.values()} == {gone.detail}
    assert set(snapshot.kinds) == {"accounting"}


def test_all_commands_together_have_a_limit() -> None:
    clock = iter([0.0, 0.0, *[live.IN_ALL + 1] * 99])
    snapshot = live.read(TYPES, Answers("24.11"), lambda: NOW, lambda: next(clock), "root")
    assert snapshot.unread["nodes"].why is Why.TIMEOUT
    assert "config" in snapshot.kinds


def test_what_the_settings_switch_off_is_absent_and_not_asked_for() -> None:
    config = b"ClusterName = a\nAccountingStorageType = (null)\nTopologyPlugin = topology/none\n"
    answers = Answers("24.11", {"config": config})
    unread = read(answers).unread
    assert {unread[kind].why for kind in ("accounting", "topology")} == {Why.ABSENT}
    assert {"accounting", "topology"} & set(answers.asked) == set()


def test_damaged_answers_are_reasons(recwarn: pytest.WarningsRecorder) -> None:
    damaged = {
        "nodes": b"\xff\x00",
        "jobs": b"{",
        "jobs as text": b"?",
        "accounting": b"",
        "partitions": b"[",
    }
    unread = read(Answers("24.11", damaged)).unread
    assert {kind: reason.why for kind, reason in unread.items()} == dict.fromkeys(
        ("nodes", "jobs", "accounting", "partitions"), Why.MALFORMED
    )


def test_more_names_than_any_cluster_has_are_too_large() -> None:
    bomb = b"PartitionName=a Nodes=n[1-99999999]\n"
    assert read(Answers("24.11", {"partitions": bomb})).unread["partitions"].why is Why.TOO_LARGE


@pytest.mark.parametrize(
    ("user", "administrators", "seen"),
    [
        ("root", b"", True),
        ("slurm", b"", True),
        ("ann", b"ann|None\nbob|Administrator\n", False),
        ("ann", b"ann|Operator\n", True),
        ("ann", failed("permission denied", Why.FORBIDDEN), False),
    ],
)
def test_jobs_that_are_shown_in_part_are_not_taken_for_all(
    user: str, administrators: bytes | Unread, seen: bool
) -> None:
    config = b"SlurmUser = slurm(64030)\nPrivateData = accounts,jobs\n"
    snapshot = read(Answers("24.11", {"config": config, "administrators": administrators}), user)
    assert ("jobs" in snapshot.kinds, "accounting" in snapshot.kinds) == (seen, seen)
    if not seen:
        assert snapshot.unread["jobs"].why is Why.FORBIDDEN


def test_available_is_whether_the_commands_are_installed(tmp_path: Path) -> None:
    assert not live.available({"PATH": str(tmp_path)})
    (tmp_path / "scontrol").touch(0o755)
    assert live.available({"PATH": f":{tmp_path}"})
