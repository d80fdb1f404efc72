"""Answer agents over HTTP, on this machine only, until interrupted."""

from __future__ import annotations

from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from evenpace.cli.serve import open_door, token_of
from evenpace.serve.security import TokenGuard

HOST = "127.0.0.1"
MOST_AT_ONCE = 64
SHUTDOWN = 3  # seconds for answers under way


def listen(server: MCPServer[Any], port: int) -> None:
    """Serve on a port of 127.0.0.1 and print the address; raises Problem where that cannot be.

    Requests for another host's name, or from another site's page, are refused by the protocol's own guard,
    which is on for this address. Where EVENPACE_TOKEN is set, requests must show it.
    """
    token = token_of(None)
    app = server.streamable_http_app(host=HOST, stateless_http=True, json_response=True)
    if token is not None:
        app.add_middleware(TokenGuard, token=token)
    config = uvicorn.Config(
        app,
        ws="none",
        proxy_headers=False,
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=SHUTDOWN,
    )
    with open_door(HOST, port) as door:
        print(f"http://{HOST}:{door.getsockname()[1]}/mcp", flush=True)
        try:
            uvicorn.Server(config).run(sockets=[door])
        except KeyboardInterrupt:
            return
