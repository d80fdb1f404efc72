from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from rich.cells import cell_len
from tests.library.cases import CASE

from evenpace.checks.catalogue import find
from evenpace.checks.citing import citing
from evenpace.cli import cli, execute
from evenpace.cli.library import _FILTERS
from evenpace.library.catalogue import Library, home
from evenpace.library.facets import FACETS
from evenpace.library.scaffold import next_id
from evenpace.library.validate import validate

SEED = ["--component", "gpu-hw", "--symptom", "gpu-not-visible", "--factor", "monitoring-blind-spot"]
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b31m\u202e <script>"
UNSEEN = "\x1b\x07\x9b\u202e"


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
    assert re.search(r"^증상 +slowdown [0-9]+", out, re.MULTILINE)


def test_nothing_found_says_what_to_loosen(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "search", "zyzzyva")
    assert code == 0
    assert "Use other words" in out
    _, out, _ = run(capfd, "search", "zyzzyva", "NCCL", "--component", "nccl", "--lang", "ko")
    assert "zyzzyva 제외 시: " in out
    assert "NCCL 제외 시" not in out
    _, out, _ = run(capfd, "search", "--component", "dns", "--symptom", "loss-spike")
    assert "Without --symptom: " in out


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
    assert "Lift" in run(capfd, "graph", "--lang", "ko")[1]
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
    assert "2 cases, 1 error in 1 of them" in out
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
        (["search", "--component", "infiniband"], "did you mean ib-fabric"),
        (["search", "--component", "인피니밴드"], "did you mean ib-fabric"),
        (["search", "--organisation", "imbu"], "did you mean Imbue"),
        (["search", "--year", "1800"], "no case has the year"),
        (["search", "--scope", "trainin"], "did you mean training"),
        (["search", "--page", "99"], "there is no page 99"),
        (["search", "x", "--finding", "f"], "leave words"),
        (["show", "IL-0004\n/../x"], "no case"),
        (["new", "--id", "../IL-0001"], "is no id"),
        (["new", "--id", "IL-0999\n"], "is no id"),
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


@pytest.mark.parametrize(
    "words",
    [
        *([command, "--format", form] for command in ("search", "stats") for form in ("text", "json")),
        *(["show", "1", "--format", form] for form in ("text", "json", "markdown")),
        *(["export", "--format", form] for form in ("jsonl", "csv", "markdown")),
        ["search", "--format", "markdown"],
        ["terms", "symptom", "hang"],
        ["validate"],
    ],
    ids=" ".join,
)
def test_a_case_cannot_speak_to_the_terminal(
    capfd: pytest.CaptureFixture[str], folder: Path, words: list[str]
) -> None:
    texts = {"title": HOSTILE, "symptom": HOSTILE, "lesson": HOSTILE, "actions": [HOSTILE]}
    korean = {"title": "가" + HOSTILE, "symptom": "가" + HOSTILE, "lesson": "가", "actions": ["가"]}
    source = [{"url": f"https://example.org/{HOSTILE}", "title": HOSTILE}]
    page = CASE | {"en": texts, "ko": korean, "organisation": HOSTILE, "sources": source}
    (folder / "IL-0001.yaml").write_text(json.dumps(page))
    _, out, err = run(capfd, *words, "--folder", folder)
    assert [mark for mark in UNSEEN if mark in out + err] == []
    assert "<script>" not in out or "markdown" not in words


@pytest.mark.parametrize("command", [["search"], ["show", "1"], ["stats"], ["graph"], ["terms"], ["export"]])
@pytest.mark.parametrize(
    "flaw", [{HOSTILE: 1}, {"terms": CASE["terms"] | {"cause": ["no-such"]}}], ids=["field", "term"]
)
def test_a_damaged_case_of_another_folder_is_one_harmless_line(
    capfd: pytest.CaptureFixture[str], folder: Path, command: list[str], flaw: dict[str, object]
) -> None:
    (folder / "IL-0001.yaml").write_text(json.dumps(CASE | flaw))
    code, _, err = run(capfd, *command, "--folder", folder)
    assert code == 2
    assert "evenpace library validate" in err
    assert [mark for mark in UNSEEN if mark in err] == []


@pytest.mark.parametrize("command", [["search"], ["validate"], ["new", "--id", "IL-0003"]])
def test_a_pipe_among_the_cases_stops_nothing(
    capfd: pytest.CaptureFixture[str], folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "IL-0002.yaml")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, out, err = run(capfd, *command, "--folder", folder)
    assert code == (1 if command == ["validate"] else 2)
    assert ("no file" in out + err) == (command[0] != "new")


@pytest.mark.parametrize("typed", ["4", "0004", "IL-4", "il-0004", " IL-0004 "])
def test_an_id_may_be_short(capfd: pytest.CaptureFixture[str], typed: str) -> None:
    code, out, _ = run(capfd, "show", typed)
    assert (code, out[:7]) == (0, "IL-0004")


def test_values_are_found_without_regard_to_case(capfd: pytest.CaptureFixture[str]) -> None:
    page = json.loads(run(capfd, "search", "--organisation", "imbue", "--format", "json")[1])
    assert {one["organisation"] for one in page["incidents"]} == {"Imbue"}


