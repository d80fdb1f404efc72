"""Lists of the API decoded into plain dictionaries that take little room: trimmed, and alike parts held once.

Pods of one workload repeat each other in all but a few fields, so every part of an object that was already
seen, byte for byte, is the same Python object again. Nobody may change what was read.
"""

from __future__ import annotations

from typing import Any

import msgspec

Item = dict[str, Any]
UNREADABLE = (msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError)
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WHOLE = 80  # bytes of a part that is not worth taking apart
_DEEPEST = 7  # levels that are taken apart
_REMEMBERED = 8 << 20  # bytes of parts that are looked for again
_TABLE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder()


class _Meta(msgspec.Struct):
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _Meta | None = None
    items: list[dict[str, msgspec.Raw]] | None = None


_PAGE = msgspec.json.Decoder(_Page)
_ITEMS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


class Objects:
    """Decode lists of objects; each is told its type where one is given: lists of the API leave it out."""

    def __init__(self, version: str = "", kind: str = "") -> None:
        self._type = {"apiVersion": version, "kind": kind} if kind else {}
        self._seen: dict[bytes, Any] = {}
        self._bytes = 0

    def page(self, raw: bytes) -> tuple[list[Item], str]:
        """Return the objects of a page and the token of the next one, empty after the last.

        Raises one of UNREADABLE.
        """
        page = _PAGE.decode(raw)
        if page.items is None and page.metadata is None:
            raise ValueError("no list of objects")
        found = self.objects(page.items or [])
        return found, page.metadata.token if page.metadata else ""

    def listed(self, raw: bytes | msgspec.Raw) -> list[Item]:
        """Return the objects of a bare list; raises one of UNREADABLE."""
        return self.objects(_ITEMS.decode(raw))

    def objects(self, items: list[dict[str, msgspec.Raw]]) -> list[Item]:
        """Return objects whose parts are known; raises one of UNREADABLE."""
        return [self._object(one) for one in items]

    def one(self, raw: bytes) -> Item:
        """Return the object of an answer that is no list; raises one of UNREADABLE."""
        return self._object(_TABLE.decode(raw))

    def _object(self, parts: dict[str, msgspec.Raw]) -> Item:
        found: Item = dict(self._type)
        for key, part in parts.items():
            if key == "metadata":
                found[key] = self._metadata(part)
            elif key not in self._type:
                found[key] = self._part(bytes(part), 0)
        return found

    def _metadata(self, raw: msgspec.Raw) -> Any:
        try:
            parts = _TABLE.decode(raw)
        except msgspec.ValidationError:
            return _ANY.decode(raw)
        found = {key: self._part(bytes(part), 1) for key, part in parts.items() if key != "managedFields"}
        notes = found.get("annotations")
        if isinstance(notes, dict) and _APPLIED in notes:
            found["annotations"] = {key: note for key, note in notes.items() if key != _APPLIED}
        return found

    def _part(self, raw: bytes, depth: int) -> Any:
        if raw in self._seen:
            return self._seen[raw]
        found: Any
        if len(raw) <= _WHOLE or depth >= _DEEPEST or raw[:1] not in {b"{", b"["}:
            found = _ANY.decode(raw)
        elif raw[:1] == b"{":
            found = {key: self._part(bytes(part), depth + 1) for key, part in _TABLE.decode(raw).items()}
        else:
            found = [self._part(bytes(part), depth + 1) for part in _LIST.decode(raw)]
        self._remember(raw, found)
        return found

    def _remember(self, raw: bytes, found: Any) -> None:
        if found is None or isinstance(found, bool | int | float):
            return
        self._bytes += len(raw)
        if self._bytes > _REMEMBERED:
            self._seen.clear()
            self._bytes = len(raw)
        self._seen[raw] = found
