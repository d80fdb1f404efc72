"""The documentation is complete and true: a page for everything, the generated parts up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from evenpace import faults, terms
from evenpace.cli import EXIT_CODES, cli
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.matching import Matcher
from evenpace.diagnose.signature import read as signature_in
from evenpace.diagnose.signature import signatures
from evenpace.report.metrics import METRICS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "AGENTS.md"])
COMMANDS = cli.list_commands(click.Context(cli))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a page: headings as mkdocs names them, and explicit ids."""
    text = re.sub(r"```.*?```", "", read(path), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    slugs = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
    return frozenset(slugs | set(re.findall(r'id="([^"]+)"', text)))


def test_generated_reference_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_a_page(name: str) -> None:
    page = DOCS / "commands" / f"{name}.md"
    assert read(page).startswith(f"# evenpace {name}\n")
    assert f"../reference/commands.md#evenpace-{name}" in read(page)
    assert f"evenpace-{name}" in anchors(DOCS / "reference" / "commands.md")


def test_every_term_has_an_anchor() -> None:
    known = {f"{facet}-{slug}" for facet, found in terms.facets().items() for slug in found}
    assert known <= anchors(DOCS / "reference" / "terms.md")


def test_every_fault_to_inject_has_an_anchor_and_says_known_terms() -> None:
    assert set(faults.names()) <= anchors(DOCS / "reference" / "faults.md")
    assert {slug for name in faults.names() for slug in faults.find(name).slugs} <= set(
        terms.facets()["fault"]
    )


def test_every_signature_of_logs_has_an_anchor_and_its_texts() -> None:
    page = read(DOCS / "reference" / "signatures.md")
    assert set(signatures()) <= anchors(DOCS / "reference" / "signatures.md")
    rows = [line for line in page.splitlines() if line.startswith("| <span")]
    assert len(rows) == len(signatures())
    assert [row for row in rows if len(re.findall(r"(?<!\\)\|", row)) != 4] == []


def test_what_to_add_to_diagnosis_is_described() -> None:
    page = read(DOCS / "concepts" / "diagnosis.md")
    assert "diagnose/signatures/<fault>/<id>.toml" in page
    assert "diagnose/judges/" in page


def test_the_signature_in_the_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", read(DOCS / "concepts" / "diagnosis.md"), flags=re.DOTALL)
    (tmp_path / "gpu-hardware").mkdir()
    path = tmp_path / "gpu-hardware" / "made-up.toml"
    path.write_text(block, encoding="utf-8")
    signature = signature_in(path)
    seen = Matcher({"made-up": signature})
    assert seen.sightings(read_lines("a.log", signature.content.example[0].text))
    assert not seen.sightings(read_lines("a.log", signature.content.near_miss[0].text))


def test_every_metric_and_exit_code_is_described() -> None:
    assert {metric.name for metric in METRICS} <= anchors(DOCS / "reference" / "metrics.md")
    assert [c for c in EXIT_CODES if f"`{c}`" not in read(DOCS / "reference" / "exit-codes.md")] == []


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (file, anchor) of each link within the repository."""
    text = re.sub(r"```.*?```", "", read(path), flags=re.DOTALL)
    for target in LINK.findall(text):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield file, anchor


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_links_lead_somewhere(path: Path) -> None:
    for file, anchor in links(path):
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{page_id(path)} links to {file}"
        assert not anchor or anchor in anchors(target), f"{page_id(path)} links to {file}#{anchor}"


def test_navigation_names_every_page() -> None:
    """Those of single checks are linked from the list of checks instead."""
    navigation = set(re.findall(r": ([\w/-]+\.md)$", read(ROOT / "mkdocs.yml"), flags=re.MULTILINE))
    listed = {f"reference/{file}" for file, _ in links(DOCS / "reference" / "checks.md") if "checks/" in file}
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} == navigation | listed


def test_every_bench_has_a_target_and_a_page() -> None:
    targets = re.findall(r"^bench-([a-z-]+):", read(ROOT / "Makefile"), flags=re.MULTILINE)
    pages = {path.stem for path in (DOCS / "benchmarks").glob("*.md")} - {"index"}
    (parts,) = re.findall(r"^FAILSLOW := (.+)$", read(ROOT / "Makefile"), flags=re.MULTILINE)
    of_parts = {f"failslow_{part}" for part in parts.split()}
    assert {target.replace("-", "_") for target in targets} - {"failslow"} | of_parts == pages
    assert [
        target for target in targets if f"`make bench-{target}`" not in read(DOCS / "benchmarks/index.md")
    ] == []


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_options_in_examples_exist(path: Path) -> None:
    """Every `evenpace …` line in a page is one that the command line takes (up to the job's own `--`)."""
    for line in examples(read(path)):
        assert unknown_options(line) == [], f"{page_id(path)}: {line}"


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_make_targets_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), flags=re.MULTILINE))
    named = re.findall(r"(?:`|^\$ |^)make ([a-z-]+)", read(path), flags=re.MULTILINE)
    assert set(named) <= targets


def examples(text: str) -> Iterator[str]:
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        joined = block.replace("\\\n", " ")
        yield from re.findall(r"(?:^\$ |\$\()(evenpace [^\n)#\"]+)", joined, flags=re.MULTILINE)


def unknown_options(line: str) -> list[str]:
    words = line.partition(" -- ")[0].split()[1:]
    command: Any = cli
    while words and isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
        assert command, f"no such command: {line}"
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return [
        word for word in words if word.startswith("--") and word.split("=")[0] not in known | {"--help", "--"}
    ]