def test_a_filter_that_would_widen_is_not_recommended(capfd: pytest.CaptureFixture[str]) -> None:
    page = json.loads(run(capfd, "search", "--component", "nccl", "--format", "json")[1])
    assert page["recommended"]
    assert "component" not in {one["facet"] for one in page["recommended"]}
    assert all(one["count"] < page["total"] for one in page["recommended"])


def test_the_findings_of_another_schema_are_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "f.json"
    file.write_text('{"schema": 2, "findings": []}')
    assert "schema" in run(capfd, "search", "--finding", file)[2]
    file.write_text('{"schema": 1, "findings": []}')
    assert run(capfd, "search", "--finding", file)[1] == "There is no finding in it.\n"


def test_new_without_a_terminal_says_which_option_is_missing(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, _, err = run(capfd, "new", "--folder", folder, "--url", "https://example.org/x")
    assert code == 2
    assert "--source-title" in err
    assert [path.name for path in folder.iterdir()] == ["IL-0001.yaml"]


def test_a_merged_id_is_not_given_again(folder: Path) -> None:
    (folder / "IL-0001.yaml").write_text(json.dumps(CASE | {"also": ["IL-0040"]}))
    assert next_id(folder.glob("*.yaml")) == "IL-0041"


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_case_looks_as_it_did(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    """The page of IL-0004 without the checks that cite it and its neighbours, which others decide."""
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = run(capfd, "show", "4", "--lang", lang)
    golden = Path(__file__).with_name("library") / f"IL-0004.{lang}.txt"
    shown = out.partition({"en": "Checks that cite", "ko": "이 사례를 근거로"}[lang])[0]
    assert [one.rstrip() for one in shown.splitlines()] == golden.read_text("utf-8").splitlines()


def test_a_case_names_the_checks_that_cite_it(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "show", "IL-0138", "--lang", "ko")
    title = find("jobset_no_restarts").content.title.ko
    assert any("jobset_no_restarts" in row and title in row for row in out.splitlines())
    _, out, _ = run(capfd, "show", "IL-0138", "--format", "markdown")
    assert "- `jobset_no_restarts`: JobSets start again after a failure\n" in out
    _, out, _ = run(capfd, "show", "IL-0138", "--format", "json")
    cited = {one["id"]: one for one in json.loads(out)["checks"]}
    assert cited["jobset_no_restarts"]["why"].startswith("419 unplanned interruptions")


def test_a_case_that_no_check_cites_says_nothing_of_checks(capfd: pytest.CaptureFixture[str]) -> None:
    quiet = next(one.id for one in Library.open().incidents if not citing(one.id))
    assert "Checks that cite" not in run(capfd, "show", quiet)[1]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (["search", "학습"], ["show", "25"], ["terms", "cause"], ["stats"], ["graph"]):
        lines = run(capfd, *words, "--lang", "ko")[1].splitlines()
        assert max(cell_len(one) for one in lines if "://" not in one) <= width
        assert not any("\x1b" in one for one in lines)


@pytest.mark.parametrize(
    "words", [["terms", "cause"], ["terms", "symptom", "hang"], ["graph", "NCCL"], ["stats"]], ids=" ".join
)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_tables_are_markdown_too(capfd: pytest.CaptureFixture[str], words: list[str], lang: str) -> None:
    code, out, _ = run(capfd, *words, "--format", "markdown", "--lang", lang)
    lines = [one for one in out.splitlines() if one]
    assert code == 0
    assert all(one.startswith(("| ", "- ")) for one in lines[: -1 if words[0] == "graph" else None])


def test_options_are_the_facets() -> None:
    assert _FILTERS == FACETS


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("url", "javascript:alert(1)", "$.sources[0].url"),
        ("organisation", "x" * 500, "$.organisation"),
        ("cause", ",", "no cause"),
        ("id", "IL-0050", "merged into IL-0048"),
        ("id", "IL-0004", "there already"),
    ],
)
def test_a_new_case_is_not_begun_with_what_cannot_stay(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, option: str, value: str, says: str
) -> None:
    for name in ("IL-0048", "IL-0004"):
        (tmp_path / f"{name}.yaml").write_text((home() / f"{name}.yaml").read_text("utf-8"), encoding="utf-8")
    given = {"organisation": "A", "year": 2024, "scope": "k8s", "kind": "incident", "verified": "opened"}
    given |= {
        "url": "https://example.org/",
        "source-title": "A",
        "title": "It broke",
        "symptom-text": "It stood.",
    }
    given |= {
        "cause": "unknown",
        "component": "dns",
        "symptom": "hang",
        "factor": "unattended",
        option: value,
    }
    options = [part for name, one in given.items() for part in (f"--{name}", one)]
    code, _, err = run(capfd, "new", "--folder", tmp_path, *options)
    assert code == 2
    assert says in err
    assert len(list(tmp_path.iterdir())) == 2


def test_one_file_is_checked_against_its_neighbours(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, text in (("IL-0048", ""), ("IL-0049", "IL-0048")):
        source = (home() / "IL-0048.yaml").read_text("utf-8").replace("id: IL-0048", f"id: {name}")
        source = "\n".join(line for line in source.splitlines() if text == "" or not line.startswith("also:"))
        (tmp_path / f"{name}.yaml").write_text(source, encoding="utf-8")
    code, out, _ = run(capfd, "validate", tmp_path / "IL-0049.yaml")
    assert code == 1
    assert "IL-0049 is already used by IL-0048.yaml" in out
    assert run(capfd, "validate", tmp_path)[0] == 1
