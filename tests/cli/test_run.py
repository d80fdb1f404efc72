"""`evenpace run` as a person uses it: a process of its own, with a few lines of shell for a torchrun."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from evenpace.findings import Finding
from evenpace.respond.launchers.processes import kill_all, members
from evenpace.watch import events as ev
from evenpace.watch.eventlog import EventTail, read_events

MAIN = [sys.executable, "-c", "from evenpace.cli import main; main()", "run"]


class Evenpace:
    """Start `evenpace run` in a folder of the test."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home, self.environment = home, environment
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*MAIN, *words],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def events(self, run: str = "run") -> list[ev.Event]:
        return EventTail(self.home / run / "events.jsonl").read()


@pytest.fixture
def evenpace(tmp_path: Path) -> Iterator[Evenpace]:
    source = str(Path(ev.__file__).parents[2])
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": source, "PATH": path}
    made = Evenpace(tmp_path, environment)
    yield made
    for process in made.processes:
        process.kill()
        process.communicate()
    for run in tmp_path.glob("**/events.jsonl"):
        kill_all(lambda run=run: members(str(run.parent)), lambda seconds: None)
        for link in run.parent.glob("rings/*"):
            if link.is_symlink():  # left in memory by an evenpace that a test has killed
                shutil.rmtree(link.resolve().parent, ignore_errors=True)


@pytest.fixture
def torchrun(tmp_path: Path) -> Callable[[str], None]:
    def install(script: str) -> None:
        program = tmp_path / "bin/torchrun"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)

    return install


def test_the_command_runs_as_it_is(evenpace: Evenpace) -> None:
    code, out, err = evenpace.run("--tap", "off", "--", "sh", "-c", "echo to you; echo and you >&2; exit 0")
    assert (code, out) == (0, "to you\nand you\n")
    (folder,) = (evenpace.home / "evenpace-runs").iterdir()
    assert folder.name.endswith("-sh")
    first, last = err.splitlines()[0], err.splitlines()[-1]
    shown = folder.relative_to(evenpace.home)
    assert first == (
        f"evenpace: recording to {shown}; see the story so far at any time with: evenpace report {shown}"
    )
    assert last.endswith(f"evenpace report {shown}")


def test_where_it_records_is_said_in_korean(evenpace: Evenpace) -> None:
    _, out, err = evenpace.run("--lang", "ko", "--tap", "off", "--run-dir", "run", "--", "sh", "-c", "exit 0")
    assert out == ""
    assert err.splitlines()[0] == "evenpace: 기록 위치: run. 실행 중에도 보기: evenpace report run"


def test_the_exit_code_is_the_jobs_and_quiet_is_quiet(evenpace: Evenpace) -> None:
    code, out, err = evenpace.run("--quiet", "--run-dir", "run", "sh", "-c", "echo x; exit 5")
    assert (code, out) == (5, "")
    assert "recording to" not in err
    ended = evenpace.events()[-1]
    assert isinstance(ended, ev.RunEnded)
    assert (ended.outcome, ended.exit_code) == ("failed", 5)


def test_nodes_have_names_ranks_and_logs(evenpace: Evenpace, torchrun: Any) -> None:
    torchrun('echo "$2"')
    code, out, _ = evenpace.run("--nodes", "2", "--run-dir", "run", "--", "torchrun", "train.py")
    assert code == 0
    assert sorted(out.splitlines()) == ["[node0] --node-rank=0", "[node1] --node-rank=1"]
    assert (evenpace.home / "run/logs/0/node1.log").read_text() == "--node-rank=1\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no command to run"),
        (["--", "no-such-program"], "command not found: no-such-program"),
        (["--nodes", "2", "--", "sh", "x"], "begin it with torchrun"),
        (["--nodes", "2", "--", "torchrun", "--nnodes=2", "x.py"], "leave --nnodes out"),
        (["--spares", "1", "--", "sh"], "--spares needs --nodes"),
        (["--run-dir", "/proc/nowhere", "--", "sh"], "choose another --run-dir"),
        (["--attach", "missing"], "has no events.jsonl"),
        (["--attach", "missing", "--", "sh"], "--attach takes no command"),
        (["--attach", "missing", "--policy", "restart"], "leave --policy out"),
        (["--policy", "hope", "--", "sh"], "--policy"),
        (["--frobnicate", "--", "sh"], "--frobnicate"),
        (["--nodes", "0", "--", "sh"], "--nodes"),
    ],
)
def test_bad_input_is_one_clear_line(
    evenpace: Evenpace, torchrun: Any, words: list[str], message: str
) -> None:
    torchrun("exit 0")
    code, out, err = evenpace.run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("evenpace: ")
    assert err.count("\n") == 1


