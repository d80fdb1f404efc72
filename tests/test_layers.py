"""The layers of the design hold: import-linter's contracts in pyproject.toml are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from importlinter.cli import lint_imports


def test_import_contracts_are_kept(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    broken = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert broken == 0, capsys.readouterr().out
