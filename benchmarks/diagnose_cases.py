"""Do the diagnoses agree with the right answers? Scores a folder of failure-log cases by their README.

python benchmarks/diagnose_cases.py FOLDER [--only TEXT] [--verbose] [--write]

Then the same with the signatures of each kind of case taken away: what is not known must be called unknown,
with nobody named and the right lines shown. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import page
from scoring import PARTS, PLACES, Score, _named, _quoted, answer, cases, read_case, score

from evenpace.diagnose.engine import standing_out
from evenpace.diagnose.model import Case
from evenpace.diagnose.signature import UNEXPLAINED
from evenpace.findings import Finding

BARS = {"category": 0.90, "culprit": 0.90, "advice": 0.95, "evidence": 0.90}
UNKNOWN_BAR = 0.90
Known = dict[str, tuple[dict[str, Any], Case]]


def main() -> int:
    """Score the cases."""
    arguments = _arguments()
    known: Known = {
        folder.name: (expected, read_case(folder, expected))
        for folder, expected in cases(arguments.folder)
        if arguments.only in folder.name
    }
    scores = _score_all(known, arguments.verbose)
    rows = [_bar_row(part, scores) for part in PARTS]
    rows += [("innocent named", "0", str(sum(bool(one.innocent) for one in scores)))]
    rows += [("`must_not` given", "0", str(sum(bool(one.must_not) for one in scores)))]
    unknown = _without_kinds(known, arguments.verbose)
    rows += [("kind left out: said to be unknown", f"{UNKNOWN_BAR:.0%}", f"{_share(unknown):.1%}")]
    text = page.table(("what", "bar", f"of {len(scores)} cases"), rows)
    print(text)
    if arguments.write:
        page.save("cases", "Diagnosis of failure logs", "make bench-cases", text)
    return 0 if _passed(scores, unknown) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of cases, each with its logs and expected.json")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--verbose", action="store_true", help="show what was wrong")
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    return parser.parse_args()


def _score_all(known: Known, verbose: bool) -> list[Score]:
    scores = []
    for name, (expected, case) in known.items():
        _, said = answer(case)
        one = score(expected, said)
        scores.append(one)
        if verbose and (not all(one.right.values()) or one.must_not):
            _show_wrong(name, expected, said, one)
    return scores


def _show_wrong(name: str, expected: dict[str, Any], said: Finding | None, one: Score) -> None:
    wrong = [part for part, right in one.right.items() if not right]
    print(f"{name}: {', '.join(wrong)}; innocent {one.innocent or '-'}; must_not {one.must_not or '-'}")
    print(f"    want {expected['category']} {_short(expected.get('culprit') or {})}")
    print(f"    said {said and said.phrase} {said and said.fault} {_named(said)}")
    if "evidence" in wrong:
        print("    lacks", [text for text in expected.get("evidence", []) if not _quoted(said, text)])
    if "advice" in wrong and said:
        print("    advice", expected.get("advice_keywords"), [step.text for step in said.advice])


def _short(culprit: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in culprit.items() if value is not None and key != "what"}


def _bar_row(part: str, scores: list[Score]) -> tuple[str, str, str]:
    return part, f"{BARS[part]:.0%}", f"{sum(one.right[part] for one in scores) / len(scores):.1%}"


def _without_kinds(known: Known, verbose: bool) -> dict[str, bool]:
    """Return by case whether it is called unknown when the signatures of its kind do not exist.

    The signatures of a kind are those that answer its cases, and those that answer once these are gone, as
    long as they are of the same fault.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    for name, (expected, _) in known.items():
        if not expected.get("healthy"):
            kinds[expected["kind"]].append(name)
    right = {}
    for names in kinds.values():
        without = _signatures_of_kind([known[name] for name in names])
        for name in names:
            right[name] = _is_unknown(*known[name], without)
            if verbose and not right[name]:
                _show_known(name, *known[name], without)
    return right


def _signatures_of_kind(each: list[tuple[dict[str, Any], Case]]) -> set[str]:
    without: set[str] = set()
    for expected, case in each:
        diagnosis, said = answer(case, without)
        while diagnosis and diagnosis.signature and _category(said) == expected["category"]:
            without.add(diagnosis.signature.id)
            diagnosis, said = answer(case, without)
    return without


def _category(said: Finding | None) -> str | None:
    return said.fault.replace("-", "_") if said else None


def _show_known(name: str, expected: dict[str, Any], case: Case, without: set[str]) -> None:
    _, said = answer(case, without)
    lacks = [text for text in expected["evidence"] if not _quoted(said, text)]
    print(f"left out, {name}: {said and said.phrase} {_named(said)} lacks {lacks}")


def _is_unknown(expected: dict[str, Any], case: Case, without: set[str]) -> bool:
    _, said = answer(case, without)
    if said is None:
        shown = "\n".join(line.text for line in standing_out(case))
        return all(text in shown for text in expected["evidence"])
    if said.fault != UNEXPLAINED or any(_named(said)[place] for place in PLACES):
        return False
    return all(_quoted(said, text) for text in expected["evidence"])


def _share(right: dict[str, bool]) -> float:
    return sum(right.values()) / max(1, len(right))


def _passed(scores: list[Score], unknown: dict[str, bool]) -> bool:
    clean = not any(one.innocent or one.must_not for one in scores)
    enough = all(sum(one.right[part] for one in scores) >= bar * len(scores) for part, bar in BARS.items())
    return clean and enough and _share(unknown) >= UNKNOWN_BAR


if __name__ == "__main__":
    sys.exit(main())
