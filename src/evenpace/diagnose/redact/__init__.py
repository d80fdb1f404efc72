"""Replace in logs what identifies people, machines and places, so that they can be shown in public.

Names are learned from the whole input first, then replaced: the same name becomes the same pseudonym
everywhere, and what is a pseudonym already stays as it is. Lines keep their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from evenpace.diagnose.formats.clean import clean
from evenpace.diagnose.redact import secrets
from evenpace.diagnose.redact.learn import LISTS, Learned, expanded, is_host_name
from evenpace.diagnose.redact.names import PSEUDONYM, SECRET, Pseudonyms, is_address
from evenpace.diagnose.redact.paths import Paths
from evenpace.diagnose.redact.search import Found, Pattern, compiled, sub
from evenpace.diagnose.redact.urls import Urls
from evenpace.diagnose.redact.words import vital

_UUID = compiled(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
_MAC = compiled(
    r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){2})?|\b(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}\b"
)
_LONG_V6 = compiled(r"(?:[0-9A-Fa-f]{1,4}:){7,8}[0-9A-Fa-f]{1,4}")
_SHORT_V6 = compiled(r"(?:[A-Za-z][\w.\-]*:)?[0-9A-Fa-f:]*::[0-9A-Fa-f:]*(?:(?:\.\d{1,3}){3})?")
_GUID = compiled(
    r"(?i)(guid\W{0,8}(?:is |= ?)?)((?:0x)?[0-9a-f]{16})\b"
    r"|\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b|(?:_ib_|:)(?:0x[0-9a-f]{16})\b"
)
_V4 = compiled(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}")
_IN_V4 = re.compile(r"\d\.$")
_NO_V4_BEFORE = re.compile(r"(?:[\d.]|==|[vV]|[vV]ersion[ :=]{1,2})$")
_SERIAL = compiled(
    r"(?i)(serial(?:[ _-]?(?:number|no\.?|num))?['\"]?\s{0,60}(?:[:=]|is)\s{0,20}['\"]?)"
    r"([A-Z0-9][A-Z0-9\-]{4,24})\b"
)
_ZERO_UUID, _ZERO_MAC, _ZERO_GUID, _ZERO_SERIAL = (
    "00000000-0000-4000-8000-",
    "02005e",
    "020000ffff",
    "00000000",
)
_SUFFIX = re.compile(
    r"^(.{2,253}?)([_\-.](?:ib|eth|hsn|opa|bmc|ipmi|mgmt|data|roce|rdma|10g|100g)\d{0,2})$", re.IGNORECASE
)
_SHAPED = re.compile(r"(?=.{4,64}$)([A-Za-z][A-Za-z\-_]{2,40})(\d{2,8})((?:-[A-Za-z]{1,12}\d?)?)$")
_UNSHAPED = re.compile(
    r"(?:gpu|cuda|rank|step|epoch|iter|layer|eth|mlx|cpu|device|stage|group|worker|checkpoint|ckpt|batch|seed|version|port|pid|run|job|task|shard|part)",
    re.I,
)
_AT = compiled(r"([A-Za-z0-9_][A-Za-z0-9_.+\-]*)@([A-Za-z][A-Za-z0-9.\-]*)")
_KEYED = compiled(
    r"(?i)((?:\b|_)(?:user|username|user_?name|userid|logname|sudo_user|owner|login|runas|account|entity)['\"]?\s{0,40}[:=]{1,2}"
    r"\s{0,20}(?:u?['\"])?)([A-Za-z0-9_][A-Za-z0-9_.\-]*)"
)
_UID = compiled(r"(\b(?:e?uid|gid)=\d+\(|\bUserId=|\bGroupId=)([A-Za-z0-9_][A-Za-z0-9_.\-]*)")

_RAN_INTO = re.compile(r"([a-z]{1,64})(?:anon-host\d{3,9}|c0ffee\d{6})")


@dataclass(slots=True)
class Redactor:
    """Replace names in texts: `feed` all of them first, then `replace` in each."""

    learned: Learned = field(default_factory=Learned)
    names: Pseudonyms = field(default_factory=Pseudonyms)
    _paths: Paths | None = None
    _urls: Urls | None = None
    _words: Pattern | None = None
    _kinds: dict[str, tuple[str, str]] = field(default_factory=dict)
    _whole: dict[str, str] = field(default_factory=dict)
    _lower: set[str] | None = None

    def feed(self, text: str) -> None:
        """Learn from a piece of a log, made of whole lines."""
        text = clean(text)
        self.learned.feed(text)
        if len(self.learned.secrets) < 10_000:
            self.learned.secrets.update(secrets.values(text))

    def feed_hosts(self, hosts: Iterable[str]) -> None:
        """Learn hosts that are known from elsewhere."""
        for host in hosts:
            if not is_address(host):
                self.learned.add_host(host)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Return, by kind, how often something was replaced and how many different ones there were."""
        distinct = self.names.distinct()
        return {kind: (count, distinct.get(kind, 1)) for kind, count in sorted(self.names.counts.items())}

    def host(self, name: str) -> str:
        """Return the pseudonym of what is known to be a host: a name, an address or a list of nodes."""
        if is_address(name):
            return self.names.ipv6(name) if ":" in name else self.names.ipv4(name)
        replaced = self.replace(name)
        if replaced != name or not is_host_name(name):
            return replaced
        return self._host(name)

    def replace(self, text: str) -> str:
        """Return text with all that identifies somebody replaced."""
        self._begin()
        text = clean(text)
        if "[" in text:
            text = sub(LISTS, self._list, text)
        if self._urls and "://" in text:
            text = self._urls.replace(text)
        text = secrets.replace(text, self.names.secret)
        text = self._numbers(text)
        if "@" in text:
            text = sub(_AT, self._at, text)
        text = sub(_UID, self._user, sub(_KEYED, self._user, text))
        if self._paths:
            text = self._paths.replace(text)
        return self._named(text, "")

    def replace_names(self, text: str) -> str:
        """Return text that only holds learned names, addresses and secrets, with these replaced."""
        self._begin()
        text = self._numbers(secrets.replace(text, self.names.secret))
        return self._named(sub(_AT, self._at, text) if "@" in text else text, "")

    def _begin(self) -> None:
        if self._paths is None:
            self.names.taken |= self.learned.taken
            self._paths = Paths(self.names, self._known)
            self._urls = Urls(self.names, self._paths, self._host)
            self._collect()

    def _numbers(self, text: str) -> str:
        text = sub(
            _UUID,
            lambda found: self._kept(found[0], _ZERO_UUID) or self.names.of("uuid", found[0].lower()),
            text,
        )
        text = sub(_SERIAL, self._serial, text)
        text = sub(_LONG_V6, self._long_v6, text)
        if "::" in text:
            text = sub(_SHORT_V6, self._short_v6, text)
        text = sub(_GUID, self._guid, text)
        text = sub(_MAC, self._mac, text)
        return sub(_V4, self._ipv4, text)

    def _kept(self, text: str, start: str) -> str:
        return text if text.lower().startswith(start) else ""

    def _serial(self, found: Found) -> str:
        if found[2].startswith(_ZERO_SERIAL) or not any(letter.isdigit() for letter in found[2]):
            return found[0]
        return found[1] + self.names.of("serial", found[2])

    def _guid(self, found: Found) -> str:
        text = found[2] or found[0]
        digits = text.lower().removeprefix("_ib_").lstrip(":").removeprefix("0x").replace(":", "")
        if (
            digits.startswith(_ZERO_GUID)
            or not digits.strip("0")
            or (not found[2] and "x" in text and "_ib_" not in text)
        ):
            return found[0]
        new = self.names.of("guid", digits)
        if ":" in text:
            new = ":".join(new[at : at + 4] for at in range(0, 16, 4))
        start = "_ib_0x" if text.startswith("_ib_") else "0x" if text.startswith("0x") else ""
        return (found[1] or "") + start + new

    def _mac(self, found: Found) -> str:
        text = found[0]
        mark = text[2]
        digits = text.lower().replace(mark, "")
        start = _ZERO_MAC if len(digits) == 12 else _ZERO_GUID
        if digits.startswith(start) or not digits.strip("0") or not digits.strip("f"):
            return text
        new = self.names.of("mac" if len(digits) == 12 else "guid", digits)
        return mark.join(new[at : at + 2] for at in range(0, len(new), 2))

    def _long_v6(self, found: Found) -> str:
        """Replace an address of eight groups, also one behind the name of its interface: `eth0:2001:...`."""
        text, before = found[0], found.before[-1:]
        if len(text) == 23 and text[2::3] == ":" * 7:
            return text  # a GUID
        name = ""
        if before.isalnum() or before in ("-", "_", "."):
            name, _, text = text.partition(":")
            name += ":"
        return name + (self.names.ipv6(text) if text.count(":") == 7 else text)

    def _short_v6(self, found: Found) -> str:
        text, near = found[0], found.before[-1:] + found.after[:1]
        if text == "::" or any(letter.isalnum() or letter in ":_" for letter in near):
            return text
        if "2001:db8::" in text or _IN_V4.search(found.before):  # a pseudonym stays, whatever ran into it
            return text
        new = self.names.ipv6(text)
        if new == text and not is_address(text) and (name := text.partition(":")[0]):
            return f"{name}:{self.names.ipv6(text[len(name) + 1 :])}"
        return new

    def _ipv4(self, found: Found) -> str:
        before, after = found.before, found.after
        if after[:1].isdigit() or (after[:1] == "." and after[1:2].isdigit()):
            return found[0]
        is_version = _NO_V4_BEFORE.search(before) and not found[0].startswith(("10.", "192.168.", "172."))
        return (
            found[0]
            if is_version or (before.endswith(".") and before[-2:-1].isdigit())
            else self.names.ipv4(found[0])
        )

    def _at(self, found: Found) -> str:
        user, host = found[1], found[2]
        if host.lower().endswith((".py", ".pyx", ".so")) or host in ("plt", "sha256") or user == "git":
            return found[0]
        return f"{self._account(user)}@{self._named(host, '@')}"

    def _user(self, found: Found) -> str:
        if found[2] not in self.learned.users and found[2] not in self.learned.organisations:
            return found[0]
        return found[1] + self._account(found[2])

    def _account(self, user: str) -> str:
        if user in self.learned.organisations and user not in self.learned.users:
            return self.names.of("organisation", user)
        return self.names.of("user", user) if user in self.learned.users else user

    def _list(self, found: Found) -> str:
        members = list(expanded(found[1], found[2], found[3]))
        if not any(member in self._kinds for member in members):
            return found[0]
        return ",".join(self._named(member, "") for member in members)

    def _host(self, name: str) -> str:
        """Return the pseudonym of a host: `x-ib` is that of `x` with `-ib`, in any case of letters."""
        if PSEUDONYM.search(name):
            return name
        name = name.lower()
        found = _SUFFIX.match(name)
        if found and found[1] in self._kinds:
            return self._host(found[1]) + found[2]
        if name not in self._whole:
            self._whole[name] = self._torn(name)
        word = self._whole[name]
        return word + self._host(name[len(word) :]) if word else self.names.of("host", name)

    def _torn(self, name: str) -> str:
        """Return the word that ran into another host's name, as in `errornode7`, or nothing."""
        if found := _RAN_INTO.fullmatch(name):
            return found[1]
        if self._lower is None:
            self._lower = {host.lower() for host in self.learned.hosts}
        letters = next((at for at, letter in enumerate(name) if not letter.isalpha()), len(name))
        ends = (at for at in range(letters, 0, -1) if len(name) - at > 3 and name[at:] in self._lower)
        return name[: next(ends, 0)]

    def _known(self, name: str) -> str | None:
        kind = self._kinds.get(name)
        if kind is None:
            if name in self.learned.users:
                return self.names.of("user", name)
            return None
        return self._pseudonym(*kind)

    def _pseudonym(self, kind: str, name: str) -> str:
        if kind == "secret":
            return self.names.secret()
        return self._host(name) if kind == "host" else self.names.of(kind, name)

    def _collect(self) -> None:
        """Compile what finds all learned names, each as it was learned and in lower and upper case."""
        learned = self.learned
        for kind, found in (
            ("organisation", learned.organisations),
            ("user", learned.users),
            ("domain", learned.domains),
            ("host", learned.hosts),
            ("secret", learned.secrets),
        ):
            for name in sorted(found):
                if kind == "secret" or (name.lower() not in vital() and len(name) > 1):
                    for spelled in (
                        (name.upper(), name.lower(), name) if kind in ("host", "domain") else (name,)
                    ):
                        self._kinds[spelled] = (kind, name)
        shapes = {_shape(name, kind) for name, (kind, _) in self._kinds.items()}
        ordered = sorted(shapes, key=lambda shape: (-len(shape), shape))
        if ordered:
            self._words = compiled(f"(?:{'|'.join(ordered)})(?:[^A-Za-z0-9]|$)")

    def _named(self, text: str, before: str) -> str:
        """Replace learned names that stand as words; `before` is the letter before the text."""
        if self._words is None:
            return text
        return sub(self._words, lambda found: self._word(found, before), text)

    def _word(self, found: Found, before: str) -> str:
        text, previous = found[0], found.before[-1:] or before
        name, after = (text, "") if text in self._kinds else (text[:-1], text[-1])
        if previous.isascii() and previous.isalnum():
            return text[0] + self._named(text[1:], text[0])
        kind = self._kinds.get(name) or ("host", name)
        if kind[0] == "host" and PSEUDONYM.match(name):
            return text
        return self._pseudonym(*kind) + after


def _shape(name: str, kind: str) -> str:
    found = _SHAPED.match(name) if kind == "host" else None
    if not found or _UNSHAPED.match(name):
        return re.escape(name)
    return f"{re.escape(found[1])}\\d{{{len(found[2])}}}{re.escape(found[3])}"


__all__ = ["SECRET", "Redactor"]
