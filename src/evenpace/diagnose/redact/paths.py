"""Replace what identifies somebody in paths; depth, extensions and the parts that every machine has stay."""

from __future__ import annotations

import re
from collections.abc import Callable

from evenpace.diagnose.redact.names import PSEUDONYM, Pseudonyms
from evenpace.diagnose.redact.search import Found, compiled, sub
from evenpace.diagnose.redact.words import EXTENSIONS, KEPT_USERS, PACKAGES, is_common, vital

_IN = r"[^\s'\"`<>|:;,()\[\]{}*?$\\/]"
_ABSOLUTE = re.compile(
    rf"(?:(?<![A-Za-z0-9_/.~])|(?<=-[ILW]))(?:\$\w{{1,40}}|~[\w.\-]{{0,40}}|\.{{1,3}})?/(?:{_IN}{{1,255}}/?)(?:{_IN}{{0,255}}/?){{0,60}}"
)
_QUOTED = compiled(
    r"((?:File \"|(?:directory|file|found|exists|denied|device|handle): '))"
    r"([/~.][^\"'\n ]*(?: [^\"'\n ]*)+)[\"']"
)
_WINDOWS = compiled(r"\b[A-Za-z]:\\{1,2}[A-Za-z0-9_][^\s\"'<>|*?,;:]+")
_BARE = (
    r"py|sh|yaml|yml|json|jsonl|toml|ini|cfg|log|txt|out|err|csv|tsv|pt|pth|ckpt|bin|safetensors|npy|npz|pkl|parquet"
    r"|arrow|tar|gz|zst|zip|h5|tfrecord|wav|flac|jpg|jpeg|png|sbatch|slurm|ipynb|sif|sqsh|pem"
)
_RELATIVE = compiled(
    rf"(?:{_IN}+/)+{_IN}+\.(?:{EXTENSIONS})\b|{_IN}+\.(?:{_BARE})\b|(?:{_IN}+/)(?:{_IN}+/)+(?:[\s'\"\]),]|$)"
)
_KEYED = compiled(
    r"(?i)((?:path|dir|directory|folder|file|root|repo|data|dataset|prefix|model|checkpoint|ckpt|load|save|output"
    r"|input|tokenizer|config|cache|from|name)s?['\"]?(?:\s{0,3}[=:]\s{0,3}|['\",\s]{1,4})['\"]?)"
    rf"((?:{_IN}+/)+{_IN}+)"
)
_EXTENSION = re.compile(rf"(?:\.(?:{EXTENSIONS}))(?:\.\d{{1,4}})?$")
_LIBRARY = re.compile(r"lib[\w+\-]{1,80}\.so[\d.]{0,20}$|[\w.\-]{1,80}\.cpython-\d{2,3}-[\w\-]{1,60}\.so$")
_SOURCE = re.compile(r"\.(?:cc|cpp|cxx|c|h|hpp|cu|cuh)$")
_NATIVE = frozenset(
    (
        *("conda-bld", "pytorch", "c10", "c10d", "aten", "ATen", "csrc", "torch", "nccl", "gloo"),
        *("tensorpipe", "caffe2", "third_party", "transport", "misc", "ucx", "ompi", "opal", "orte"),
        *("prte", "pmix", "vllm", "deepspeed"),
    )
)
_HOMES = frozenset(("home", "homes", "users", "user"))
_SITE = ("site-packages", "dist-packages")
_PYTHON = re.compile(r"python[23](?:\.\d{1,2})?$")
_SHM = re.compile(
    r"(?:nccl|torch|psm|sem\.|__KMP|cuda|nv|ray|plasma|vader|ucx|sm_|shm|pym|wnsm)", re.IGNORECASE
)
_TAIL = ".!"
_REMEMBERED = 100_000


