"""Read the structure of a pickle without executing it: nothing is imported, no constructor runs.

A small stack machine over `pickletools.genops` (the opcodes are those of the pickle protocol 0 to 5). What a
pickle would construct becomes an inert `Thing`; strings, numbers and containers become themselves.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any

from evenpace.respond.checkpoints.files import Damaged


class Thing:
    """Stand for an object: its class by name, what it was made from, and the state it was given."""

    __slots__ = ("arguments", "name", "state")

    def __init__(self, name: str, arguments: Any = None) -> None:
        self.name, self.arguments, self.state = name, arguments, None


class _Mark:
    """Mark a place on the stack."""


_MARK = _Mark()
_LITERAL = frozenset(
    {
        "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING",
        "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "INT", "BININT", "BININT1", "BININT2",
        "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    }
)  # fmt: skip
_CONSTANT: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _LITERAL:
            self.stack.append(argument)
        elif name in _CONSTANT:
            self.stack.append(_CONSTANT[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _IGNORED:
            raise Damaged(f"unexpected pickle opcode {name}")

    def pop_to_mark(self) -> list[Any]:
        place = next(i for i in range(len(self.stack) - 1, -1, -1) if self.stack[i] is _MARK)
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        self.stack.append(items)

    def make(self, count: int) -> None:
        arguments = [self.stack.pop() for _ in range(count)]
        kind = self.stack.pop()
        self.stack.append(Thing(kind.name if isinstance(kind, Thing) else "?", arguments[::-1]))

    def build(self) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Thing):
            self.stack[-1].state = state

    def fill(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            # Keys of a class of their own (MetadataIndex) become things, which are distinct and hashable.
            target.update((_hashable(key), value) for key, value in zip(pairs[::2], pairs[1::2], strict=True))

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def glob(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Thing(f"{module}.{name}"))


def _hashable(key: Any) -> Any:
    return key if isinstance(key, str | int | float | Thing) else Thing("key", key)


_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "MEMOIZE": lambda m, _: m.memo.__setitem__(len(m.memo), m.stack[-1]),
    "BINPUT": lambda m, a: m.memo.__setitem__(a, m.stack[-1]),
    "LONG_BINPUT": lambda m, a: m.memo.__setitem__(a, m.stack[-1]),
    "BINGET": lambda m, a: m.stack.append(m.memo[a]),
    "LONG_BINGET": lambda m, a: m.stack.append(m.memo[a]),
    "GLOBAL": lambda m, a: m.stack.append(Thing(a.replace(" ", "."))),
    "STACK_GLOBAL": lambda m, _: m.glob(),
    "TUPLE": lambda m, _: m.stack.append(tuple(m.pop_to_mark())),
    "TUPLE1": lambda m, _: m.tuple_of(1),
    "TUPLE2": lambda m, _: m.tuple_of(2),
    "TUPLE3": lambda m, _: m.tuple_of(3),
    "REDUCE": lambda m, _: m.make(1),
    "NEWOBJ": lambda m, _: m.make(1),
    "NEWOBJ_EX": lambda m, _: m.make(2),
    "BUILD": lambda m, _: m.build(),
    "SETITEM": lambda m, _: m.fill([m.stack.pop(), m.stack.pop()][::-1]),
    "SETITEMS": lambda m, _: m.fill(m.pop_to_mark()),
    "APPEND": lambda m, _: m.extend([m.stack.pop()]),
    "APPENDS": lambda m, _: m.extend(m.pop_to_mark()),
    "ADDITEMS": lambda m, _: m.extend(m.pop_to_mark()),
}


def read(content: bytes) -> Any:
    """Return the inert structure of a pickle; raises Damaged where it is cut off, malformed or exotic."""
    machine = _Machine()
    stream = io.BytesIO(content)
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            machine.step(opcode.name, argument)
        result = machine.stack.pop()
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        StopIteration,
        RuntimeError,
    ) as error:
        raise Damaged(f"damaged pickle: {error}"[:300]) from error
    if machine.stack or stream.read(1):
        raise Damaged("damaged pickle: something is left over")
    return result
