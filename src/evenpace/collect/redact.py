"""Replace in a snapshot what names people, machines, places and models, so that it can be given away.

Every word is replaced that is not public: not one of those that checks look for. The same word becomes the
same pseudonym everywhere, so that what belonged together still does, and checks answer as they did.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import msgspec

from evenpace.collect.secrets import walked
from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread

_LONGEST = 100_000  # characters of a text that are kept
_FIRST = 198 << 24 | 18 << 16  # the first address of a range that nobody has
_FIRST_LONG = 0x20010DB8 << 96  # the same of IPv6
# What stands in these fields is said by Kubernetes and Slurm, not by whoever runs the cluster.
_AS_IS = frozenset(
    {
        *(
            "type",
            "status",
            "reason",
            "phase",
            "effect",
            "operator",
            "protocol",
            "mode",
        ),
        *(
            "medium",
            "accessModes",
            "architecture",
            "operatingSystem",
            "kernelVersion",
            "osImage",
            "fieldPath",
        ),
        *("kubeletVersion", "kubeProxyVersion", "containerRuntimeVersion", "verbs", "operations", "scope"),
        *("apiVersions", "qosClass", "volumeMode", "action", "whenDeleted"),
        *("states", "gres", "flags", "version", "os", "signal", "preempt_mode", "role"),
    }
)
_REASONS = frozenset({"reason"})  # in Slurm, somebody wrote them
# Mappings whose keys were chosen by somebody.
_CHOSEN = frozenset(
    {
        *("labels", "annotations", "nodeSelector", "matchLabels", "selector", "data", "parameters"),
        *("binaryData", "volumeAttributes", "rayStartParams"),
        *("capacity", "allocatable", "limits", "requests", "hard", "used"),
    }
)
_TEXTS = frozenset({"message", "command", "args", "expr", "data", "note", "text", "topology", "gres.conf"})
_LABELS = (
    *("nvidia.com/", "amd.com/", "feature.node.kubernetes.io/", "node.kubernetes.io/instance-type"),
    *("kubernetes.io/arch", "kubernetes.io/os", "cloud.google.com/gke-accelerator"),
)
_VARIABLES = (
    "NCCL_",
    "TORCH_",
    "PYTORCH_",
    "CUDA_",
    "NVIDIA_",
    "DP_",
    "GLOO_",
    "UCX_",
    "OMP_",
    "DCGM_",
    "FI_",
)
_PLAIN = re.compile(
    r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?(?:[eE][0-9]{1,3}|[numkMGTPE]i?|Ki|ms|s|m|h|d|%)?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(?:Z|[+-][0-9]{2}:?[0-9]{2})|[Tt]rue|[Ff]alse|"
)
_HEX = "[0-9A-Fa-f]{1,4}"
_WITH_DOTS = r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?(?!\w|\.\w)"
# Of IPv6 and of network cards; a time of the day has fewer colons.
_WITH_COLONS = (
    rf"(?<![\w:.])(?:(?:{_HEX}:){{5,7}}{_HEX}|(?:{_HEX}:){{1,6}}(?::{_HEX}){{1,6}}|(?:{_HEX}:){{1,6}}:)"
    r"(?:/[0-9]{1,3})?(?![\w:])"
)
_ADDRESS = f"{_WITH_DOTS}|{_WITH_COLONS}"
_VERSION = r"(?<=:)v?[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}(?![\w.])"
_NUMBER = r"(?<![\w.\-/])[0-9]{1,12}(?:\.[0-9]{1,6})?(?:[KMGT]i?B?|ms|[smh%])?(?![\w.\-/])"
_NAME = re.compile(rf"(?P<address>{_ADDRESS})|(?P<number>{_VERSION})|(?P<word>[^\W_]+)")
_TEXT = re.compile(rf"(?P<address>{_ADDRESS})|(?P<number>{_VERSION}|{_NUMBER})|(?P<word>[^\W_]+)")
_LETTERS = re.compile(rf"(?P<address>{_ADDRESS})|(?P<word>[^\W\d_]+)")
_STEM = re.compile(r"([^\W\d_]+)[0-9]{1,2}")
_SHORTEST = 4  # letters of a public word that other words may begin with
_PLACES = re.compile(r"(?i)(?:name|host|addr|user|loc|path|file|dir|log|program|prolog|epilog|pass|info|key)")


def redacted(snapshots: Collection[Snapshot], public: Collection[str]) -> tuple[Snapshot, ...]:
    """Return the snapshots with every word replaced that is not in `public` (in small letters)."""
    return tuple(_Redactor(frozenset(public), one.family).snapshot(one) for one in snapshots)


class _Redactor:
    def __init__(self, public: frozenset[str], family: str) -> None:
        self._public = public
        self._slurm = family == "slurm"
        self._as_is = _AS_IS - _REASONS if self._slurm else _AS_IS
        self._words: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._done: dict[tuple[int, str], Any] = {}

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot under pseudonyms; reasons lose their details, which quote the server."""
        snapshot = walked(snapshot, self._kind)
        unread = {kind: self._reason(one) for kind, one in snapshot.unread.items()}
        partly = {kind: self._reason(one) for kind, one in snapshot.partly.items()}
        return replace(snapshot, source="redacted", unread=unread, partly=partly)

    def _reason(self, one: Unread) -> Unread:
        what = self._replaced(one.what, _LETTERS) if self._slurm else one.what  # of Slurm it may be a file
        return Unread(one.why, what)

    def _kind(self, kind: str, value: Any) -> Any:
        self._done.clear()  # by what is held in memory, and what is made here is not held for long
        if not self._slurm or kind not in TYPES:
            return self._value(value, "")
        plain = msgspec.to_builtins(value)
        if kind == "config":
            found: Any = {key: self._setting(key, text) for key, text in plain.items()}
        else:
            found = self._value(plain, kind)
        return msgspec.convert(found, TYPES[kind], strict=False)

    def _setting(self, key: str, text: str) -> str:
        return self._replaced(text, _LETTERS) if _PLACES.search(key) or "/" in text else text

    def _value(self, value: Any, key: str) -> Any:
        """Return a value that stands in the field `key`."""
        if isinstance(value, str):
            return self._text(key, value[:_LONGEST])
        if not isinstance(value, Mapping | list | tuple):
            return value
        if (id(value), key) not in self._done:
            self._done[id(value), key] = self._fresh(value, key)
        return self._done[id(value), key]

    def _fresh(self, value: Any, key: str) -> Any:
        if not isinstance(value, Mapping):
            found = [self._value(one, key) for one in value]
            return tuple(found) if isinstance(value, tuple) else found
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
            return {**value, **self._variable(value["name"], value["value"])}
        if key not in _CHOSEN:
            return {name: self._value(one, str(name)) for name, one in value.items()}
        inner = key if key in _TEXTS else ""
        return {
            self._replaced(str(name), _NAME): one
            if isinstance(one, str) and str(name).startswith(_LABELS)
            else self._value(one, inner)
            for name, one in value.items()
        }

    def _variable(self, name: str, value: str) -> dict[str, str]:
        """Return a variable of the environment: of those that checks know the numbers stay."""
        known = name.startswith(_VARIABLES)
        told = self._text("args", value) if known else self._replaced(value, _NAME)
        return {"name": self._replaced(name, _NAME), "value": told}

    def _text(self, key: str, value: str) -> str:
        if key in self._as_is or key.endswith("Policy") or _PLAIN.fullmatch(value):
            return value
        if self._slurm:
            return self._replaced(value, _LETTERS)
        return self._replaced(value, _TEXT if key in _TEXTS else _NAME)

    def _replaced(self, text: str, pattern: re.Pattern[str]) -> str:
        return pattern.sub(self._one, text)

    def _one(self, match: re.Match[str]) -> str:
        found = match[0]
        if match.lastgroup == "number":
            return found
        if match.lastgroup == "address":
            return self._address(found)
        return self._public_word(found) or self._word(found)

    def _address(self, found: str) -> str:
        """Return another address; of a network, the size stays."""
        if found not in self._addresses:
            _, slash, size = found.partition("/")
            long = ":" in found
            free = max((128 if long else 32) - int(size), 0) if slash else 0
            made = ((_FIRST_LONG if long else _FIRST) + (len(self._addresses) << free)) >> free << free
            told = IPv6Address(made & (1 << 128) - 1) if long else IPv4Address(made & (1 << 32) - 1)
            self._addresses[found] = f"{told}{slash}{size}"
        return self._addresses[found]

    def _public_word(self, word: str) -> str | None:
        """Return what stays of a word: all of a public one, or the public one that it begins with."""
        small = word.lower()
        stem = _STEM.fullmatch(small)
        if {small, small.removesuffix("s"), stem[1] if stem else small} & self._public:
            return word
        ends = range(len(word) - 1, _SHORTEST - 1, -1) if len(word) == len(small) else ()
        end = next((end for end in ends if small[:end] in self._public), 0)
        return word[:end] + self._word(word[end:]) if end else None

    def _word(self, word: str) -> str:
        """Return the pseudonym of a word: letters alone, so that numbers beside it stay apart from it."""
        if word not in self._words:
            number, made = len(self._words), ""
            while number or not made:
                number, digit = divmod(number, 26)
                made += chr(ord("a") + digit)
            self._words[word] = f"zz{made}"
        return self._words[word]
