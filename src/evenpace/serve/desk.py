"""One diagnosis at a time: logs come in, wait for their turn, are read in a thread, and are forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from evenpace.diagnose.reading import read
from evenpace.diagnose.sources import Inputs
from evenpace.findings import Finding, IncidentLink, Severity
from evenpace.library.catalogue import Library
from evenpace.library.similar import links
from evenpace.report.answer import Answer, answer_of
from evenpace.report.answer.text import closing
from evenpace.serve.receiving import Received, Turned, received
from evenpace.terms import say

MOST_AT_ONCE = 4  # requests that send, wait or are read: what bounds the space that uploads take
Answered = TypeVar("Answered")


class _Gone(Exception):
    """Say that nobody waits for the answer any more."""


class Desk:
    """Diagnose what requests bring, one after the other, and link it to the cases of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="diagnosis")
        self._inside = 0

    async def answer(self, request: Request, lang: str, render: Callable[[Answer], Answered]) -> Answered:
        """Return what `render` makes, in the worker's thread, of the answer in `lang`.

        Raises Turned, and ClientDisconnect when the client goes away; nothing of the logs is left either way.
        """
        if self._inside >= MOST_AT_ONCE:
            raise Turned(503, "busy")
        self._inside += 1
        try:
            logs = await received(request)
            return await self._waited(request, lambda stop: render(self._read(logs, lang, stop)), logs)
        finally:
            self._inside -= 1

    async def _waited(
        self, request: Request, work: Callable[[threading.Event], Answered], logs: Received
    ) -> Answered:
        stop = threading.Event()
        job: Future[Answered] = self._worker.submit(work, stop)
        job.add_done_callback(lambda _: logs.close())  # not before the thread has done with the files
        answer, gone = asyncio.wrap_future(job), asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ClientDisconnect
            return answer.result()
        finally:
            stop.set()
            answer.cancel()
            gone.cancel()

    def _read(self, logs: Received, lang: str, stop: threading.Event) -> Answer:
        def heed(_done: int, _whole: int) -> None:
            if stop.is_set():
                raise _Gone

        if not logs:
            raise Turned(400, "none")
        try:
            inputs = Inputs(logs.paths(say("serve-diagnose-pasted", lang)))
        except OSError as error:
            raise Turned(507, "room", reason=str(error.strerror)) from error
        case = read(inputs, jobs=1, progress=heed)
        heed(0, 0)
        if not case.sources and not case.dumps:
            raise Turned(400, "unread", why=_why(inputs, lang))
        return answer_of(case, inputs, lang, self._alike)

    def _alike(self, finding: Finding, lang: str) -> tuple[IncidentLink, ...]:
        if finding.severity is Severity.INFO:
            return finding.incidents
        return links(self._library, finding, lang)


async def _gone(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _why(inputs: Inputs, lang: str) -> str:
    return " ".join(closing(Answer((), lang, skipped=inputs.skipped))[1:])
