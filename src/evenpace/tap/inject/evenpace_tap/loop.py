"""What a training loop that uses evenpace.torch tells through its worker's ring. Without a ring: nothing.

Nothing here raises: a loop must not end because of what watches it.
"""

from __future__ import annotations

from . import hook, layout

FIELDS = ("plan_version", "plan_step", "plan_pause_ns", "micro_batches", "micro_batch_ns", "loop_step")
_MOST = (1 << 63) - 1  # readers take times and bytes for signed


def ring_path() -> str | None:
    """Return the path of this worker's ring, None where the worker has none (or is not one)."""
    session = hook.current()
    return None if session is None else session.ring.path


def beside(suffix: str) -> str | None:
    """Return the path of a file beside the ring: layout.PLAN_SUFFIX or layout.OFFER_SUFFIX."""
    path = ring_path()
    return None if path is None else path.removesuffix(layout.RING_SUFFIX) + suffix


def set(**fields: int) -> None:  # noqa: A001  loop.set(...) reads as what it does
    """Write fields of FIELDS into the ring's header; others are left out."""
    session = hook.current()
    if session is not None:
        session.ring.set(**{name: _bounded(value) for name, value in fields.items() if name in FIELDS})


def work(tokens: int, squares: int = 0) -> None:
    """Record what the step that begins has to do: its tokens, and the sum of squared sequence lengths."""
    _say("work", tokens, squares)


def share(micro_batches: int, each_ns: int) -> None:
    """Record what the step that ends was for this worker: micro-batches, and its own time of one of them."""
    _say("share", micro_batches, each_ns)


def _say(kind: str, first: int, second: int) -> None:
    session = hook.current()
    if session is not None:
        session.say(kind, _bounded(first), _bounded(second))


def _bounded(value: int) -> int:
    try:
        return min(max(int(value), 0), _MOST)
    except (TypeError, ValueError, OverflowError):
        return 0