class Paths:
    """Replace paths in texts; `learned` returns the pseudonym of a component that is somebody's name."""

    def __init__(self, names: Pseudonyms, learned: Callable[[str], str | None]) -> None:
        self._names, self._learned = names, learned
        self._kept: set[str] = set()

    def replace(self, text: str) -> str:
        """Return text with its paths replaced."""
        if ' "' in text or ": '" in text:
            text = sub(_QUOTED, lambda found: found[1] + self._quoted(found[2]) + found[0][-1], text)
        if ":\\" in text:
            text = sub(_WINDOWS, lambda found: self._windows(found[0]), text)
        if "/" in text:
            text = _ABSOLUTE.sub(self._absolute, text)
            text = sub(_KEYED, lambda found: found[1] + self._relative(found[2]), text)
        return sub(_RELATIVE, self._matched, text)

    def _matched(self, found: Found) -> str:
        path = found[0]
        if found.before[-1:] in ("/", "\\") and found.before:
            return path  # within a URL, or replaced above
        if found.after[:1] == "(" and not path.endswith((".py", ".sh")):
            return path  # a call: `math.log(`
        return self._relative(path)

    def under(self, path: str) -> str:
        """Return the path of a URL replaced."""
        return self._parts(path.split("/"), "/")

    def _quoted(self, path: str) -> str:
        return self._whole(path) if path.startswith(("/", "~", "./", "../")) else path

    def _absolute(self, found: re.Match[str]) -> str:
        path = found[0]
        before = found.string[found.start() - 1 : found.start()]
        if before == "<" and path.count("/") < 2 and not path.startswith("/torch_"):
            return path
        if len(path) < 4 and path.count("/") < 2:
            return path
        return self._whole(path)

    def _relative(self, path: str) -> str:
        """Replace a relative path, unless it is one of a public package or does not look like one."""
        first, slash, _ = path.partition("/")
        if "://" in path or not first or _SOURCE.search(path):
            return path
        if (slash and first in PACKAGES) or (not slash and "@" in first):
            return path if slash else self._at(path)
        end = len(path) - (path[-1] in " \t\n'\"]),\r") if path else 0
        return self._whole(path[:end]) + path[end:]

    def _at(self, path: str) -> str:
        before, _, after = path.rpartition("@")
        return f"{before}@{self._whole(after)}" if after else path

    def _whole(self, path: str) -> str:
        if path in self._kept:
            return path
        bare = path.rstrip(_TAIL)
        tail = path[len(bare) :]
        if bare.endswith("/") and tail == "...":  # an elided path: `/data/...`
            bare, tail = path, ""
        new = self._parts(bare.split("/"), "/") + tail
        if new == path and len(self._kept) < _REMEMBERED:
            self._kept.add(path)
        return new

    def _windows(self, path: str) -> str:
        drive, rest = path[:2], path[2:]
        mark = "\\\\" if rest.startswith("\\\\") else "\\"
        return drive + self._parts(rest.split(mark), mark)

    def _parts(self, parts: list[str], mark: str) -> str:
        rooted = self._public_from(parts)
        head = [self._component(parts, at) for at in range(min(rooted, len(parts)))]
        return mark.join(head + parts[len(head) :])

    def _public_from(self, parts: list[str]) -> int:
        """Return the index from which on a path lies in a public package, or in /proc or /sys."""
        if len(parts) > 1 and parts[0] == "" and parts[1] in ("proc", "sys"):
            return 1
        if len(parts) > 1 and parts[0] == "..." and parts[1] in PACKAGES:
            return 1
        for at in range(len(parts) - 1):
            following = parts[at + 1]
            top = re.split(r"[.\-]", following, maxsplit=1)[0]
            if parts[at] in _SITE and (top in PACKAGES or following.startswith(("nvidia", "__pycache__"))):
                return at + 1
            if _PYTHON.match(parts[at]) and at and parts[at - 1].startswith("lib") and top in PACKAGES:
                return at + 1
        return len(parts)

    def _component(self, parts: list[str], at: int) -> str:
        part = parts[at]
        before = parts[at - 1] if at else ""
        if part in ("", ".", "..", "...", "~") or PSEUDONYM.fullmatch(part):
            return part
        if before.lower() in _HOMES and part.lower() not in KEPT_USERS and at + 1 <= len(parts):
            return self._names.of("user", part)
        if part.startswith("~"):
            return "~" + self._names.of("user", part[1:])
        if part.startswith("$") or (known := self._learned(part)) is None:
            return part if part.startswith("$") else self._unknown(parts, at, part)
        return known

    def _unknown(self, parts: list[str], at: int, part: str) -> str:
        if parts[:2] == ["", "dev"] and (at != 3 or parts[2] != "shm" or _SHM.match(part)) and at < 4:
            return part
        if is_common(part) or _LIBRARY.match(part) or _pseudonymous(part):
            return part
        if _SOURCE.search(parts[-1]) and (len(parts) == 1 or _NATIVE & set(parts[:at])):
            return part
        extension = _EXTENSION.search(part)
        if not extension or at + 1 < len(parts):
            return self._names.of("folder", part)
        stem = part[: extension.start()]
        if is_common(stem) or stem.lower() in vital():
            return part
        return self._names.of("file", stem) + extension[0]


def _pseudonymous(part: str) -> bool:
    found = PSEUDONYM.match(part)
    return found is not None and (_EXTENSION.fullmatch(part[found.end() :]) is not None)
