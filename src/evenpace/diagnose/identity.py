"""Who is who: ranks, hosts, GPUs and processes, as captured, and as pieced together from all lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from evenpace.diagnose.model import Identity, Named, Which

_NUMBER = re.compile(r"\d{1,9}")
_PCI = re.compile(r"^(?:PCI:)?(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?$", re.IGNORECASE)
_CONTAINER = re.compile(r"^(?=[0-9a-f]{0,11}\d)[0-9a-f]{12}(?:[0-9a-f]{52})?$")
_INDEX = re.compile(r"^(?:GPU|cuda:|nvidia)?\s?(\d{1,3})$", re.IGNORECASE)


def from_captures(captures: Mapping[str, str]) -> Identity:
    """Return the identity that captures named `rank`, `ranks`, `local_rank`, `host`, `gpu`, `pid` spell.

    The plural forms (`ranks`, `hosts`, `gpus`, `pids`) hold a list, whatever stands between its members.
    `other_host` is the far end of a link: both ends are accused, see `with_far_end`.
    """
    return Identity(
        rank=_numbers(captures.get("ranks") or captures.get("rank")),
        local_rank=_numbers(captures.get("local_ranks") or captures.get("local_rank")),
        host=_names(captures.get("hosts"), captures.get("host")),
        gpu=_names(captures.get("gpus"), captures.get("gpu")),
        pid=_numbers(captures.get("pids") or captures.get("pid")),
    )


def with_far_end(identity: Identity, captures: Mapping[str, str]) -> Identity:
    """Return both ends of a link where the far one was captured, else the identity as it is."""
    far = captures.get("other_host")
    if not far or not isinstance(identity.host, str) or identity.host == far:
        return identity
    return Identity(host=(identity.host, far))


def accusable(identity: Identity) -> Identity:
    """Return whom an identity accuses: the id of a container names no machine and is left out."""
    if isinstance(identity.host, str) and is_container(identity.host):
        return replace(identity, host=None)
    return identity


def is_container(host: str) -> bool:
    """Tell whether the name of a host is the id of a container."""
    return _CONTAINER.match(host) is not None


def one_or_all(values: tuple[int, ...]) -> Which | None:
    """Return the only value, all of them, or None for none."""
    return None if not values else values[0] if len(values) == 1 else values


def _numbers(text: str | None) -> Which | None:
    if not text:
        return None
    return one_or_all(tuple(dict.fromkeys(int(found) for found in _NUMBER.findall(text)[:4096])))


def _names(several: str | None, one: str | None) -> Named | None:
    if several:
        names = tuple(
            dict.fromkeys(part for part in re.split(r"[\s,;{}\[\]']{1,8}", several[:65536]) if part)
        )
        return names[0] if len(names) == 1 else names or None
    return one or None


def same_gpu(one: str, other: str) -> bool:
    """Tell whether two spellings mean the same GPU: PCI addresses by bus, `GPU 5`, `cuda:5` and `5` alike."""
    return canonical_gpu(one) == canonical_gpu(other)


@lru_cache(maxsize=4096)
def canonical_gpu(text: str) -> str:
    """Return a GPU as one spelling: a PCI address in full and lower case without function, or an index."""
    if found := _PCI.match(text):
        domain = (found[1] or "0").lstrip("0").lower().rjust(4, "0")
        return f"{domain}:{found[2].lower()}"
    if found := _INDEX.match(text):
        return found[1]
    return text.strip().lower()
