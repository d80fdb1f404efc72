"""Read pickles of plain data from anybody: every opcode that could import or call anything is refused."""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable, Iterator

_MOST_OPCODES = 4_000_000
_PLAIN = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
}
_CONSTANT: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}


class NotPlain(ValueError):
    """Say that a pickle holds more than plain data, or is damaged."""


def read_pickle(data: bytes) -> object:
    """Return the plain value of a pickle; raises NotPlain. Nothing in it is imported or called."""
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > _MOST_OPCODES:
                raise NotPlain("too long")
            if opcode.name == "STOP":
                return machine.stack.pop()
            machine.run(opcode.name, argument)
    except NotPlain:
        raise
    except Exception as error:  # damage shows as any error of the standard decoder or of the stack
        raise NotPlain(str(error)[:200]) from None
    raise NotPlain("no end")


class _Machine:
    """Run the opcodes of plain data: numbers, texts, lists, tuples, dicts, and the memo."""

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.marks: list[list[object]] = []
        self.memo: dict[int, object] = {}

    def run(self, name: str, argument: object) -> None:
        """Run one opcode; raises NotPlain for any other."""
        if name in _PLAIN:
            self.stack.append(argument)
        elif name in _CONSTANT:
            self.stack.append(_CONSTANT[name])
        elif (action := _ACTIONS.get(name)) is not None:
            action(self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise NotPlain(f"opcode {name}")

    def since_mark(self) -> list[object]:
        """Take what was pushed since the last mark."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    def mark(self, _: object) -> None:
        """Begin a sequence."""
        self.marks.append(self.stack)
        self.stack = []

    def push_tuple(self, count: int) -> None:
        """Make a tuple of the last `count` values."""
        if len(self.stack) < count:
            raise NotPlain("stack")
        items = self.stack[len(self.stack) - count :]
        self.stack[len(self.stack) - count :] = [tuple(items)]

    def append(self, items: Iterable[object]) -> None:
        """Add to the list on top."""
        target = self.stack[-1]
        if not isinstance(target, list):
            raise NotPlain("append")
        target.extend(items)

    def set_items(self, items: list[object]) -> None:
        """Add to the dict on top."""
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise NotPlain("items")
        target.update(_pairs(items))

    def put(self, index: object) -> None:
        """Remember the value on top."""
        self.memo[len(self.memo) if index is None else int(str(index))] = self.stack[-1]


def _pairs(items: list[object]) -> Iterator[tuple[object, object]]:
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key, str | int | bytes | None):
            raise NotPlain("key")
        yield key, value


_ACTIONS: dict[str, Callable[[_Machine, object], None]] = {
    "MARK": _Machine.mark,
    "EMPTY_DICT": lambda m, _: m.stack.append({}),
    "EMPTY_LIST": lambda m, _: m.stack.append([]),
    "EMPTY_TUPLE": lambda m, _: m.stack.append(()),
    "TUPLE1": lambda m, _: m.push_tuple(1),
    "TUPLE2": lambda m, _: m.push_tuple(2),
    "TUPLE3": lambda m, _: m.push_tuple(3),
    "TUPLE": lambda m, _: _close(m, tuple),
    "LIST": lambda m, _: _close(m, list),
    "DICT": lambda m, _: _close(m, lambda items: dict(_pairs(items))),
    "APPEND": lambda m, _: m.append([m.stack.pop()]),
    "APPENDS": lambda m, _: m.append(m.since_mark()),
    "SETITEM": lambda m, _: m.set_items([m.stack.pop(-2), m.stack.pop()]),
    "SETITEMS": lambda m, _: m.set_items(m.since_mark()),
    "PUT": _Machine.put,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": lambda m, _: m.put(None),
    "GET": lambda m, index: m.stack.append(m.memo[int(str(index))]),
    "BINGET": lambda m, index: m.stack.append(m.memo[int(str(index))]),
    "LONG_BINGET": lambda m, index: m.stack.append(m.memo[int(str(index))]),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
}


def _close(machine: _Machine, make: Callable[[list[object]], object]) -> None:
    items = machine.since_mark()
    machine.stack.append(make(items))
