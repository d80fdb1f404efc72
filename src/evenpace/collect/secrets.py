"""Take out of a snapshot what looks like a secret. It is done whenever one is saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread, Why

DROPPED = "(dropped)"
_NAMED = ("annotations", "data")  # mappings of names that somebody chose
_LONGEST = 100_000  # characters of a text that are kept
_NAMES = re.compile(
    r"(?i)token|secret|passw|passphrase|pass$|credential|authorization|private|api_?key|access_?key|_key$|^key$"
    r"|_auth$|cookie|dsn$"
)
_PUBLIC = re.compile(r"(?i)(?:_FILE|_PATH|_DIR)$|^TOKENIZERS?_|^NCCL_|_TOKENS$")
_VALUES = re.compile(
    r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|glpat-[\w-]{20,64}|hf_[A-Za-z0-9]{20,64}"
    r"|sk-[A-Za-z0-9_-]{20,200}|xox[abprs]-[\w-]{10,200}|eyJ[\w-]{10,4000}\.[\w-]{10,8000}(?:\.[\w-]{0,4000})?"
    r"|AIza[\w-]{35}|nvapi-[\w-]{20,128}|wandb_v1_[\w-]{20,200}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{0,20000}"
)
_IN_ADDRESS = re.compile(r"(://[^\s/:@]{1,200}:)[^\s/@]{1,500}(@)")
_ASSIGNED = re.compile(
    r"(?i)((?:^|[\s\-_])[\w\-]{0,60}(?:token|secret|password|passwd|credential|api[_-]?key|access[_-]?key)"
    r"[\w\-]{0,30}[=:]\s?[\"']?)([^\s\"',;]{4,2000})"
)
_HEX = re.compile(r"(?i)[0-9a-f]{32,128}")


def without_secrets(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with values that look like secrets replaced by DROPPED."""
    cleaner = _Cleaner()
    return walked(snapshot, lambda kind, value: cleaner.kind(snapshot.family, kind, value))


def walked(snapshot: Snapshot, change: Callable[[str, Any], Any]) -> Snapshot:
    """Return the snapshot with each kind changed; one that is nested too deeply is as good as unread."""
    kinds: dict[str, Any] = {}
    unread = dict(snapshot.unread)
    for kind, value in snapshot.kinds.items():
        try:
            kinds[kind] = change(kind, value)
        except RecursionError:
            unread[kind] = Unread(Why.MALFORMED, kind, "nested too deeply")
    return replace(snapshot, kinds=kinds, unread=unread)


class _Cleaner:
    """Walk what was read; parts that are the same object stay the same object."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, bool], Any] = {}

    def kind(self, family: str, kind: str, value: Any) -> Any:
        """Return what was read of a kind without its secrets."""
        self._done.clear()  # by what is held in memory, and what is made here is not held for long
        if family != "slurm" or kind not in TYPES:
            return self._value(value, False)
        plain = self._value(msgspec.to_builtins(value), kind == "config")
        return msgspec.convert(plain, TYPES[kind], strict=False)

    def _value(self, value: Any, named: bool) -> Any:
        """Return a value without secrets; in a mapping that is `named`, each key is the name of its text."""
        if isinstance(value, str):
            return cleaned(value)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if (id(value), named) not in self._done:
            self._done[id(value), named] = self._fresh(value, named)
        return self._done[id(value), named]

    def _fresh(self, value: Any, named: bool) -> Any:
        if not isinstance(value, Mapping):
            found = [self._value(one, False) for one in value]
            return tuple(found) if isinstance(value, tuple) else found
        found_at = {
            key: DROPPED if named and secret(key, one) else self._value(one, key in _NAMED)
            for key, one in value.items()
        }
        if secret(value.get("name"), value.get("value")):
            found_at["value"] = DROPPED
        return found_at


def secret(name: Any, value: Any) -> bool:
    """Tell whether a named text is a secret by its name, or by being one long number in hexadecimal."""
    if not isinstance(name, str) or not isinstance(value, str) or not value:
        return False
    named = name[:200]
    if _PUBLIC.search(named):
        return False
    return bool(_NAMES.search(named)) or (named.isupper() and bool(_HEX.fullmatch(value)))


def cleaned(text: str) -> str:
    """Return a text without the secrets in it."""
    short = text[:_LONGEST]
    if len(short) < 8:
        return short
    found = _VALUES.sub(DROPPED, short)
    if "://" in found:
        found = _IN_ADDRESS.sub(rf"\1{DROPPED}\2", found)
    return _ASSIGNED.sub(rf"\1{DROPPED}", found)
