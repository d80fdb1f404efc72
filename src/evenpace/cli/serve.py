"""Show the incident library as a site on this machine: lists, filters, terms, a graph, a JSON API."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

import click

from evenpace.errors import Problem
from evenpace.terms import LANGUAGES, say

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?|[0-9A-Fa-f:.]{2,45}")
VARIABLE = "EVENPACE_TOKEN"
INSTALL = "the site needs FastAPI and uvicorn: pip install 'evenpace[serve]'"


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8710, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--folder", type=click.Path(path_type=Path), help="Folder of cases instead of evenpace's own.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help=f"File that holds the token which readers must show (or set {VARIABLE}).",
)
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="Name under which the site may be opened."
)
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of what is printed here.")
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    host: str, port: int, folder: Path | None, token_file: Path | None, names: tuple[str, ...], lang: str
) -> None:
    """Show the incident library as a site until Ctrl-C.

    It is read-only, sends nothing anywhere and answers on this machine only. Another address needs a token
    and the names under which it is opened:

    \b
        evenpace serve
        evenpace serve --host 0.0.0.0 --allow-host login01 --token-file ~/.evenpace-token
    """
    token = token_of(token_file)
    if host not in LOOPBACK and token is None:
        raise Problem(f"--host {host} lets others in: set a token, with --token-file FILE or in {VARIABLE}")
    for name in names:
        if not _NAME.fullmatch(name):
            raise Problem(f"--allow-host {name!r} is no name of a host; leave scheme and port out")
    if host not in LOOPBACK and not names:
        raise Problem(f"--host {host} needs the names it is opened by: add --allow-host NAME")
    try:
        from evenpace.serve.running import serve
    except ModuleNotFoundError as error:
        raise Problem(INSTALL) from error
    with open_door(host, port) as door:
        serve(
            door,
            folder=folder,
            token=token,
            names=frozenset(names),
            say_at=lambda url, cases: _say(url, cases, token, lang),
        )


def _say(url: str, cases: int, token: str | None, lang: str) -> None:
    print(say("serve-at-token" if token else "serve-at", lang, url=url, cases=cases), flush=True)


def token_of(file: Path | None) -> str | None:
    """Return the token that requests must show: from a file, or EVENPACE_TOKEN; raises Problem."""
    if file is None:
        token = os.environ.get(VARIABLE)
        where = VARIABLE
    else:
        token, where = _read(file), str(file)
    if token is not None and (len(token) < SHORTEST or not token.isascii() or not token.isprintable()):
        raise Problem(f"the token in {where} must be at least {SHORTEST} printable ASCII characters")
    return token


def _read(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Problem(f"{file} is no file; name the file that holds the token")
        if mode & (stat.S_IRGRP | stat.S_IROTH):
            raise Problem(f"others can read {file}; close it first: chmod 600 {file}")
        with file.open(encoding="utf-8") as text:
            return text.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read the token in {file}: {getattr(error, 'strerror', 'not text')}") from error


def open_door(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises Problem where the port is taken."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        door = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Problem(f"there is no address {host!r} here: {error}") from error
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        door.listen(128)
    except OSError as error:
        door.close()
        raise Problem(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another --port"
        ) from error
    return door
