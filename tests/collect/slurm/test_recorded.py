"""What five versions of Slurm printed of the same cluster gives the same facts, as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.slurm.hostlist import Hostlists
from evenpace.collect.slurm.model import Job, Node, Partition, PastJob, Reservation
from evenpace.collect.slurm.reading import of_json, of_text

RECORDED = Path(__file__).with_name("recorded")
KINDS = {
    "scontrol_show_node": "nodes",
    "sinfo": "nodes",
    "scontrol_show_partition": "partitions",
    "scontrol_show_reservation": "reservations",
    "squeue": "jobs",
    "scontrol_show_job": "jobs",
    "sacct": "accounting",
}
FILES = sorted(path for path in RECORDED.rglob("*.*") if path.stem in KINDS)
REASON = "xid 79 seen: 2 of 8 = bad (see #12)"
# In the recording of 23.11 no slurmd ran, so no node had told its state and no job had started.
IDLE = "23.11"


def read(path: Path) -> tuple[Any, ...]:
    kind, lists = KINDS[path.stem], Hostlists()
    if path.suffix == ".json":
        return tuple(of_json(kind, path.read_bytes(), lists))
    return tuple(of_text(kind, path.read_text("utf-8"), lists))


def named(path: Path) -> str:
    return path.relative_to(RECORDED).as_posix()


def of(*stems: str) -> list[Path]:
    return [path for path in FILES if path.stem in stems]


@pytest.mark.parametrize("path", of("scontrol_show_node", "sinfo"), ids=named)
def test_nodes(path: Path) -> None:
    nodes: dict[str, Node] = {node.name: node for node in read(path)}
    assert set(nodes) == {"gpu1", "gpu2", "gpu3", "gpu4"}
    bad = nodes["gpu4"]
    assert (bad.reason, bad.reason_user) == (REASON, "root")
    assert bad.reason_time is not None
    assert bad.reason_time.year == 2026
    assert [(one.gres, one.gpus, one.cpus, one.memory) for one in nodes.values()] == [
        ("gpu:h200:8", 8, 8, 1000)
    ] * 4
    assert bad.features == ("nvlink", "ib")
    assert set(nodes["gpu1"].partitions) == {"train", "debug"}
    assert nodes["gpu3"].reason == ""
    if IDLE in named(path):
        assert "UNKNOWN" in bad.states
        return
    assert bad.states[:2] == ("IDLE", "DRAIN")
    assert nodes["gpu1"].states == ("MIXED",)
    if path.stem == "scontrol_show_node":
        assert bad.os == "Linux 6.8.0-45-generic #1 SMP PREEMPT_DYNAMIC @0"
        assert bad.version.count(".") == 2
        assert (nodes["gpu1"].gpus_used, nodes["gpu4"].gpus_used or 0) == (8, 0)
        assert bad.last_busy
        assert bad.booted
        assert bad.slurmd_started
        assert bad.booted < bad.slurmd_started


@pytest.mark.parametrize("path", of("scontrol_show_partition"), ids=named)
def test_partitions(path: Path) -> None:
    train, debug = read(path)
    both = ("gpu1", "gpu2")
    json = path.suffix == ".json"
    mode = "" if json else "OFF"
    assert debug == Partition("debug", ("UP",), both, False, 1800, 600, mode, 120, 10)
    assert train == Partition("train", ("UP",), (*both, "gpu3", "gpu4"), not json, None, None, mode, 0, 1)


@pytest.mark.parametrize("path", of("scontrol_show_reservation"), ids=named)
def test_reservations(path: Path) -> None:
    (spare,) = read(path)
    assert isinstance(spare, Reservation)
    assert (spare.name, spare.nodes, spare.users, spare.accounts) == ("spare", ("gpu3",), ("root",), ())
    assert spare.flags == ("IGNORE_JOBS", "SPEC_NODES")
    assert spare.start
    assert spare.end
    assert (spare.end - spare.start).days == 7


@pytest.mark.parametrize("path", of("squeue", "scontrol_show_job"), ids=named)
def test_jobs(path: Path) -> None:
    jobs: dict[str, Job] = {job.id: job for job in read(path)}
    train, array = jobs["2"], jobs["3"]
    assert (train.name, train.user, train.partition, train.batch, train.requeue) == (
        *("train-70b", "root", "train"),
        *(True, True),
    )
    assert (train.node_count, train.gpus, train.time_limit, train.restarts) == (2, 16, 86400, 0)
    assert train.command == "/srv/slurm/train.sh"
    assert "%N" in train.stdout
    assert train.signal is None
    assert (array.node_count, array.gpus, array.requeue, array.excluded) == (3, 24, False, ("gpu4",))
    assert array.time_limit is None
    if IDLE not in named(path):
        assert (train.states, train.nodes) == (("RUNNING",), ("gpu1", "gpu2"))
        assert train.started
        assert "1" not in jobs  # it has failed: that is the accounting's


@pytest.mark.parametrize("path", of("squeue"), ids=named)
def test_a_job_name_cannot_forge_fields_of_json(path: Path) -> None:
    job = next(job for job in read(path) if job.id == "3")
    assert (job.states, job.user, job.started) == (("PENDING",), "root", None)


@pytest.mark.parametrize("path", of("scontrol_show_job"), ids=named)
def test_fields_that_a_job_name_may_have_forged_are_left_out_of_text(path: Path) -> None:
    job = next(job for job in read(path) if job.id == "3")
    assert (job.states, job.user) == ((), "")


@pytest.mark.parametrize("path", of("sacct"), ids=named)
def test_accounting(path: Path) -> None:
    past: dict[str, PastJob] = {job.id: job for job in read(path)}
    failed = past["1"]
    assert (failed.user, failed.partition, failed.time_limit) == ("root", "debug", 600)
    if IDLE not in named(path):
        assert (failed.states, failed.nodes, failed.gpus) == (("FAILED",), ("gpu1",), 1)
        if named(path) != "22.05/sacct.json":  # which says 0 where the table says 3
            assert (failed.exit_code, failed.signal or 0) == (3, 0)
        assert failed.started
        assert failed.ended


def test_state_of_a_job_is_a_plain_text_in_23_02() -> None:
    job = {"job_id": 7, "job_state": "RUNNING", "time_limit": {"set": True, "infinite": False, "number": 5}}
    (found,) = of_json("jobs", msgspec.json.encode({"jobs": [job]}), Hostlists())
    assert (found.states, found.time_limit) == (("RUNNING",), 300)


def test_a_task_of_an_array_has_the_id_that_people_write() -> None:
    number = {"set": True, "infinite": False, "number": 0}
    job = {
        "job_id": 9,
        "array_job_id": number | {"number": 7},
        "array_task_id": number,
        "job_state": ["PENDING"],
    }
    (found,) = of_json("jobs", msgspec.json.encode({"jobs": [job]}), Hostlists())
    assert found.id == "7_0"


def test_output_without_the_name_of_a_node_stays_without() -> None:
    text = "JobId=7 JobState=RUNNING BatchHost=gpu1 StdOut=/x/train-7.out\n"
    assert of_text("jobs", text, Hostlists())[0].stdout == "/x/train-7.out"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
JSON = [path for path in FILES if path.suffix == ".json" and path.parts[-2] in {"22.05", "24.11"}]


@pytest.mark.parametrize("path", JSON, ids=named)
@given(data=st.data())
def test_json_with_fields_of_any_shape_is_read(path: Path, data: st.DataObject) -> None:
    document = msgspec.json.decode(path.read_bytes())
    key = next(one for one in ("nodes", "jobs", "partitions", "reservations", "sinfo") if one in document)
    record = document[key][0]
    for field in data.draw(st.lists(st.sampled_from(sorted(record)), max_size=8)):
        record[field] = data.draw(VALUES)
    raw = msgspec.json.encode({key: [record, data.draw(VALUES)]})
    try:
        found = of_json(KINDS[path.stem], raw, Hostlists(most=1000))
    except ValueError:
        return
    for one in found:
        msgspec.convert(msgspec.to_builtins(one), type(one))


@given(st.text(alphabet=st.sampled_from(list("JobId=NodeName State[1-9]|,\n @:+")), max_size=200))
def test_text_of_any_shape_is_read_or_refused(text: str) -> None:
    for kind in ("config", "nodes", "partitions", "reservations", "jobs", "accounting", "topology"):
        try:
            of_text(kind, f"JobId=1 {text}\nNodeName=a {text}\nState|{text}", Hostlists(most=1000))
        except ValueError:
            continue


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"jobs": 3}', b"{}", b"[" * 10_000, b'{"jobs": [' + b"[" * 5000]
)
def test_json_that_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its message is the reason that is told
        of_json("jobs", raw, Hostlists())
