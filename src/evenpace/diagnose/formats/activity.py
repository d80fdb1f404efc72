"""What a process was doing when its log stops: saving a checkpoint, training, or work of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

_LONGEST = 8192
# What a line says about the run, each tried in this order; all of them in one pass of RE2.
_SAYINGS = {
    "saved": (
        r"\b(?:successfully saved|finished saving|is ready now)\b|\[torch\] saved |"
        r"\bsave-checkpoint\b.{0,40}\d|"
        r"\bsaved (?:\w+ ){0,4}(?:checkpoint|model|state|weights)|"
        r"\bsaving (?:\w+[ -]){0,4}(?:checkpoint|ckpt|state[ _]?dict|model|weights)"
        r".*\b(?:took|done|finished)\b|"
        r"\b(?:checkpoint|weights|model)\b.*\b(?:saved|written|persisted|committed|uploaded)\b"
    ),
    "save": (
        r"\bsaving (?:\w+[ -]){0,4}(?:checkpoint|ckpt|state[ _]?dict|model|weights|snapshot)|"
        r"\bcheckpoint\b.*\babout to be saved|\b(?:retrieving|gathering|getting) (?:\w+ ){0,4}state[ _]?dict|"
        r"\[torch\] saving |\bbegin(?:ning)? (?:to )?sav(?:e|ing)\b.*checkpoint|"
        r"\bwriting (?:\w+ ){0,3}checkpoint\b|\bpushing (?:\w+ ){0,4}to (?:the )?hub\b|"
        r"\buploading (?:\w+ ){0,4}(?:checkpoint|model|weights)\b"
    ),
    "step": (
        r"'loss': ?-?[\d.]|\b(?:step|iteration|iter|batch|global_step)\b\W{0,6}\d.*(?:\b|_)loss\b|"
        r"(?:\b|_)loss\b\W{1,4}[\d.]+.*\b(?:step|iteration|lr)\b"
    ),
    "done": (
        r"elasped time|done with (?:dataset index|comp)|finished creating|time to load \w+ op|>>> done|"
        r"\bsuccessfully loaded|\bfinished (?:building|loading|tokeniz|preprocess|download)"
    ),
    "work": (
        r"running tokenizer on|\btokenizing\b|\bgenerating \w+ split\b|\bindexing\b|"
        r"\bbuild(?:ing)? (?:the )?(?:\w+[ ,]{1,2}){0,5}(?:index|indices|datasets?)\b|"
        r"\bcompiling (?:and loading )?(?:\w+ ){0,3}(?:kernels?|builder|extension)|"
        r"building extension module \w|\bpreprocessing (?:the )?(?:data|dataset|samples|corpus)|"
        r"\bloading (?:the )?(?:dataset|data set|model|checkpoint|pretrained|weights|corpus)\b|"
        r"\bdownloading (?:and preparing )?(?:the )?(?:dataset|data|model|weights)"
    ),
    "more": r"state[ _]?dict|checkpoint|optimizer",
}
_ORDER = tuple(_SAYINGS)
_SET = re2.Set.SearchSet(options())
for _pattern in _SAYINGS.values():
    _SET.Add(f"(?i){_pattern}")
_SET.Compile()
_BEGUN = re2.compile(rf"(?i){_SAYINGS['save']}|{_SAYINGS['work']}|%\|", options())
_BAR = re.compile(
    r"(?P<percent>\d{1,3})%\|[^|]{0,400}\| {0,4}(?P<done>[\d.,]{1,24}[kMGTP]?)/"
    r"(?P<total>[\d.,?]{1,24}[kMGTP]?) "
    r"\[(?P<elapsed>\d[\d:]{1,14})<(?P<left>[\d:?]{1,16})(?:, {0,3}(?P<unit>[^\]]{0,40}))?"
)
_OWN_WORK = (
    r"running tokenizer|tokeniz|\bmap\b|\bfilter\b|generating \w{1,20} split|grouping texts|"
    r"pack(?:ing|ed)|preprocess|pre-process|index|download|extracting|flatten|saving the dataset|casting|"
    r"(?:load|read|cach|convert|prepar|process|comput|build|creat|scann)ing\b|num_proc="
)
_LABEL = re.compile(rf"(?i){_OWN_WORK}")
_NOT_OWN = re.compile(
    r"(?i)\b(?:train(?:ing)?|valid(?:ation|ating)?|eval(?:uation|uating)?|epoch|test(?:ing)?)\b"
)
_RATE = re.compile(r"(?:it/s|s/it)\b")
_PART = re.compile(
    r"(?i)\b(?:config|tokenizer|shard|model)\w* (?:file )?(?:saved|weights)"
)  # there is more to save


@dataclass
class Activity:
    """What one file says up to some line: what was begun and not ended.

    `save`: the lines of an open save. `work`: own work without a progress bar, and how many lines ago it was
    heard of. `bars`: those of own work, by label. `step`: the last sign of training.
    """

    save: list[Line] = field(default_factory=list)
    work: list[Line] = field(default_factory=list)
    bars: dict[str, tuple[Line, re.Match[str]]] = field(default_factory=dict)
    since_work: int = 0
    step: Line | None = None
    bar_of_training: tuple[Line, re.Match[str]] | None = None


def busy_files(case: Case) -> set[str]:
    """Return the files in which a save or own work was begun; of the others there is nothing to follow."""
    return {line.source for line in case.lines_with(_BEGUN)}


def activity(lines: Iterable[Line], until: Collection[Line]) -> Activity:
    """Follow the lines of one file up to the first of `until`."""
    ends = {id(line) for line in until}
    state = Activity()
    for line in lines:
        text = line.text[:_LONGEST]
        for found in _BAR.finditer(text) if "%|" in text else ():
            _see_bar(state, line, text, found)
        if id(line) in ends:
            break
        _see(state, line, text)
    return state


def _says(text: str) -> str:
    """Return the first of the sayings that a line is, or nothing."""
    found = _SET.Match(text)
    names = [_ORDER[number] for number in sorted(found)] if found else []
    return next((name for name in names if name != "saved" or "about to be" not in text), "")


def _see(state: Activity, line: Line, text: str) -> None:
    says = _says(text)
    state.since_work += 1
    if says == "saved":
        state.save = [*state.save, line] if _PART.search(text) and state.save else []
    elif says == "save" or (says == "more" and state.save):
        state.save.append(line)
    elif says == "step":
        state.step, state.save, state.work = line, [], []
        state.bars.clear()
    elif says == "done":
        state.work = []
    elif says == "work":
        state.work.append(line)
        state.since_work = 0


def _see_bar(state: Activity, line: Line, text: str, found: re.Match[str]) -> None:
    label = re.split(r"[\r|\]]", text[max(0, found.start() - 120) : found.start()])[-1].strip(" :\t")
    unit = found["unit"] or ""
    of_data = unit and not _RATE.search(unit) and not _NOT_OWN.search(label)
    if not _LABEL.search(label) and not of_data:
        _see_training(state, line, found)
        state.step = line if _NOT_OWN.search(label) or "loss" in unit else state.step
        return
    held = state.bars.get(label)
    if held is None or int(found["percent"]) >= int(held[1]["percent"]):
        state.bars[label] = (line, found)


def _see_training(state: Activity, line: Line, found: re.Match[str]) -> None:
    if state.bar_of_training is None or found["done"] != state.bar_of_training[1]["done"]:
        state.save, state.work = [], []
    state.bar_of_training = (line, found)


def seconds(clock: str) -> float:
    """Return `1:02:03` or `29:51` in seconds."""
    total = 0.0
    for part in clock.split(":")[:4]:
        total = total * 60 + float(part or 0)
    return total
