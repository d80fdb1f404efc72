from __future__ import annotations

from base64 import b64decode

from evenpace.report.heat import heat, heat_table
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def test_cells_show_who_waits_and_for_whom(demo: list[ev.Event]) -> None:
    drawn = heat(tell(demo), "en")
    assert drawn is not None
    first = drawn.data()["panels"][0]  # type: ignore[index]
    cells, width = b64decode(first["cells"]), len(first["spans"])
    assert (first["incarnation"], width, len(cells)) == (0, 212, 4 * 212)
    assert cells[0 * width + 100] > 200  # rank 0 waits
    assert cells[1 * width + 100] < 10  # for rank 1
    assert drawn.data()["rows"] == ["0", "1", "2", "3"]


def test_a_large_run_is_drawn_together(big: list[ev.Event]) -> None:
    drawn = heat(tell(big), "en", rows=16, columns=100)
    assert drawn is not None
    assert drawn.panels[0].grid.cells.shape == (16, 100)
    assert drawn.row(*drawn.panels[0].grid.rows[1]) == "4-7"


def test_outliers_do_not_darken_the_rest(big: list[ev.Event]) -> None:
    drawn = heat(tell(big), "en")
    assert drawn is not None
    assert drawn.longest > 4 * drawn.top
    assert drawn.label(1.0).startswith("≥")


def test_a_worker_that_is_gone_has_no_data() -> None:
    def iteration(incarnation: int, ranks: list[int]) -> ev.Iteration:
        ones = [1.0] * len(ranks)
        time = ev.stamp(9 + incarnation)
        return ev.Iteration(
            time=time,
            incarnation=incarnation,
            iteration=0,
            ranks=ranks,
            durations=ones,
            busy=ones,
            waiting=ones,
        )

    drawn = heat(tell([iteration(0, [0, 1]), iteration(1, [0])]), "en")
    assert drawn is not None
    assert list(b64decode(drawn.data()["panels"][1]["cells"])) == [254, 255]  # type: ignore[index]


def test_the_table_says_the_same(demo: list[ev.Event]) -> None:
    table = heat_table(tell(demo), "en")
    assert table is not None
    assert table.headings[0] == "0: 0-52"
    rank, node, cells = table.rows[2]
    assert (rank, node, len(cells)) == ("2", "node2, node4", len(table.headings))


def test_strategies_lie_over_their_columns(slow: list[ev.Event]) -> None:
    drawn = heat(tell(slow), "en")
    assert drawn is not None
    (panel,) = drawn.panels
    assert panel.strips == [(75, 127, "micro-batches"), (165, 189, "topology")]
    assert panel.stops == [158]
    table = heat_table(tell(slow), "en")
    assert table is not None
    assert table.in_force == ["", "", "micro-batches", "micro-batches", "micro-batches", "", "topology", ""]


def test_nothing_measured() -> None:
    assert heat(Story(), "en") is None
    assert heat_table(Story(), "en") is None