def test_a_run_within_a_run_is_refused(evenpace: Evenpace) -> None:
    evenpace.environment["EVENPACE_RUN"] = "/outer"
    code, _, err = evenpace.run("--", "sh")
    assert code == 2
    assert "inside an `evenpace run` already" in err


def test_help_has_an_example_and_the_exit_codes(evenpace: Evenpace) -> None:
    code, out, _ = evenpace.run("--help")
    assert code == 0
    assert "evenpace run -- torchrun" in out
    assert "75 where --policy restart gave up" in out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 9), (signal.SIGINT, 9), (signal.SIGHUP, 9)])
def test_signals_reach_the_job(evenpace: Evenpace, eventually: Any, number: int, code: int) -> None:
    script = "trap 'exit 9' TERM INT HUP; touch ready; while :; do sleep 0.05; done"
    process = evenpace.start("--run-dir", "run", "--", "sh", "-c", script)
    eventually((evenpace.home / "ready").exists)
    process.send_signal(number)
    assert process.wait(30) == code
    ended = evenpace.events()[-1]
    assert isinstance(ended, ev.RunEnded)
    assert ended.outcome == "interrupted"


WAITS = 'echo "begin $EVENPACE_NODE"; while [ ! -e go ]; do sleep 0.05; done; echo "end $EVENPACE_NODE"'


def test_killing_evenpace_stops_nothing_and_attach_goes_on(
    evenpace: Evenpace, torchrun: Any, eventually: Any
) -> None:
    torchrun(WAITS)
    first = evenpace.start("--nodes", "2", "--run-dir", "run", "--", "torchrun", "train.py")
    logs = [evenpace.home / f"run/logs/0/node{number}.log" for number in (0, 1)]
    eventually(lambda: all(log.exists() and log.read_text() for log in logs))
    eventually(lambda: any(isinstance(event, ev.IncarnationStarted) for event in evenpace.events()))
    code, _, err = evenpace.run("--attach", "run")
    assert code == 2
    assert "being watched by another evenpace" in err
    first.send_signal(signal.SIGKILL)
    first.wait(30)
    (started,) = (event for event in evenpace.events() if isinstance(event, ev.IncarnationStarted))
    assert all(psutil.Process(pid).is_running() for pid in started.agents.values())
    (Path(started.rings) / "kept").touch()
    second = evenpace.start("--attach", "run")
    eventually(lambda: any(isinstance(event, ev.WatchAttached) for event in evenpace.events()))
    (evenpace.home / "go").touch()
    out, _ = second.communicate(timeout=60)
    assert second.returncode == 1  # nobody knows how agents without workers ended: no success is made up
    assert sorted(out.splitlines()) == ["[node0] end node0", "[node1] end node1"]
    events = list(read_events(evenpace.home / "run/events.jsonl"))
    assert [type(event).__name__ for event in events[-4:]] == [
        "WatchAttached",
        "WatchDegraded",
        "IncarnationEnded",
        "RunEnded",
    ]
    assert (events[-1].outcome, events[-2].exit_code) == ("unknown", None)  # type: ignore[union-attr]
    assert not (evenpace.home / "run/rings/0").is_symlink()
    assert (evenpace.home / "run/rings/0/kept").exists()
    code, _, err = evenpace.run("--attach", "run")
    assert code == 2
    assert "is over" in err


def test_attach_begins_the_restart_that_was_decided(evenpace: Evenpace, torchrun: Any) -> None:
    torchrun('echo "$EVENPACE_NODE from $EVENPACE_CHECKPOINT"')
    time = "2026-01-02T03:04:05.000Z"
    log = [
        ev.RunStarted(
            time=time, run="run", version="0", host="h", command=["torchrun", "x.py"], policy="restart",
            nodes=["node0", "node1"], spares=["spare0"], restarts=3, max_nodes_out=1,
        ),
        ev.IncarnationStarted(time=time, incarnation=0, agents={"node0": 1, "node1": 1}, rings="rings/0"),
        ev.IncarnationEnded(time=time, incarnation=0, outcome="stopped"),
        ev.Decision(
            time=time, incarnation=0, policy="restart", action="restart", reason="r",
            nodes_out=["node1"], nodes_in=["spare0"], checkpoint="c/step-20", step=20,
        ),
    ]  # fmt: skip
    (evenpace.home / "run").mkdir()
    (evenpace.home / "run/events.jsonl").write_bytes(b"".join(ev.encode(event) + b"\n" for event in log))
    code, out, err = evenpace.run("--attach", "run")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[node0] node0 from c/step-20", "[spare0] spare0 from c/step-20"]
    (started,) = (e for e in evenpace.events() if isinstance(e, ev.IncarnationStarted) and e.incarnation == 1)
    assert (list(started.agents), started.step) == (["node0", "spare0"], 20)


