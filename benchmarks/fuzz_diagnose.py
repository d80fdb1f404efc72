"""Fuzz the log diagnosis with coverage guidance: no input may raise, hang or give an unbounded answer.

python benchmarks/fuzz_diagnose.py [CORPUS...] [-max_total_time=600] [further options of libFuzzer]

Needs atheris, which is no dependency of the project: `pip install atheris`. The first byte of an input says
what is fuzzed: the whole way from bytes to an answer, or one parser alone. Without a corpus the logs of
tests/diagnose/cases are the seeds, and new inputs go to a temporary folder. What fails is written
to crash-* or timeout-*.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["evenpace.diagnose"]):
    from evenpace.diagnose import explain
    from evenpace.diagnose.engine import diagnose, standing_out
    from evenpace.diagnose.expect import expected
    from evenpace.diagnose.formats import c10d, json_errors, launchers, pyspy, tracebacks
    from evenpace.diagnose.formats.clean import decode
    from evenpace.diagnose.formats.flight_recorder import read_dump
    from evenpace.diagnose.formats.iterations import series_of
    from evenpace.diagnose.formats.process_groups import groups_of, world_of
    from evenpace.diagnose.lines import read_lines
    from evenpace.diagnose.model import Case, Line, Source
    from evenpace.diagnose.redact import Redactor
    from evenpace.diagnose.telling import finding
from evenpace.errors import Problem

CASES = Path(__file__).parents[1] / "tests/diagnose/cases"
NAMES = ("log.txt", "rank3.err", "node-7.out", "dmesg.gpu-1", "12_34_n3_2.log")
LONGEST = 4096
MOST_FINDINGS = 1000


def main() -> None:
    """Fuzz until libFuzzer stops."""
    given = [one for one in sys.argv[1:] if not one.startswith("-")]
    options = [one for one in sys.argv[1:] if one.startswith("-")]
    with tempfile.TemporaryDirectory() as folder:
        corpus = given or [_seeds(Path(folder))]
        atheris.Setup([sys.argv[0], f"-max_len={LONGEST}", "-timeout=10", *options, *corpus], fuzz)
        atheris.Fuzz()


def _seeds(folder: Path) -> str:
    """Copy the cases in pieces, each for one way of fuzzing, and two dumps."""
    seeds = [(5, dump) for dump in _dumps()]
    for number, log in enumerate(sorted(CASES.glob("*/*"))):
        data = log.read_bytes() if log.name != "expected.json" else b""
        seeds += [
            (number % len(WAYS), data[at : at + LONGEST - 1]) for at in range(0, len(data), LONGEST - 1)
        ]
    for number, (way, data) in enumerate(seeds):
        (folder / str(number)).write_bytes(bytes([way]) + data)
    return str(folder)


def _dumps() -> list[bytes]:
    entry = {"pg_id": 0, "collective_seq_id": 7, "profiling_name": "nccl:all_reduce", "state": "scheduled"}
    entry |= {
        "input_sizes": [[4, 2]],
        "process_group": ["0", "default_pg"],
        "frames": [{"name": "f", "filename": "a.py"}],
    }
    dump = {"version": "2.5", "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}}, "entries": [entry]}
    return [json.dumps(dump).encode(), pickle.dumps(dump, protocol=2), pickle.dumps(dump)]


def fuzz(data: bytes) -> None:
    """Do one execution."""
    if data:
        WAYS[data[0] % len(WAYS)](data[1:])


def _answer(data: bytes) -> None:
    """Diagnose the bytes as one to three files that lie beside one another."""
    files = data.split(b"\0\0\0", 2)
    _diagnosed([(NAMES[number], one) for number, one in enumerate(files)])


def _named(data: bytes) -> None:
    """Diagnose bytes whose first line is the name of the file."""
    name, _, rest = data.partition(b"\n")
    _diagnosed([(decode(name)[:200], rest)])


def _diagnosed(files: list[tuple[str, bytes]]) -> None:
    lines: list[Line] = []
    series, dumps = [], []
    for name, data in files:
        read = read_lines(name, decode(data))
        lines += read
        series += series_of(read)
        dump = read_dump(name, data)
        dumps += [dump] if dump else []
    lines = json_errors.identify(launchers.identify(lines))
    sources = tuple(Source(name, len(data), data.count(b"\n")) for name, data in files)
    case = Case(sources, tuple(lines), tuple(series), tuple(dumps))
    said = [finding(one) for one in diagnose(case)]
    assert len(said) < MOST_FINDINGS, "an answer without end"
    standing_out(case)


def _dump(data: bytes) -> None:
    """Read the bytes as a dump of the flight recorder, JSON or pickled, and judge it."""
    dump = read_dump("nccl_trace_rank_0", data)
    if dump:
        diagnose(Case((Source("nccl_trace_rank_0", len(data)),), (), (), (dump,)))


def _parsers(data: bytes) -> None:
    lines = read_lines("log", decode(data))
    tracebacks.tracebacks(lines)
    pyspy.processes(lines)
    json_errors.reports(lines)
    launchers.exits(lines)
    launchers.orders(lines)
    groups_of(c10d.read(lines), world_of(Case((), tuple(lines))))


def _explained(data: bytes) -> None:
    explain.explain(decode(data)[:2000])


def _expected(data: bytes) -> None:
    with suppress(Problem):
        expected(decode(data))


def _redacted(data: bytes) -> None:
    text = decode(data)
    redactor = Redactor()
    redactor.feed(text)
    redactor.replace(text)


WAYS: tuple[Callable[[bytes], None], ...] = (
    *(_answer, _answer, _answer, _named, _parsers),
    *(_dump, _explained, _expected, _redacted),
)


if __name__ == "__main__":
    main()
