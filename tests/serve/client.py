"""A synchronous client of an ASGI app, without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Client:
    """Ask an app as a browser would: cookies are kept, redirects are not followed."""

    def __init__(self, app: Any, home: str = "http://localhost:8710", *, raises: bool = True) -> None:
        self.app = app
        self.home = home
        self.raises = raises
        self.cookies = httpx.Cookies()

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        """Return the answer; a defect of the app is raised, or answered where `raises` is off."""
        return asyncio.run(self._request(method, url, **options))

    def get(self, url: str, **options: Any) -> httpx.Response:
        """Ask with GET."""
        return self.request("GET", url, **options)

    async def _request(self, method: str, url: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=self.raises)
        async with httpx.AsyncClient(transport=transport, base_url=self.home, cookies=self.cookies) as client:
            answer = await client.request(method, url, **options)
            self.cookies = client.cookies
            return answer
