"""A made-up answer, and a hostile one, for every surface."""

from __future__ import annotations

from evenpace.findings import Advice, Evidence, Finding, IncidentLink, Severity, Subject
from evenpace.report.answer import Answer

XID = "[Mon Mar  3 02:11:07 2025] NVRM: Xid (PCI:0000:c1:00): 79, pid=4242, GPU has fallen off the bus."
TIMEOUT = (
    "[rank0]:[E303 02:21:09.104 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=8812, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600027 milliseconds."
)
TRICKS = (
    "x; reboot",
    "[click](https://evil.example/a)",
    "![](https://evil.example/b.png)",
    "<script>alert(1)</script>",
    "<!-- --><img src=x onerror=alert(1)>",
    "# heading",
    "```\n# out of the fence",
    "~~~\n<b>",
    "@everyone fixes #1 and GH-2",
    "https://evil.example www.evil.example mailto:a@evil.example",
    "a | b\n---|---",
    "`code``<b>`",
    "``<b>`",
    "`a` `@b` `c",
    "1. one",
    "- item",
    "* item\n=====",
    "&lt;b&gt; &#64;team",
    "\x1b[31mred\x1b]8;;https://evil.example\x07\x9b2J",
    "\u202eevil\u2028line",
    "[red]markup[/red]",
    "{0} {{x}} {% raw %}",
    "\udcff",
    "$x$ $$y$$",
    "\\[a\\](b)",
)


def found(lang: str = "en") -> Finding:
    """Return a finding with everything that one can have."""
    said = {
        "en": (
            "A GPU fell off the bus (Xid 79)",
            "Take the node out and start again.",
            "the power log of node7",
        ),
        "ko": ("GPU가 버스에서 이탈함(Xid 79)", "노드를 제외하고 다시 시작.", "node7의 전원 기록"),
    }[lang]
    return Finding(
        fault="gpu-hardware",
        severity=Severity.CRITICAL,
        confidence=0.95,
        subject=Subject(kind="gpu", node="node7", gpu="0000:c1:00"),
        summary=said[0],
        since="2025-03-03T02:11:07.000Z",
        victims=tuple(Subject(kind="rank", rank=rank) for rank in (0, 1, 2)),
        evidence=(Evidence("logs/dmesg-node7.txt", 14, XID), Evidence("logs/train.log", 2031, TIMEOUT)),
        advice=(
            Advice(
                said[1], "sbatch --exclude=node7 --requeue --open-mode=append --signal=USR1@120 train.sbatch"
            ),
            Advice("RMA"),
        ),
        missing=(said[2],),
        incidents=(IncidentLink("IL-0001", "A job hung (Job hung)"),),
    )


def answer(lang: str = "en") -> Answer:
    """Return an answer of one finding."""
    files = ["logs/dmesg-node7.txt", "logs/train.log"]
    return Answer((found(lang),), lang, (), files, 182_400, 2051, {"empty": ["logs/rank9.log"]})


def nothing(lang: str = "en") -> Answer:
    """Return an answer in which nothing was found."""
    return Answer((), lang, (Evidence("a.log", 3, "warning: slow"),), ["a.log"], 512, 4)


def hostile(trick: str, lang: str = "en") -> Answer:
    """Return an answer in which a log's author has put `trick` everywhere."""
    finding = Finding(
        fault="gpu-hardware",
        severity=Severity.WARNING,
        confidence=0.5,
        subject=Subject(kind="node", node=trick, gpu=trick),
        summary=trick,
        victims=(Subject(kind="node", node=trick),),
        evidence=(Evidence(trick, 1, trick), Evidence("a.log", 2, trick)),
        advice=(Advice(trick, trick),),
        missing=(trick,),
        incidents=(IncidentLink("IL-0001", trick),),
    )
    unusual = (Evidence(trick, 1, trick),)
    return Answer((finding, finding), lang, unusual, [trick, "a.log"], 1, 1, {"binary": [trick]})
