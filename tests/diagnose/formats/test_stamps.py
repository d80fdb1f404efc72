"""Stamps are read in all the styles of the field; a date that does not exist is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats import stamps
from evenpace.diagnose.formats.stamps import BOOT, CLOCK, DATED, YEARLESS, Stamp, read, resolve

NOON = datetime(2024, 3, 28, 12, 5, 6, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-28T12:05:06Z",
        "2024-03-28 12:05:06",
        "2024-03-28 12:05:06 UTC",
        "[2024-03-28 12:05:06]",
        "[2024-03-28 12:05:06 TP0]",
        "2024-03-28T14:05:06+02:00",
        "2024-03-28T07:05:06-0500",
        "2024-03-28_12:05:06",
        "2024-03-28,12:05:06 | INFO",
        "2024-03-28:12:05:06 INFO",
        "2024/03/28 12:05:06 level=info",
        "03/28/2024 12:05:06 - INFO",
        "[03/28/24 12:05:06] INFO",
        "28/03/2024 12:05:06",
        "03/28/2024 12:05:06 PM",
        "[Thu Mar 28 12:05:06 2024] NVRM",
        "Thu Mar 28 12:05:06 UTC 2024",
        "Thu, 28 Mar 2024 12:05:06 +0000",
        "Thu 2024-03-28 12:05:06 UTC host",
        "20240328 12:05:06",
        "20240328T120506Z",
        "E20240328 12:05:06.000000",
    ],
)
def test_full_dates(text: str) -> None:
    stamp = read(text)
    assert stamp is not None
    assert (stamp.kind, stamp.seconds) == (DATED, NOON)


@pytest.mark.parametrize(
    "text", ["2024-03-28 12:05:06,250", "2024-03-28T12:05:06.250000Z", "1711627506.250000 h"]
)
def test_parts_of_seconds(text: str) -> None:
    stamp = read(text)
    assert stamp is not None
    assert stamp.seconds == NOON + 0.25


@pytest.mark.parametrize(
    ("text", "month", "day"),
    [
        ("E0427 10:44:18.204000 140412 torch", 4, 27),
        ("[E214 10:44:18.118603447 ProcessGroupNCCL", 2, 14),
        ("[E1103 10:44:18.118603447 ProcessGroupNCCL", 11, 3),
        ("[W711 10:44:18.118603447 socket", 7, 11),
        ("Mar 14 10:44:18 host", 3, 14),
        ("Mar  4 10:44:18 host", 3, 4),
        ("[02/29 10:44:18 d2.utils]", 2, 29),
    ],
)
def test_dates_without_a_year(text: str, month: int, day: int) -> None:
    stamp = read(text)
    assert stamp is not None
    assert stamp.kind == YEARLESS
    when = datetime.fromtimestamp(stamp.seconds + datetime(1972, 1, 1, tzinfo=UTC).timestamp(), UTC)
    assert (when.month, when.day, when.hour) == (month, day, 10)


@pytest.mark.parametrize(
    ("text", "kind", "seconds"),
    [
        ("[    0.000000] Linux", BOOT, 0.0),
        ("[2397166.983093] NVRM", BOOT, 2397166.983093),
        ("6,3964,206764307,-;usb", BOOT, 206.764307),
        ("4,12,5000000,-,caller=T1;x", BOOT, 5.0),
        ("05:50:44.082 {'loss'", CLOCK, 21044.082),
        ("[1711627506.250000] [node:1:0]", DATED, NOON + 0.25),
    ],
)
def test_other_clocks(text: str, kind: int, seconds: float) -> None:
    stamp = read(text)
    assert stamp is not None
    assert stamp.kind == kind
    assert stamp.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30 10:00:00",
        "2023-02-29 10:00:00",
        "2024-13-01 10:00:00",
        "2024-01-01 25:00:00",
        "Feb 30 10:00:00 h",
        "E1399 10:00:00.000000",
        "99/99/2024 10:00:00",
        "",
        "[rank3]: x",
        "3/4 [00:01",
        "12:30",
        "1024/2048",
        "0000-01-01 00:00:00",
    ],
)
def test_what_is_no_date_has_no_time(text: str) -> None:
    assert read(text) is None


def test_the_year_comes_from_other_lines() -> None:
    march = read("Mar 28 12:05:06 h")
    assert resolve([march, Stamp(0, DATED, NOON + 60)], None)[0] == (NOON, True)
    assert resolve([march], NOON)[0] == (NOON, True)
    assert resolve([march], None)[0][1] is False


def test_the_year_turns() -> None:
    before, after = read("Dec 31 23:59:59 h"), read("Jan  1 00:00:01 h")
    for hint in (None, NOON):
        (first, _), (second, _) = resolve([before, after], hint)
        assert first is not None
        assert second is not None
        assert second - first == 2


def test_the_day_comes_from_other_lines_and_turns_at_midnight() -> None:
    late, early = read("23:59:59 x"), read("00:00:01 x")
    (first, dated), (second, _) = resolve([late, early], NOON)
    assert dated
    assert first is not None
    assert second == first + 2


@given(st.text(alphabet="0123456789-/:.,[]()TZ+ JanFebMarThuE;_|"))
def test_any_text_is_read(text: str) -> None:
    stamp = read(text)
    assert stamp is None or 0 < stamp.end <= len(text)
    stamps.anywhere(text)


@given(
    st.lists(st.none() | st.builds(Stamp, st.just(0), st.integers(0, 3), st.floats(0, 86399)), max_size=20)
)
def test_any_stamps_are_resolved(several: list[Stamp | None]) -> None:
    assert len(resolve(several, None)) == len(several)