def test_a_damaged_log_is_attached_to_as_far_as_it_can_be_read(evenpace: Evenpace) -> None:
    (evenpace.home / "run").mkdir()
    (evenpace.home / "run/events.jsonl").write_bytes(b"\x00\xff damage\n")
    code, _, err = evenpace.run("--attach", "run")
    assert code == 2
    assert "no event that can be read" in err


def test_without_a_folder_for_rings_the_job_runs(evenpace: Evenpace) -> None:
    (evenpace.home / "run").mkdir()
    (evenpace.home / "run/rings").write_text("in the way")
    code, out, _ = evenpace.run("--run-dir", "run", "--", sys.executable, "-c", "print('trained')")
    assert (code, out) == (0, "trained\n")


SCRIPT = """
import os, signal
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
for step in range(5):
    dist.all_reduce(total)
    if step == 2 and os.environ["EVENPACE_INCARNATION"] == "0" and os.environ["EVENPACE_NODE"] == "node1":
        os.kill(os.getpid(), signal.SIGKILL)
print("world", dist.get_world_size(), "on", os.environ["EVENPACE_NODE"])
dist.destroy_process_group()
"""


@pytest.mark.torch
def test_a_killed_worker_costs_its_node_and_the_job_goes_on_with_real_torchrun(evenpace: Evenpace) -> None:
    (evenpace.home / "train.py").write_text(SCRIPT)
    program = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=1", "train.py"]
    evenpace.environment["OMP_NUM_THREADS"] = "1"
    options = ["--nodes", "2", "--spares", "1", "--policy", "restart", "--run-dir", "run"]
    process = evenpace.start(*options, "--", *program)
    out, err = process.communicate(timeout=110)
    assert process.returncode == 0, err
    assert sorted(line for line in out.splitlines() if "world" in line) == [
        "[node0] world 2 on node0",
        "[spare0] world 2 on spare0",
    ]
    raised = [event for event in evenpace.events() if isinstance(event, ev.FindingRaised)]
    assert raised[-1].finding.subject.node == "node1"
    assert "take out node1, put in spare0" in err


OUT_OF_MEMORY = """
import os, signal, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
for step in range(5):
    dist.all_reduce(total)
    if step == 2 and dist.get_rank() == 1 and "killed" in sys.argv:
        print("Killed", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 2 and dist.get_rank() == 1:
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB "
            "of which 1.20 GiB is free."
        )
dist.destroy_process_group()
"""


def crash(evenpace: Evenpace, *words: str) -> tuple[Finding, str]:
    """Return the one finding of a job with two workers, and what was said on the terminal."""
    (evenpace.home / "train.py").write_text(OUT_OF_MEMORY)
    evenpace.environment["OMP_NUM_THREADS"] = "1"
    program = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "train.py", *words]
    process = evenpace.start("--run-dir", "run", "--quiet", "--", *program)
    _, err = process.communicate(timeout=110)
    (raised,) = (event for event in evenpace.events() if isinstance(event, ev.FindingRaised))
    return raised.finding, err


def report(evenpace: Evenpace, *words: str) -> str:
    program = [*MAIN[:-1], "report", "run", *words]
    environment = {**evenpace.environment, "COLUMNS": "400"}
    return subprocess.run(
        program, cwd=evenpace.home, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.torch
def test_the_log_tells_why_a_real_worker_raised(evenpace: Evenpace) -> None:
    finding, err = crash(evenpace)
    assert (finding.fault, finding.subject.rank, finding.subject.gpu) == ("oom-gpu", 1, None)
    assert "GPU out of memory: rank 1 on " in err
    told = json.loads(report(evenpace, "--format", "json"))["findings"]
    assert [(one["fault"], one["subject"]["rank"]) for one in told] == [("oom-gpu", 1)]
    assert "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" in report(evenpace)
    korean = report(evenpace, "--lang", "ko")
    assert "GPU 메모리 부족" in korean
    assert "activation checkpointing 적용" in korean
    assert "GPU memory is exhausted" not in korean


@pytest.mark.torch
def test_a_kill_that_no_log_explains_stays_a_kill(evenpace: Evenpace) -> None:
    finding, err = crash(evenpace, "killed")
    assert (finding.fault, finding.subject.rank) == ("worker-killed", 1)
    assert "was killed by SIGKILL" in err
