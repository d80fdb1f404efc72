"""The environment variables that put the tap into every worker of a job."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from evenpace.tap import build

INJECT = Path(__file__).parent / "inject"
_OF_A_WORKER = {"EVENPACE_WORKER_PID", "EVENPACE_EARLY_PID"}


class TapEnvironment(NamedTuple):
    """A whole environment for the job's processes, and one line on which tap it brings."""

    env: dict[str, str]
    note: str


def environment(  # noqa: PLR0913, PLR0917
    ring_dir: Path, node: str, run: str, incarnation: int, base: Mapping[str, str], kind: str = "auto"
) -> TapEnvironment:
    """Return `base` plus what starts the tap in a node's workers, which make their rings in `ring_dir`.

    kind is auto (native where possible), native (the same), python or off.
    """
    env = {name: value for name, value in base.items() if name not in _OF_A_WORKER}
    if kind == "off":
        return TapEnvironment(env | {"EVENPACE_TAP": "off"}, "no tap")
    library = build.Native(None, "not asked for") if kind == "python" else build.native()
    env |= {
        "EVENPACE_RING_DIR": str(ring_dir.absolute()),
        "EVENPACE_NODE": node,
        "EVENPACE_RUN": run,
        "EVENPACE_INCARNATION": str(incarnation),
        "EVENPACE_TAP": "native" if library.path else "python",
        "PYTHONPATH": _first(str(INJECT), base.get("PYTHONPATH", "")),
    }
    if library.path is None:
        why = f"native part: {library.why_not}"
        return TapEnvironment(env | {"EVENPACE_TAP_NOTE": why}, f"Python tap ({why})")
    env["LD_PRELOAD"] = _first(str(library.path), base.get("LD_PRELOAD", ""))
    return TapEnvironment(env, "native tap")


def _first(entry: str, others: str) -> str:
    """Put an entry before the user's own, once."""
    return others if others.split(":", 1)[0] == entry else ":".join(filter(None, (entry, others)))
