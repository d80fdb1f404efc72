"""Keep what was read of a cluster in a file, for an audit elsewhere or later."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from evenpace.checks.words import looked_for
from evenpace.collect.redact import redacted
from evenpace.collect.saved import encoded
from evenpace.collect.secrets import without_secrets
from evenpace.collect.snapshot import Snapshot
from evenpace.errors import Problem


def nameless(snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """Return the snapshots without secrets and names; what the checks look for stays."""
    return redacted(tuple(map(without_secrets, snapshots)), looked_for())


def save(snapshots: Sequence[Snapshot], file: Path, inputs: Sequence[Path]) -> None:
    """Write the snapshots, without secrets, for the user alone, onto none of `inputs`; raises Problem."""
    if file.suffix != ".json":
        raise Problem(f"a snapshot is JSON; name it {file.name}.json")
    if file.exists() and any(one.exists() and file.samefile(one) for one in inputs):
        raise Problem(f"{file} is read by this audit; choose another --save")
    part = file.with_name(f".{file.name}.part")
    try:
        part.unlink(missing_ok=True)  # what somebody left there keeps its mode, or leads elsewhere
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for piece in encoded(tuple(map(without_secrets, snapshots))):
                out.write(piece)
        part.replace(file)
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}; choose another --save") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
