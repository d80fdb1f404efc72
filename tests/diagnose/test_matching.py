from __future__ import annotations

from typing import Any

import pytest
from tests.diagnose.made import signature

from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.matching import Matcher
from evenpace.diagnose.model import NOBODY, Identity, Sighting


def seen(text: str, **content: Any) -> list[Sighting]:
    return Matcher({"x": signature("x", **content)}).sightings(read_lines("a.log", text))


XID = [{"pattern": r"Xid \((?P<gpu>[0-9a-f:]+)\): 79"}]


def test_captures_are_the_culprit() -> None:
    (found,) = seen("x\nNVRM: Xid (0000:3e:00): 79, lost\n", match=XID)
    assert found.culprit == Identity(gpu="0000:3e:00")
    assert found.lines[0].number == 2


def test_a_gpu_is_on_the_host_of_whoever_printed_the_line() -> None:
    (found,) = seen("Mar 14 06:20:33 n3 kernel: NVRM: Xid (0000:3e:00): 79, lost\n", match=XID)
    assert found.culprit == Identity(gpu="0000:3e:00", host="n3")


@pytest.mark.parametrize(
    ("names", "culprit"),
    [("printer", Identity(rank=3)), ("nobody", NOBODY), ("host", NOBODY), ("captures", NOBODY)],
)
def test_whom_a_line_accuses_is_the_signatures_choice(names: str, culprit: Identity) -> None:
    (found,) = seen("[rank3]: it is broken here\n", match=[{"pattern": "it is broken"}], names=names)
    assert found.culprit == culprit


FIRST = [{"pattern": r"index is (?P<index>\d+)"}]


@pytest.mark.parametrize(
    ("also", "text", "fires"),
    [
        ({"pattern": "second line"}, "index is 3\nsecond line\n", True),
        ({"pattern": "second line"}, "index is 3\n", False),
        ({"pattern": "second line", "absent": True}, "index is 3\n", True),
        ({"pattern": "second line", "absent": True}, "index is 3\nsecond line\n", False),
        ({"pattern": "second line", "optional": True}, "index is 3\n", True),
        ({"pattern": r"GID\[(?P<index>\d)\] bad", "same": ["index"]}, "index is 3\nGID[3] bad\n", True),
        ({"pattern": r"GID\[(?P<index>\d)\] bad", "same": ["index"]}, "index is 3\nGID[1] bad\n", False),
        ({"pattern": "second line", "where": "before"}, "second line\nindex is 3\n", True),
        ({"pattern": "second line", "where": "before"}, "index is 3\nsecond line\n", False),
        ({"pattern": "second line", "where": "after"}, "index is 3\nsecond line\n", True),
        ({"pattern": "second line", "within": 2}, "index is 3\nx\nx\nsecond line\n", False),
        (
            {"pattern": r"used (?P<used>\d+) of (?P<all>\d+)", "holds": ["used", "<", 0.9, "all"]},
            "index is 3\nused 5 of 10\n",
            True,
        ),
        (
            {"pattern": r"used (?P<used>\d+) of (?P<all>\d+)", "holds": ["used", "<", 0.9, "all"]},
            "index is 3\nused 10 of 10\n",
            False,
        ),
    ],
)
def test_further_lines_decide(also: dict[str, Any], text: str, fires: bool) -> None:
    assert bool(seen(text, match=FIRST, also=[also])) is fires


def test_every_further_line_gives_its_part_of_a_list() -> None:
    also = {"pattern": r"device \d \[(?P<gpu>0x\w+)\]", "every": True}
    (found,) = seen("device 0 [0x41]\ndevice 1 [0x61]\nindex is 3\n", match=FIRST, also=[also])
    assert found.culprit == Identity(gpu=("0x41", "0x61"))
    assert len(found.lines) == 3


def test_a_quiet_line_is_no_evidence() -> None:
    (found,) = seen(
        "index is 3\nsecond line\n", match=FIRST, also=[{"pattern": "second line", "quiet": True}]
    )
    assert len(found.lines) == 1


def test_the_far_end_of_a_link_is_accused_too() -> None:
    match = [{"pattern": r"completion from peer (?P<other_host>[\d.]+) failed"}]
    (found,) = seen(
        "vm1:10:11 [0] NCCL WARN completion from peer 10.0.0.9 failed\n", match=match, names="printer"
    )
    assert found.culprit.host == ("vm1", "10.0.0.9")
