"""A case finds its lines at once, and works out once what several ask for."""

from __future__ import annotations

import re2
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.launchers import exits, exits_in, orders, orders_in
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            (
                "srun: error: n1: task 3: Killed",
                "ERROR failed (exitcode: -9) local_rank: 0 (pid: 7)",
                "WARNING Sending process 8 closing signal SIGTERM",
                "é Segmentation fault (core dumped)",
                "",
            )
        ),
    ),
    max_size=20,
)


def case_of(texts: list[str]) -> Case:
    return Case((), tuple(Line("a.log", number, text) for number, text in enumerate(texts, 1)))


@given(TEXTS)
def test_lines_are_found_as_if_each_was_searched(texts: list[str]) -> None:
    case = case_of(texts)
    for pattern in ("e", "é Seg", r"Kill|\d", "x{0}"):
        compiled = re2.compile(pattern, options())
        assert case.lines_with(compiled) == [line for line in case.lines if compiled.search(line.text)]


@given(TEXTS)
def test_a_case_tells_what_its_lines_tell(texts: list[str]) -> None:
    case = case_of(texts)
    assert exits_in(case) == exits(case.lines)
    assert orders_in(case) == orders(case.lines)


def test_what_several_ask_for_is_worked_out_once() -> None:
    case, calls = case_of(["x"]), []
    assert case.once(calls.append) is None
    assert case.once(calls.append) is None
    assert calls == [case]
    assert case.by_source == {"a.log": list(case.lines)}
