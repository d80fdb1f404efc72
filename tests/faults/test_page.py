"""The page on faults says how long a job has to be healthy first, as the code has it."""

from __future__ import annotations

from pathlib import Path

from evenpace.detect.baseline import Settings
from evenpace.respond.mitigation.mitigation import MEASURED_AFTER


def test_the_page_has_the_numbers_of_the_code(repository: Path) -> None:
    english = " ".join((repository / "docs/commands/faults.md").read_text("utf-8").split())
    settings = Settings()
    for said in (
        f"The first {settings.warm_up} iterations are left out",
        f"the next {settings.learn} are learned",
        f"after {settings.settle} healthy ones the baseline is frozen",
        f"the first measurement comes after {MEASURED_AFTER} iterations",
    ):
        assert said in english
    assert settings.warm_up + settings.settle < 50
    korean = (repository / "docs/ko/quick-start.md").read_text("utf-8")
    assert f"처음 {settings.warm_up} iteration은 제외하고 다음 {settings.learn} iteration" in korean
    assert f"정상 iteration {settings.settle}개" in korean
