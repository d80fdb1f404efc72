"""evenpace demo: what it needs, and what its end says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from evenpace.cli import demo
from evenpace.demo import training
from evenpace.demo.judge import Proof
from evenpace.demo.lineage import Lineage
from evenpace.demo.story import Story
from evenpace.errors import Problem


def test_without_torch_it_says_how_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    with pytest.raises(Problem, match="pip install torch"):
        CliRunner().invoke(demo.command, ["--keep", str(tmp_path / "d")], catch_exceptions=False)
    assert not (tmp_path / "d").exists()


def test_the_examples_are_found() -> None:
    assert (training.examples() / "train_ddp.py").is_file()


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("proof", "good"),
    [
        (Proof(Lineage(10, 10, 2), 1.0, 1.0), True),
        (Proof(Lineage(10, 10, 2), 1.0, None), True),
        (Proof(Lineage(10, 9, 2), 1.0, 1.0), False),
        (Proof(Lineage(10, 10, 2), 1.0, 2.0), False),
        (Proof(Lineage(10, 10, 2), None, None), False),
    ],
)
def test_the_verdict_needs_all_of_it(proof: Proof, good: bool, lang: str) -> None:
    lines: list[str] = []
    story = Story(Path("d"), lang, lines.append)
    assert demo._verdict(story, [], proof, Path("d/report.html")) is good
    assert lines
    assert not any("{" in line or "=" in line for line in lines)
