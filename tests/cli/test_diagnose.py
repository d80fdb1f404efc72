from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenpace.cli import EXIT_CODES, cli, execute

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

XID = "Mar  3 02:11:07 node7 kernel: NVRM: Xid (PCI:0000:c1:00): 79, pid=4242, GPU has fallen off the bus.\n"
HEALTHY = "".join(f"step {number}: loss 2.{number:03d}\n" for number in range(20))
SPEED = "".join(
    f" iteration {number:8d}/    5000 | time per iteration (ms): 500.0 | tokens/s: 9000.0 | loss: 2.1 |\n"
    for number in range(10, 400, 10)
)


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = execute(cli, ["diagnose", *map(str, words)])
    said = capfd.readouterr()
    return code, said.out, said.err


def findings(capfd: pytest.CaptureFixture[str], *words: object) -> list[dict]:  # type: ignore[type-arg]
    code, out, err = run(capfd, *words, "--format", "json")
    found = json.loads(out)["findings"]
    assert (code, err) == (1 if found else 0, "")
    return found


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kern.log"
    path.write_text(XID)
    return path


def test_something_found_is_1_with_who_what_and_what_to_do(
    capfd: pytest.CaptureFixture[str], kernel: Path
) -> None:
    code, out, err = run(capfd, kernel)
    assert (code, err) == (1, "")
    assert out.startswith("critical  GPU 0000:c1:00 on node7")
    assert "--exclude=node7" in out
    assert "IL-" in out


def test_nothing_found_is_0(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(HEALTHY)
    code, out, _ = run(capfd, tmp_path)
    assert code == 0
    assert "Nothing found" in out


def test_the_exit_codes_are_in_the_table() -> None:
    assert "`diagnose`" in EXIT_CODES["1"]
    assert "`explain`" in EXIT_CODES["1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.log"], "there is no missing.log"),
        ([""], "is empty"),
        (["%x-%j.out"], "nothing matches"),
        (["empty.log"], "no log could be read (1 empty"),
        (["binary.log"], "no log could be read (1 binary"),
        (["hollow"], "there is no log in hollow"),
        (["kern.log", "--expect", "fast"], "is not a range"),
        (["kern.log", "--expect", "9..1 tok/s"], "ends below its start"),
        (["kern.log", "--output", "kern.log"], "is one of the logs"),
        (["kern.log", "--output", "no/folder/x"], "cannot write"),
        (["kern.log", "--format", "pdf"], "'pdf' is not one of"),
        (["kern.log", "--lang", "de"], "'de' is not one of"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_2_and_one_line(
    capfd: pytest.CaptureFixture[str],
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(kernel.parent)
    Path("empty.log").touch()
    Path("binary.log").write_bytes(b"\x7fELF\x00\x00\x01" * 500)
    Path("hollow").mkdir()
    code, out, err = run(capfd, *words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert kernel.read_text() == XID


def test_standard_input(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, XID.encode())
    (found,) = findings(capfd, "-")
    assert found["subject"]["node"] == "node7"
    assert found["evidence"][0]["source"] == "standard input"


def test_a_closed_standard_input(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = run(capfd, "-")
    assert code == 2
    assert "standard input is closed" in err


def test_several_files_are_one_failure(capfd: pytest.CaptureFixture[str], kernel: Path) -> None:
    train = kernel.parent / "train.log"
    train.write_text("[rank3]: torch.distributed.DistBackendError: NCCL error: remote process exited\n")
    code, out, _ = run(capfd, kernel, train, "--format", "json")
    page = json.loads(out)
    assert code == 1
    assert page["read"]["files"] == [str(kernel), str(train)]
    assert page["findings"][0]["subject"]["gpu"] == "0000:c1:00"


@pytest.mark.parametrize(("name", "pack"), [("kern.log.gz", gzip.compress), ("kern.log.zst", zstd.compress)])
def test_compressed_logs(capfd: pytest.CaptureFixture[str], tmp_path: Path, name: str, pack) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / name).write_bytes(pack(XID.encode()))
    (found,) = findings(capfd, tmp_path / name)
    assert found["fault"] == "gpu-hardware"


def test_the_output_pattern_of_a_slurm_job(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train-77-node7.out").write_text(XID)
    (tmp_path / "train-77-node8.out").write_text(HEALTHY)
    _, out, _ = run(capfd, tmp_path / "%x-%j-%N.out", "--format", "json")
    assert len(json.loads(out)["read"]["files"]) == 2


def test_the_folder_of_a_run(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "logs" / "node1.log").write_text(XID)
    _, out, _ = run(capfd, tmp_path, "--format", "json")
    assert json.loads(out)["read"]["files"] == [str(tmp_path / "logs" / "node1.log")]


def test_what_is_expected_makes_a_level_a_finding(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(SPEED)
    assert findings(capfd, log) == []
    (found,) = findings(capfd, log, "--expect", "13500..14000 tok/s")
    assert found["fault"] == "slow-throughput"
    assert findings(capfd, log, "--expect", "8k..9.5k tok/s") == []


def test_korean(capfd: pytest.CaptureFixture[str], kernel: Path) -> None:
    _, out, _ = run(capfd, kernel, "--lang", "ko")
    assert out.startswith("심각  node7의 GPU 0000:c1:00")
    assert "지금 할 일" in out


FORMS = {"text": "critical", "json": "{", "markdown": "## GPU", "sarif": "{", "html": "<!doctype html>"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_to_standard_output_and_to_a_file(
    capfd: pytest.CaptureFixture[str], kernel: Path, form: str
) -> None:
    code, out, _ = run(capfd, kernel, "--format", form)
    assert code == 1
    assert out.startswith(FORMS[form])
    file = kernel.parent / "answer"
    code, said, err = run(capfd, kernel, "--format", form, "--output", file)
    assert (code, said, err) == (1, "", "")
    assert file.read_text("utf-8").startswith(FORMS[form])
    assert "node7" in file.read_text("utf-8")


def test_a_file_whose_name_is_no_text(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "kern-\udcff.log"
    path.write_text(XID)
    for form in FORMS:
        code, _, err = run(capfd, path, "--format", form)
        assert (code, err) == (1, "")


def test_hosts_from_a_log_cannot_become_commands(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "x;reboot:77:99 [0] NCCL WARN Call to posix_fallocate failed : No space left on device\n"
    )
    for found in findings(capfd, tmp_path):
        assert not any("reboot" in (step["command"] or "") for step in found["advice"])


def test_a_page_is_not_for_a_terminal(
    capfd: pytest.CaptureFixture[str], kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, _, err = run(capfd, kernel, "--format", "html")
    assert code == 2
    assert "--output FILE" in err


def test_progress_is_shown_on_a_terminal_only(
    capfd: pytest.CaptureFixture[str], kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capfd, kernel)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    code, out, err = run(capfd, kernel)
    assert code == 1
    assert out.startswith("critical")
    assert err


def test_a_closed_pipe_is_141(kernel: Path) -> None:
    command = [sys.executable, "-m", "evenpace", "diagnose", str(kernel), "--format", "markdown"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


def test_help_has_examples(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "--help")
    assert code == 0
    assert out.count("evenpace diagnose") >= 5
    assert "kubectl logs" in out


def test_a_file_has_no_colours_even_where_they_are_forced(
    capfd: pytest.CaptureFixture[str], kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    run(capfd, kernel, "--output", kernel.parent / "answer")
    assert "\x1b" not in (kernel.parent / "answer").read_text()
