from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
import yaml
from tests.library.cases import CASE

from evenpace.cli import cli, execute
from evenpace.library.validate import validate

SEED = ["--component", "gpu-hw", "--symptom", "gpu-not-visible", "--factor", "monitoring-blind-spot"]
HOSTILE = "\x1b[31mred\x1b]0;title\x07 <script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of one small case."""
    (tmp_path / "IL-0001.yaml").write_text(yaml.safe_dump(CASE, allow_unicode=True), encoding="utf-8")
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = execute(cli, ["library", *map(str, words)])
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_filter_of_the_seed_page(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "search", *SEED, "--format", "json")
    page = json.loads(out)
    assert code == 0
    assert (page["schema"], page["total"]) == (1, 2)
    assert [one["id"] for one in page["incidents"]] == ["IL-0146", "IL-0004"]


def test_a_search_shows_cases_counts_and_next_filters(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "search", "처리량", "급락", "--lang", "ko", "--limit", 2)
    assert out.count("IL-") == 2
    assert "--symptom slowdown" in out
    assert "증상: slowdown" in out


def test_nothing_found_says_what_to_loosen(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "search", "zyzzyva")
    assert code == 0
    assert "Leave one out" in out


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_case_in_every_form(capfd: pytest.CaptureFixture[str], form: str, lang: str) -> None:
    code, out, _ = run(capfd, "show", "4", "--format", form, "--lang", lang)
    assert code == 0
    assert "IL-0004" in out
    assert (
        "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr1-13B-base/chronicles.md"
        in out
    )
    assert ("정정 불가" in out) == (lang == "ko" or form == "json")


def test_terms_graph_and_stats(capfd: pytest.CaptureFixture[str]) -> None:
    assert "hang" in run(capfd, "terms", "symptom")[1]
    assert "IL-0048" in run(capfd, "terms", "symptom", "hang")[1]
    assert json.loads(run(capfd, "terms", "--format", "json")[1])["terms"][0]["definition_ko"]
    assert json.loads(run(capfd, "graph", "NCCL", "--format", "json")[1])["edges"]
    assert "lift" in run(capfd, "graph", "--lang", "ko")[1]
    counts = json.loads(run(capfd, "stats", "--format", "json")[1])
    assert sum(counts["counts"]["verified"].values()) == counts["cases"] >= 150
    assert "검증" in run(capfd, "stats", "--lang", "ko")[1]


def test_validate_is_silent_about_good_cases_and_exact_about_bad_ones(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run(capfd, "validate")[:2][0] == 0
    bad = folder / "IL-0002.yaml"
    bad.write_text(yaml.safe_dump(CASE | {"id": "IL-0002", "year": "x"}, sort_keys=False, allow_unicode=True))
    code, out, _ = run(capfd, "validate", "--folder", folder)
    assert code == 1
    assert f"{bad}:3: year" in out
    assert "2 cases, 1 errors in 1 of them" in out
    assert json.loads(run(capfd, "validate", bad, "--format", "json")[1])["flaws"][0]["line"] == 3


def test_export_writes_new_files_only(
    capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    for form in ("jsonl", "csv", "markdown"):
        assert "IL-0001" in run(capfd, "export", "--format", form, "--folder", folder)[1]
    target = tmp_path / "cases.csv"
    assert run(capfd, "export", "--format", "csv", "--output", target, "--folder", folder)[0] == 0
    code, _, err = run(capfd, "export", "--output", target, "--folder", folder)
    assert code == 2
    assert "is there already" in err


def test_findings_lead_to_cases(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {
        "fault": "communication-hang",
        "severity": "critical",
        "confidence": 0.9,
        "subject": {"kind": "rank"},
        "summary": "It hangs",
    }
    page = json.dumps({"schema": 1, "findings": [found | {"terms": {"symptom": ["hang"]}}]})
    file = tmp_path / "findings.json"
    file.write_text(page)
    code, out, _ = run(capfd, "search", "--finding", file, "--format", "json")
    assert code == 0
    near = json.loads(out)["findings"][0]["incidents"]
    assert len(near) == 3
    assert all(one["why"] for one in near)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(page.encode())))
    assert "It hangs" in run(capfd, "search", "--finding", "-")[1]


def test_a_new_case_is_written_once_and_says_what_is_left(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    given = {
        "organisation": "Example",
        "year": 2024,
        "scope": "k8s",
        "kind": "incident",
        "verified": "opened",
    }
    given |= {
        "url": "https://example.org/x",
        "source-title": "A report",
        "title": "It broke",
        "symptom-text": "It stood.",
    }
    given |= {"cause": "unknown", "component": "dns,nccl", "symptom": "hang", "factor": "unattended"}
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    code, out, _ = run(capfd, "new", "--folder", folder, *options)
    path = folder / "IL-0002.yaml"
    assert code == 0
    assert f"evenpace library validate {path}" in " ".join(out.split())
    assert {flaw.what.split(":")[0] for flaw in validate([path])} == {"ko.title", "ko.symptom"}
    code, _, err = run(capfd, "new", "--folder", folder, "--id", "IL-0002", *options)
    assert code == 2
    assert "there already" in err


def test_a_new_case_asks_and_offers_terms(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        "https://example.org/x",
        "A report",
        "Example",
        "2024",
        "training",
        "incident",
        "opened",
        "It broke",
        "It stood.",
    ]
    typed = "\n".join([*answers, "unknwon", "unknown", "?", "nccl", "hang", ""]) + "\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    code, out, _ = run(capfd, "new", "--folder", folder)
    assert code == 0
    assert "did you mean unknown" in out
    assert "nccl: NCCL" in out
    assert (folder / "IL-0002.yaml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "IL-9999"], "no case"),
        (["show", "../../etc/passwd"], "no case"),
        (["show", "²"], "no case"),
        (["search", "x" * 10_000_000], "at most 400"),
        (["search", "--cause", "unknwon"], "did you mean unknown"),
        (["search", "--folder", "/nowhere"], "cannot read"),
        (["search", "--finding", "/dev/zero"], "is no file"),
        (["search", "--finding", "/nowhere"], "cannot read"),
        (["terms", "symptom", "hnag"], "did you mean hang"),
        (["terms", "colour"], "colour"),
        (["export", "--output", "/nowhere/x"], "cannot write"),
        (["new", "--folder", "/nowhere"], "no folder"),
        (["search", "--page", "0"], "page"),
    ],
)
def test_bad_input_is_one_line(capfd: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    code, _, err = run(capfd, *words)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"findings": 3}', '{"findings": [{}]}', "[" * 100_000, "\xff"]
)
def test_what_holds_no_findings_is_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "f.json"
    file.write_bytes(text.encode("latin-1"))
    code, _, err = run(capfd, "search", "--finding", file)
    assert code == 2
    assert "holds no findings" in err


def test_a_pipe_as_findings_is_refused_at_once(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert run(capfd, "search", "--finding", tmp_path / "pipe")[0] == 2


def test_a_case_cannot_speak_to_the_terminal(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    texts = {"title": HOSTILE, "symptom": HOSTILE, "lesson": HOSTILE, "actions": [HOSTILE]}
    korean = {"title": "가" + HOSTILE, "symptom": "가" + HOSTILE, "lesson": "가", "actions": ["가"]}
    page = json.dumps(CASE | {"en": texts, "ko": korean, "organisation": HOSTILE})
    (folder / "IL-0001.yaml").write_text(page)
    for words in (["search"], ["show", "1"], ["validate"], ["search", "--format", "markdown"], ["stats"]):
        _, out, err = run(capfd, *words, "--folder", folder)
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
