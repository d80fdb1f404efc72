"""Pseudonyms: the same name always becomes the same one, and one that is a pseudonym already stays."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from dataclasses import dataclass, field

from evenpace.diagnose.identity import is_container

MOST = 400_000  # names in all that get a pseudonym of their own; later ones share one
SECRET = "<secret>"  # noqa: S105  what stands for all of them
_FORMS = {
    "host": "anon-host{:03d}",
    "container": "c0ffee{:06d}",
    "user": "anon-user{:d}",
    "organisation": "anon-org{:d}",
    "domain": "anon-domain{:d}.example",
    "bucket": "anon-bucket{:d}",
    "folder": "dir{:d}",
    "file": "file{:d}",
    "uuid": "00000000-0000-4000-8000-{:012x}",
    "mac": "02005e{:06x}",
    "guid": "020000ffff{:06x}",
    "serial": "{:013d}",
    "ipv6": "2001:db8::{:x}",
    "link-local": "fe80::{:x}",
}
PSEUDONYM = re.compile(
    r"anon-(?:host|user|org|bucket|domain)\d{1,9}(?:\.example)?|c0ffee\d{6}|dir\d{1,9}|file\d{1,9}|<secret>|<query>"
)
_LAN = ipaddress.ip_network("198.18.0.0/15")
_KEPT_V4 = tuple(
    ipaddress.ip_network(text)
    for text in ("127.0.0.0/8", "0.0.0.0/8", "169.254.0.0/16", "172.17.0.0/16", "224.0.0.0/4", "240.0.0.0/4")
)
_SUBNETS = 512


@dataclass(slots=True)
class Pseudonyms:
    """Hand out pseudonyms by kind, and count how often each kind was replaced.

    `taken` holds what the input itself has in the form of a pseudonym; such a name is never handed out.
    """

    taken: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _numbers: Counter[str] = field(default_factory=Counter)

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name, and count it; what is one already stays."""
        if PSEUDONYM.fullmatch(name):
            return name
        if kind == "host" and is_container(name):
            kind = "container"
        self.counts[kind] += 1
        if (known := self._known.get((kind, name))) is None:
            known = self._new(kind)
            if len(self._known) < MOST:
                self._known[kind, name] = known
        return known

    def secret(self) -> str:
        """Return what stands for a secret, and count it."""
        self.counts["secret"] += 1
        return SECRET

    def distinct(self) -> dict[str, int]:
        """Return how many different names of each kind were replaced."""
        return dict(Counter(kind for kind, _ in self._known))

    def _new(self, kind: str) -> str:
        if len(self._known) >= MOST:
            return _FORMS[kind].format(0)
        while True:
            self._numbers[kind] += 1
            name = _FORMS[kind].format(self._numbers[kind])
            if name not in self.taken:
                return name

    def ipv4(self, text: str) -> str:
        """Return the pseudonym of an IPv4 address: the same subnet of 256 stays one, in 198.18.0.0/15."""
        address = _v4(text)
        if address is None or address in _LAN or any(address in kept for kept in _KEPT_V4):
            return text
        self.counts["ipv4"] += 1
        net, _, last = text.rpartition(".")
        if (known := self._known.get(("ipv4", text))) is None:
            known = self._subnet(net) + (last if last in ("0", "255") else self._member(net))
            self._known["ipv4", text] = known
        return known

    def _subnet(self, net: str) -> str:
        known = self._known.get(("subnet", net))
        if known is None:
            for _ in range(_SUBNETS):
                number = self._numbers["subnet"] = (self._numbers["subnet"] + 1) % _SUBNETS
                known = f"198.{18 + number // 256}.{number % 256}."
                if known not in self.taken:
                    break
            self._known["subnet", net] = known = known or "198.18.0."
        return known

    def _member(self, net: str) -> str:
        self._numbers[net] += 1
        return str(min(self._numbers[net], 254))

    def ipv6(self, text: str) -> str:
        """Return the pseudonym of an IPv6 address; `::`, `::1` and the class of fe80:: stay."""
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        if int(address) <= 1 or address.is_multicast or address in ipaddress.ip_network("2001:db8::/32"):
            return text
        if mapped := address.ipv4_mapped:
            return f"::ffff:{self.ipv4(str(mapped))}"
        if not address.is_link_local:
            return self.of("ipv6", str(address))
        return text if int(address) & ((1 << 64) - 1) < 1 << 20 else self.of("link-local", str(address))


def _v4(text: str) -> ipaddress.IPv4Address | None:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        return None


def is_address(text: str) -> bool:
    """Tell whether a name is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
