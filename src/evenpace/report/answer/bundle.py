"""A bundle to attach to a public report: logs and answer with users, hosts, addresses and paths replaced."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import AnyStr

from evenpace.diagnose.formats.clean import decode
from evenpace.diagnose.formats.names import from_name
from evenpace.diagnose.redact import Redactor
from evenpace.diagnose.sources import STDIN, Damaged, open_log
from evenpace.errors import Problem
from evenpace.findings import Advice, Evidence, Finding, Subject
from evenpace.report.answer import Answer
from evenpace.report.answer.json import to_json
from evenpace.report.answer.markdown import to_markdown

BLOCK = 1 << 20
LONGEST = 8 << 20  # bytes of a line that are looked at together
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WHAT = {
    "bucket": "buckets",
    "domain": "domains",
    "file": "file names",
    "folder": "folders in paths",
    "guid": "InfiniBand GUIDs",
    "host": "hosts",
    "ipv4": "IPv4 addresses",
    "ipv6": "IPv6 addresses",
    "link-local": "link-local addresses",
    "mac": "MAC addresses",
    "organisation": "accounts and teams",
    "query": "query strings of URLs",
    "secret": "secrets",
    "serial": "serial numbers",
    "user": "users",
    "uuid": "UUIDs",
}
_KEPT = """
Not replaced: numbers, ranks, process ids, times, PCI addresses, job ids and job names, names of models and
data sets, names in Python and C++ code, versions, and the texts of errors. A name in free text, at a place
that does not tell that it is one, cannot be found: look through the files before you publish them.
"""


@dataclass(frozen=True, slots=True)
class _Log:
    path: Path
    source: str
    name: str


def check_folder(folder: Path, files: Iterable[Path] = ()) -> None:
    """Raise Problem unless a bundle of `files` can be written to `folder`."""
    if any(str(path) == STDIN for path in files):
        raise Problem(
            "--redact reads logs twice, which standard input does not allow; save them to a file first"
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Problem(f"{folder} is not a folder; choose a new one for --redact")
    try:
        if folder.is_dir() and (any(folder.iterdir()) or folder.samefile(Path.cwd())):
            raise Problem(f"{folder} is not an empty folder; choose a new one for --redact")
        if not folder.absolute().parent.is_dir():
            raise Problem(
                f"there is no folder {folder.absolute().parent}; make it, or choose another for --redact"
            )
    except OSError as error:
        raise Problem(f"cannot look at {folder}: {error.strerror}; choose another for --redact") from error


def write_bundle(folder: Path, answer: Answer, files: Sequence[Path], hosts: Iterable[str] = ()) -> None:
    """Write logs, answer and manifest to a new folder, all or nothing; raises Problem.

    `hosts` are names that the diagnosis found to be hosts.
    """
    check_folder(folder, files)
    folder = folder.absolute()
    try:
        stage = Path(tempfile.mkdtemp(prefix=".evenpace-redact-", dir=folder.parent))
    except OSError as error:
        raise Problem(
            f"cannot write to {folder.parent}: {error.strerror}; choose another --redact"
        ) from error
    try:
        _fill(stage, answer, files, hosts)
        stage.rename(folder)
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another for --redact") from error
    finally:
        if stage.exists():
            shutil.rmtree(stage, ignore_errors=True)


def _fill(stage: Path, answer: Answer, files: Sequence[Path], hosts: Iterable[str]) -> None:
    redactor = Redactor()
    read = [path for path in files if str(path) in set(answer.files)]
    for path in read:
        for text in _texts(path):
            redactor.feed(text)
    named = [host for path in read if isinstance(host := from_name(str(path)).host, str)]
    redactor.feed_hosts([*hosts, *named, *_hosts(answer.findings)])
    logs = [_Log(path, str(path), _neutral(path, number, redactor)) for number, path in enumerate(read, 1)]
    lines = [f"{log.name}: {_write_log(stage / log.name, log.path, redactor):,} bytes" for log in logs]
    said = redacted(answer, redactor, {log.source: log.name for log in logs})
    _write(stage / "answer.json", [to_json(said)])
    _write(stage / "answer.md", [to_markdown(said)])
    _write(stage / "MANIFEST.txt", [_manifest(lines, redactor)])


def _hosts(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        for subject in (finding.subject, *finding.victims):
            for value in (subject.node, subject.link):
                yield from [value] if isinstance(value, str) else value or ()


def _neutral(path: Path, number: int, redactor: Redactor) -> str:
    """Return a name without names, but with what diagnosis reads from it: the rank or the host."""
    said = from_name(str(path))
    if said.rank is not None:
        return f"log-{number:03d}-rank{said.rank}.log"
    if said.local_rank is not None:
        return f"log-{number:03d}-local_rank{said.local_rank}.log"
    if isinstance(said.host, str):
        return f"log-{number:03d}/{redactor.host(said.host)}.log"
    return f"log-{number:03d}.log"


def _texts(path: Path) -> Iterator[str]:
    """Yield a log as text in pieces of whole lines; one that is damaged ends where the damage begins."""
    with open_log(path) as file:
        start = file.read(BLOCK)
        if encoding := _MARKS.get(start[:2]):
            yield from _lines(_decoded(file, start, encoding), "\n")
            return
        rest = _blocks(file, start)
        yield from (decode(piece) for piece in _lines(rest, b"\n"))


def _blocks(file, start: bytes) -> Iterator[bytes]:  # type: ignore[no-untyped-def]
    block = start
    with suppress(Damaged):
        while block:
            yield block
            block = file.read(BLOCK)


def _decoded(file, start: bytes, encoding: str) -> Iterator[str]:  # type: ignore[no-untyped-def]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in _blocks(file, start):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _lines(blocks: Iterable[AnyStr], newline: AnyStr) -> Iterator[AnyStr]:
    """Yield blocks cut anew after newlines; a very long line is cut at a blank."""
    blank = newline.replace(newline, _blank(newline))
    held = newline[:0]
    for block in blocks:
        held = held + block
        cut = held.rfind(newline) + 1
        if not cut and len(held) > LONGEST:
            cut = held.rfind(blank) + 1 or len(held)
        if cut:
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def _blank(like: AnyStr) -> AnyStr:
    return " " if isinstance(like, str) else b" "


def _write_log(target: Path, path: Path, redactor: Redactor) -> int:
    if target.parent.name.startswith("log-"):
        target.parent.mkdir(mode=0o700)
    return _write(target, (redactor.replace(text) for text in _texts(path)))


def _write(target: Path, texts: Iterable[str]) -> int:
    written = 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        for text in texts:
            written += file.write(text.encode("utf-8", "replace"))
    return written


def _manifest(logs: Sequence[str], redactor: Redactor) -> str:
    said = [
        f"{_WHAT.get(kind, kind)}: {count:,} times, {distinct:,} different"
        for kind, (count, distinct) in redactor.counts.items()
    ]
    parts = [
        "Written by evenpace diagnose --redact.",
        "",
        *logs,
        "",
        "Replaced:",
        *(said or ["nothing"]),
        _KEPT,
    ]
    return "\n".join(parts)


def redacted(answer: Answer, redactor: Redactor, names: Mapping[str, str]) -> Answer:
    """Return an answer with its names replaced as in the logs; `names` is how the files are called now."""
    return replace(
        answer,
        findings=tuple(_finding(finding, redactor, names) for finding in answer.findings),
        files=[names.get(name, "another file") for name in answer.files],
        skipped={
            reason: [f"file {n}" for n in range(1, len(one) + 1)] for reason, one in answer.skipped.items()
        },
    )


def _finding(finding: Finding, redactor: Redactor, names: Mapping[str, str]) -> Finding:
    details = {
        key: _detail(key, value, redactor) if isinstance(value, str) else value
        for key, value in finding.details.items()
    }
    changed = {
        old: new
        for key, old in finding.details.items()
        if isinstance(old, str) and (new := str(details[key])) != old
    }

    def said(text: str) -> str:
        return redactor.replace_names(_with(text, changed))

    return replace(
        finding,
        subject=_subject(finding.subject, redactor),
        summary=said(finding.summary),
        victims=tuple(_subject(victim, redactor) for victim in finding.victims),
        evidence=tuple(_evidence(item, redactor, names) for item in finding.evidence),
        advice=tuple(Advice(said(one.text), one.command and said(one.command)) for one in finding.advice),
        missing=tuple(said(text) for text in finding.missing),
        details=details,
    )


def _detail(key: str, value: str, redactor: Redactor) -> str:
    if key in ("host", "hosts", "other_host"):
        return ",".join(redactor.host(one) for one in value.split(","))
    return redactor.replace(value)


def _with(text: str, changed: Mapping[str, str]) -> str:
    for old in sorted(changed, key=len, reverse=True):
        text = text.replace(old, changed[old]) if len(old) > 2 else text
    return text


def _subject(subject: Subject, redactor: Redactor) -> Subject:
    def each(value: str | list[str] | None) -> str | list[str] | None:
        return (
            [redactor.host(one) for one in value]
            if isinstance(value, list)
            else value and redactor.host(value)
        )

    def gpu(value: str | list[str] | None) -> str | list[str] | None:
        return (
            [redactor.replace(one) for one in value]
            if isinstance(value, list)
            else value and redactor.replace(value)
        )

    return replace(
        subject,
        node=each(subject.node),
        link=each(subject.link),
        gpu=gpu(subject.gpu),
        object=subject.object and redactor.replace(subject.object),
    )


def _evidence(item: Evidence, redactor: Redactor, names: Mapping[str, str]) -> Evidence:
    text = item.text and redactor.replace(item.text)
    return replace(item, source=names.get(item.source, "another file"), text=text)
