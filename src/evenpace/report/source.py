"""Where the log of a run is, and what to say where it is not."""

from __future__ import annotations

from pathlib import Path

from evenpace.errors import Problem
from evenpace.report.story import Story
from evenpace.watch.eventlog import LineProblem, read_events
from evenpace.watch.runfolder import DEFAULT_PARENT

LOG = "events.jsonl"
_SUGGESTED = 5


def find_log(path: Path) -> Path:
    """Return the event log of a run's folder, or `path` itself where it is a file; raises Problem."""
    if path.is_dir():
        if (path / LOG).is_file():
            return path / LOG
        raise Problem(f"{path} is not the folder of a run: it has no {LOG}{_suggest(path)}")
    if path.exists():
        return path
    raise Problem(f"there is no run {path}{_suggest(path.parent)}")


def _suggest(folder: Path) -> str:
    names = [str(run) for run in (_runs(folder) or _runs(folder / DEFAULT_PARENT))[:_SUGGESTED]]
    return f"; runs there: {', '.join(names)}" if names else "; give the folder that `evenpace run` made"


def _runs(folder: Path) -> list[Path]:
    """Return the runs in a folder, the newest first."""
    try:
        logs = [(log.stat().st_mtime, log.parent) for log in folder.glob(f"*/{LOG}")]
    except OSError:
        return []
    return [run for _, run in sorted(logs, reverse=True)]


def read_story(log: Path) -> Story:
    """Read a log into a story, damaged lines counted; raises Problem where nothing can be read."""
    problems: list[LineProblem] = []
    story = Story()
    for event in read_events(log, problems):
        story.add(event)
    story.damaged += len(problems)
    if not story.events:
        raise Problem(f"{log} holds no event with a time that can be read; it is damaged or not a run's log")
    return story
