"""Replace what identifies somebody in addresses of the web and of buckets; public documentation stays."""

from __future__ import annotations

import re
from collections.abc import Callable

from evenpace.diagnose.redact.names import PSEUDONYM, Pseudonyms, is_address
from evenpace.diagnose.redact.paths import Paths
from evenpace.diagnose.redact.search import Found, compiled, sub
from evenpace.diagnose.redact.words import KEPT_HOSTS, OWNERS, PUBLIC_HOSTS, SERVICES, WORDS, is_common

_URL = compiled(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^\s'\"<>`\\|(){},]+)")
_PARTS = re.compile(
    r"(?:([^/?#@]{0,500})@)?(\[[0-9A-Fa-f:.%]{2,60}\]|[^/?#:]{0,253})((?::\d{1,5})?)([^?#]*)(.*)", re.DOTALL
)
_BUCKETS = frozenset(
    (
        "s3",
        "s3a",
        "s3n",
        "gs",
        "gcs",
        "oci",
        "abfs",
        "abfss",
        "wasb",
        "wasbs",
        "hdfs",
        "r2",
        "oss",
        "cos",
        "swift",
    )
)
_TAIL = ".:;!]"


class Urls:
    """Replace URLs in texts; `host` gives the pseudonym of a host."""

    def __init__(self, names: Pseudonyms, paths: Paths, host: Callable[[str], str]) -> None:
        self._names, self._paths, self._host = names, paths, host

    def replace(self, text: str) -> str:
        """Return text with its URLs replaced."""
        return sub(_URL, self._url, text)

    def _url(self, found: Found) -> str:
        scheme, rest = found[1], found[2]
        if PSEUDONYM.search(scheme):
            return found[0]
        bare = rest.rstrip(_TAIL)
        if bare.startswith("[") and "]" not in bare:
            bare = rest
        parts = _PARTS.match(bare)
        if parts is None:
            return found[0]
        who, host, port, path, query = parts.groups()
        where = self._bucket(host) if scheme.lower() in _BUCKETS else self._where(host)
        if who is not None:
            where = f"{self._who(who)}@{where}"
        path = self._path(host.lower(), path)
        return f"{scheme}://{where}{port}{path}{self._query(host, query)}{rest[len(bare) :]}"

    def _who(self, who: str) -> str:
        user, colon, password = who.partition(":")
        user = user if user in ("", "git") else self._names.of("user", user)
        return user + (f":{self._names.secret()}" if colon and password else colon)

    def _bucket(self, name: str) -> str:
        if not name or name.startswith("anon-") or is_address(name):
            return name
        return self._names.of("bucket", name)

    def _where(self, host: str) -> str:
        lower = host.lower()
        if lower in PUBLIC_HOSTS | SERVICES | KEPT_HOSTS or not host or "[" in host or is_address(host):
            return host  # addresses come later
        if host.startswith("anon-"):
            return host
        short, dot, domain = host.partition(".")
        if lower.endswith(".amazonaws.com"):
            return f"{self._names.of('bucket', short)}.s3.amazonaws.com"
        kept = short.isalpha() and is_common(short)
        return (
            (short if kept else self._host(short))
            + dot
            + (domain if set(domain.split(".")) <= WORDS else self._domain(domain))
        )

    def _domain(self, domain: str) -> str:
        if not domain or (domain.count(".") == 0 and len(domain) < 7) or domain.startswith("anon-"):
            return domain
        return self._names.of("domain", domain)

    def _path(self, host: str, path: str) -> str:
        if host in PUBLIC_HOSTS:
            return path
        owner = path.lstrip("/").partition("/")[0].lower()
        if host in SERVICES and owner in OWNERS:
            return path
        return self._paths.under(path)

    def _query(self, host: str, query: str) -> str:
        if not query or host.lower() in PUBLIC_HOSTS or query == "?":
            return query
        if query.startswith("#") and len(query) < 12 and query[1:].isdigit():
            return query
        self._names.counts["query"] += 1
        return "?<query>"
