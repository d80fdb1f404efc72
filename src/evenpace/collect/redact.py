"""Replace in a snapshot what names people, machines, places and models, so that it can be given away.

Every word is replaced that is not public: not one of those that checks look for. The same word becomes the
same pseudonym everywhere, so that what belonged together still does, and checks answer as they did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import msgspec

from evenpace.collect.secrets import walked
from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread
from evenpace.collect.wording import HARDWARE, SAID, SYSTEMS, model

_LONGEST = 100_000  # characters of a text that are kept
_FIRST = 198 << 24 | 18 << 16  # the first address of a range that nobody has
_FIRST_LONG = 0x20010DB8 << 96  # the same of IPv6
# What stands in these fields is said by Kubernetes and its parts; words of others are replaced there as well.
_SAID = frozenset(
    {
        *("type", "status", "reason", "phase", "effect", "operator", "protocol", "mode", "medium"),
        *("accessModes", "verbs", "operations", "scope", "qosClass", "volumeMode", "action", "whenDeleted"),
    }
)
# What a system or a machine is.
_SYSTEM = frozenset(
    {
        *("architecture", "operatingSystem", "kernelVersion", "osImage", "os", "version", "apiVersions"),
        *("kubeletVersion", "kubeProxyVersion", "containerRuntimeVersion"),
    }
)
# Of Slurm: what it says by itself, word for word; and whom it names.
_AS_IS = frozenset({"states", "flags", "signal", "preempt_mode", "role"})
_PEOPLE = frozenset({"user", "reason_user", "users", "accounts"})
# Amounts by the name of what they are of, and others: a number of any length is one.
_OF_NAMED = frozenset({"capacity", "allocatable", "limits", "requests", "hard", "used"})
_AMOUNTS = _OF_NAMED | {"sizeLimit", "nominalQuota", "borrowingLimit", "lendingLimit", "storage", "size"}
# Mappings whose keys were chosen by somebody.
_CHOSEN = _OF_NAMED | {
    *("labels", "annotations", "nodeSelector", "matchLabels", "selector", "data", "parameters"),
    *("binaryData", "volumeAttributes", "rayStartParams", "attributes", "minTaskMember"),
}
_PATHS = frozenset({"stdout", "stderr", "command", "path", "text"})  # of Slurm
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
_NUMBER = r"(?<![\w.\-/])[0-9]{1,8}(?:\.[0-9]{1,6})?(?:[KMGT]i?B?|ms|[smh%])?(?![\w.\-/])"
_NAME = re.compile(rf"(?P<address>{_ADDRESS})|(?P<number>{_VERSION})|(?P<word>[^\W_]+)")
_TEXT = re.compile(rf"(?P<address>{_ADDRESS})|(?P<number>{_VERSION}|{_NUMBER})|(?P<word>[^\W_]+)")
_LETTERS = re.compile(rf"(?P<address>{_ADDRESS})|(?P<word>[^\W\d_]+)")
_PATH = re.compile(rf"(?P<address>{_ADDRESS})|(?P<word>[^\W\d_]+[0-9]{{4,}}|[^\W\d_]+)")  # /home/u123456
_PARTS = re.compile(r"(?P<word>^(?:GPU|NV)(?=[A-Z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+)")  # of CamelCase
_FIELD = re.compile(r"[a-z][a-z_]*[A-Za-z0-9]*")  # also of Slurm's records
_LONG = re.compile(r"[0-9]{7,18}")  # an account of a cloud, or somebody's number
_STEM = re.compile(r"([^\W\d_]+)[0-9]{1,2}")
_SHORTEST = 4  # letters of a public word that other words may begin with


def _of_slurm(key: str) -> re.Pattern[str]:
    return _NAME if key in _PEOPLE else _PATH if key in _PATHS else _LETTERS


def redacted(snapshots: Collection[Snapshot], public: Collection[str]) -> tuple[Snapshot, ...]:
    """Return the snapshots with every word replaced that is not in `public` (in small letters)."""
    return tuple(_Redactor(frozenset(public), one.family).snapshot(one) for one in snapshots)


class _Redactor:
    def __init__(self, public: frozenset[str], family: str) -> None:
        self._public = public
        self._slurm = family == "slurm"
        self._words: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._done: dict[tuple[int, str], Any] = {}

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot under pseudonyms; reasons lose their details, which quote the server."""
        snapshot = walked(snapshot, self._kind)
        unread = {kind: self._reason(one) for kind, one in snapshot.unread.items()}
        partly = {kind: self._reason(one) for kind, one in snapshot.partly.items()}
        version = snapshot.version and self._replaced(snapshot.version, _LETTERS, SYSTEMS)
        return replace(snapshot, source="redacted", version=version, unread=unread, partly=partly)

    def _reason(self, one: Unread) -> Unread:
        what = self._replaced(one.what, _LETTERS) if self._slurm else one.what  # of Slurm it may be a file
        return Unread(one.why, what)

    def _kind(self, kind: str, value: Any) -> Any:
        self._done.clear()  # by what is held in memory, and what is made here is not held for long
        if not self._slurm or kind not in TYPES:
            return self._value(value, "")
        plain = msgspec.to_builtins(value)
        if kind == "config":
            found: Any = {key: self._replaced(text, _LETTERS, SAID) for key, text in plain.items()}
        else:
            found = self._value(plain, kind)
        return msgspec.convert(found, TYPES[kind], strict=False)

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
            return {self._field(name): self._value(one, str(name)) for name, one in value.items()}
        return {
            self._replaced(str(name), _NAME): self._chosen(key, str(name), one) for name, one in value.items()
        }

    def _field(self, name: Any) -> Any:
        """Return the name of a field; what no field of an API is called was chosen by somebody."""
        return name if _FIELD.fullmatch(str(name)) else self._replaced(str(name), _NAME)

    def _chosen(self, key: str, name: str, value: Any) -> Any:
        """Return the value of a name that somebody chose, in the field `key`."""
        if isinstance(value, str) and name.startswith(_LABELS):
            return self._replaced(value, _NAME, HARDWARE, model)
        if isinstance(value, Mapping):  # as `matchLabels` of a `selector`
            return self._value(value, name if name in _CHOSEN else key)
        return self._value(value, key if key in _TEXTS or key in _AMOUNTS else "")

    def _variable(self, name: str, value: str) -> dict[str, str]:
        """Return a variable of the environment: of those that checks know the numbers stay."""
        known = name.startswith(_VARIABLES)
        told = self._text("args", value) if known else self._replaced(value, _NAME)
        return {"name": self._replaced(name, _NAME), "value": told}

    def _text(self, key: str, value: str) -> str:
        if _PLAIN.fullmatch(value) and (key in _AMOUNTS or not _LONG.fullmatch(value)):
            return value
        if key in _SYSTEM:
            return self._replaced(value, _LETTERS, SYSTEMS)
        if self._slurm:
            return value if key in _AS_IS else self._replaced(value, _of_slurm(key))
        if key in _SAID or key.endswith("Policy"):
            return value if value.lower() in self._public else _PARTS.sub(self._part, value)
        return self._replaced(value, _TEXT if key in _TEXTS else _NAME)

    def _part(self, match: re.Match[str]) -> str:
        """Return a word of `GPUHasFallenOff`; a pseudonym in its place is a word of it as well."""
        part = match[0]
        if part.lower() in SAID:
            return part
        found = self._one(match)
        return found[0].upper() + found[1:] if part[0].isupper() else found

    def _replaced(
        self,
        text: str,
        pattern: re.Pattern[str],
        known: Collection[str] = (),
        shaped: Callable[[str], bool] | None = None,
    ) -> str:
        """Return a text whose words are replaced unless they are public, `known` or `shaped` as may stay."""

        def one(match: re.Match[str]) -> str:
            stays = match[0].lower() in known or (shaped is not None and shaped(match[0]))
            return match[0] if stays else self._one(match)

        return pattern.sub(one, text)

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
