"""Run the site on an open socket until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from evenpace.library.catalogue import Library
from evenpace.serve.app import create_app
from evenpace.serve.patience import Patient
from evenpace.serve.security import LOOPBACK

MOST_AT_ONCE = 64
KEEP_ALIVE = 5  # seconds
SHUTDOWN = 3  # seconds for answers under way
LARGEST_HEADERS = 16 * 1024


def serve(
    door: socket.socket,
    *,
    folder: Path | None,
    token: str | None,
    names: frozenset[str],
    say_at: Callable[[str, int], None],
) -> None:
    """Serve the library of `folder` on `door`; `say_at` is told the address and the number of cases."""
    library = Library.open(folder)
    app = create_app(library, token=token, hosts=LOOPBACK | names)
    host, port = door.getsockname()[:2]
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        proxy_headers=False,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=SHUTDOWN,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
    )
    shown = sorted(names)[0] if names else f"[{host}]" if ":" in host else host
    say_at(f"http://{shown}:{port}/", len(library.incidents))
    try:
        uvicorn.Server(config).run(sockets=[door])
    except KeyboardInterrupt:
        return
