"""Judge the demo: did evenpace name who was hit and nobody else, and was nothing lost?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenpace.demo import training
from evenpace.demo.follow import Late
from evenpace.demo.lineage import Lineage, final_loss, trace
from evenpace.demo.story import Injected
from evenpace.findings import Finding
from evenpace.watch.events import Event, FindingRaised

TOLERANCE = 1e-6  # of the final loss


def findings(events: Sequence[Event]) -> list[Finding]:
    """Return the findings of a run as they stood last, in the order in which they were raised."""
    latest = {event.id: event.finding for event in events if isinstance(event, FindingRaised)}
    return [latest[number] for number in sorted(latest)]


def right(found: Sequence[Finding], injected: Sequence[Injected]) -> bool:
    """Tell whether each injected fault was named with its node, and nobody else was accused."""
    accused = {(node, finding.fault) for finding in found for node in _nodes(finding)}
    named = all(any((one.node, slug) in accused for slug in one.fault.slugs) for one in injected)
    allowed = {(one.node, slug) for one in injected for slug in one.fault.slugs}
    return named and accused <= allowed


def _nodes(finding: Finding) -> list[str]:
    node = finding.subject.node
    return [] if node is None else [node] if isinstance(node, str) else node


@dataclass(frozen=True, slots=True)
class Proof:
    """The run's samples and last loss, beside those of an undisturbed run (None where there was none)."""

    lineage: Lineage
    loss: float | None
    reference: float | None

    @property
    def same_loss(self) -> bool:
        """Tell whether both ended at the same loss."""
        return None not in (self.loss, self.reference) and abs(self.loss - self.reference) <= TOLERANCE  # type: ignore[operator]


def prove(folder: Path, compare: bool) -> Proof:
    """Look at what the script wrote; with `compare`, train once more undisturbed. Raises Problem."""
    lineage = trace(folder / "ids", training.STEPS * training.BATCH)
    logs = sorted(folder.glob("logs/*/*.log"), key=lambda path: int(path.parent.name))
    loss = final_loss(path.read_text(errors="replace") for path in logs)
    reference = final_loss([training.undisturbed(folder / "undisturbed")]) if compare else None
    return Proof(lineage, loss, reference)


def report(folder: Path, lang: str, form: str) -> str:
    """Return the run's report, as `evenpace report` makes it. Raises Late where it cannot."""
    command = [sys.executable, "-m", "evenpace", "report", str(folder), f"--format={form}", f"--lang={lang}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Late(f"the report could not be made: {done.stderr.strip()}")
    return done.stdout
