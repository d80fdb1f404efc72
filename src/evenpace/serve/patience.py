"""How long a connection may take: the part of HTTP that uvicorn leaves open to clients that dawdle."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

ASKING = 10.0  # seconds from the connection, or the last answer, to a whole request
ANSWERING = 300.0  # seconds from a request to the last byte of its answer


class Patient(H11Protocol):
    """Close a connection that sends its request, or takes its answer, too slowly; a byte buys no time."""

    asking = ASKING
    answering = ANSWERING
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._within(self.asking)

    def handle_events(self) -> None:
        """Begin to wait for the answer once a request is there."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._within(self.answering)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._within(self.asking)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _within(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)
