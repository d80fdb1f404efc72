"""Read a Slurm cluster by its own commands; none of them changes anything (see `commands`)."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenpace.collect.slurm import commands, scripts
from evenpace.collect.slurm.commands import NotRead
from evenpace.collect.slurm.hostlist import Hostlists, TooManyNames
from evenpace.collect.slurm.reading import of_json, of_text
from evenpace.collect.snapshot import Snapshot, Unread, Why

LIMIT = 60.0  # seconds a command
IN_ALL = 180.0  # seconds for all of them
_UNREACHABLE = "unable to contact slurm controller"
Ask = Callable[[str, float], bytes]


def available(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether Slurm's commands are installed here."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(Path(folder) / "scontrol", os.X_OK) for folder in folders if folder)


def read(
    wanted: Collection[str],
    ask: Ask = commands.run,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    clock: Callable[[], float] = time.monotonic,
    user: str | None = None,
) -> Snapshot:
    """Read the kinds in `wanted` (see `model.TYPES`) and the settings; what cannot be read says why."""
    taken = now()
    reader = _Reader(ask, clock, clock() + IN_ALL, {}, {}, Hostlists())
    reader.commanded("config", "config")
    config = reader.kinds.get("config", {})
    for kind in (kind for kind in commands.COMMANDS if kind in wanted and kind != "config"):
        reader.kind(kind, config)
    if "jobs" in config.get("PrivateData", "").casefold().split(","):
        reader.hide_partial(config, _user() if user is None else user)
    if "scripts" in wanted:
        reader.scripts(config)
    if "gres.conf" in wanted:
        reader.gres_conf(config)
    source = f"cluster {config.get('ClusterName', '')}".strip()
    return Snapshot("slurm", source, taken, reader.kinds, reader.unread, config.get("SLURM_VERSION"))


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


class _Reader:
    """Gather kinds, and reasons for those that cannot be read."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        ask: Ask,
        clock: Callable[[], float],
        until: float,
        kinds: dict[str, Any],
        unread: dict[str, Unread],
        lists: Hostlists,
    ) -> None:
        self._ask, self._clock, self._until, self._lists = ask, clock, until, lists
        self.kinds, self.unread = kinds, unread
        self._controller: Unread | None = None

    def kind(self, kind: str, config: Mapping[str, str]) -> None:
        """Ask for a kind, unless the settings say that this cluster has none of it."""
        setting = {"accounting": "AccountingStorageType", "topology": "TopologyPlugin"}.get(kind)
        plugin = config.get(setting, "-") if setting else "-"
        if plugin.rpartition("/")[2] in {"", "(null)", "none"}:
            self.unread[kind] = Unread(Why.ABSENT, f"{setting} = {plugin}")
        elif not self.commanded(kind, kind) and self.unread[kind].why is not Why.TIMEOUT:
            self._otherwise(kind)

    def _otherwise(self, kind: str) -> None:
        """Ask in the older way: without JSON, and of sacct without a column that 22.05 does not know."""
        if kind == "jobs":
            self.commanded(kind, "jobs as text")
        elif "invalid field requested" in self.unread[kind].detail.casefold():
            self.commanded(kind, "accounting without FailedNode")

    def hide_partial(self, config: Mapping[str, str], user: str) -> None:
        """Take back the jobs where this user is shown his own alone: a pass would be no pass."""
        if user in {"root", config.get("SlurmUser", "").partition("(")[0]} or self._administers(user):
            return
        for kind in [kind for kind in ("jobs", "accounting") if kind in self.kinds]:
            del self.kinds[kind]
            what = " ".join(commands.COMMANDS[kind])
            self.unread[kind] = Unread(Why.FORBIDDEN, what, f"PrivateData shows {user} no job of others")

    def _administers(self, user: str) -> bool:
        """Tell whether the accounting calls a user operator or administrator."""
        try:
            told = self._answer("administrators", "sacctmgr show user").decode("utf-8", "replace")
        except NotRead:
            return False
        rows = (line.split("|") for line in told.splitlines())
        return any(row[:1] == [user] and row[1:2] in (["Operator"], ["Administrator"]) for row in rows)

    def commanded(self, kind: str, asked: str) -> bool:
        """Ask by one command; tell whether it was read."""
        what = " ".join(commands.COMMANDS[asked])
        try:
            raw = self._answer(asked, what)
            read = of_json(kind, raw, self._lists) if "--json" in what else _text(kind, raw, self._lists)
        except NotRead as error:
            self.unread[kind] = error.reason
            return False
        except TooManyNames as error:
            self.unread[kind] = Unread(Why.TOO_LARGE, what, str(error))
            return False
        except ValueError as error:
            self.unread[kind] = Unread(Why.MALFORMED, what, str(error)[:200])
            return False
        self.unread.pop(kind, None)
        self.kinds[kind] = read
        return True

    def _answer(self, asked: str, what: str) -> bytes:
        left = min(LIMIT, self._until - self._clock())
        if self._controller and not what.startswith("sacct"):  # which asks slurmdbd
            raise NotRead(Unread(self._controller.why, what, self._controller.detail))
        if left <= 0:
            raise NotRead(Unread(Why.TIMEOUT, what, f"all commands took longer than {IN_ALL:g} s"))
        try:
            return self._ask(asked, left)
        except NotRead as error:
            reason = error.reason
            unreachable = _UNREACHABLE in reason.detail.casefold()
            if not what.startswith("sacct") and (unreachable or asked == "config"):
                self._controller = reason  # each further question would wait as long for the same answer
            raise

    def scripts(self, config: Mapping[str, str]) -> None:
        """Read the programs that the settings name."""
        found, unread = scripts.read(config)
        reason = self.unread.get("config") or (unread if not found else None)
        if reason:
            self.unread["scripts"] = reason
        else:
            self.kinds["scripts"] = found

    def gres_conf(self, config: Mapping[str, str]) -> None:
        """Read gres.conf, which lies beside slurm.conf."""
        path = Path(config.get("SLURM_CONF", "/etc/slurm/slurm.conf")).parent / "gres.conf"
        try:
            self.kinds["gres.conf"] = scripts.text(path)
        except FileNotFoundError:
            why = Why.ABSENT if path.with_name("slurm.conf").exists() else Why.MISSING
            self.unread["gres.conf"] = Unread(why, str(path))
        except (OSError, ValueError) as error:
            why = Why.FORBIDDEN if isinstance(error, PermissionError) else Why.FAILED
            self.unread["gres.conf"] = Unread(why, str(path), getattr(error, "strerror", None) or str(error))


def _text(kind: str, raw: bytes, lists: Hostlists) -> Any:
    return of_text(kind, raw.decode("utf-8", "replace"), lists)
