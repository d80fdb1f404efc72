from __future__ import annotations

import io
import json

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.report.audit.made import DRIVERS, PROLOG, RESTARTS

from evenpace.report.audit.explained import explained_as, list_as, print_check, print_list

EVERY = (DRIVERS, RESTARTS, PROLOG)


def screen(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, color_system=None, force_terminal=True)


def rows(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("width", [60, 140])
def test_a_page_fits_but_for_what_is_copied(lang: str, width: int) -> None:
    console = screen(width)
    print_check(RESTARTS, lang, console)
    told = rows(console)
    assert "         kubectl get job <name> -n <namespace> -o yaml" in told
    assert "      https://kubernetes.io/docs/concepts/workloads/controllers/job/" in told
    assert [row for row in told if cell_len(row) > width and "https://" not in row] == []


def test_the_list_is_one_line_a_check_where_there_is_room() -> None:
    console = screen(120)
    print_list(EVERY, "en", console)
    assert rows(console) == [
        "Kubernetes (2)",
        "warning   driver_apart  Nodes have one driver",
        "critical  no_restarts   Jobs start `again`",
        "",
        "Slurm (1)",
        "info  no_prolog  A prolog looks at nodes",
        "",
    ]
    console = screen(60)
    print_list(EVERY, "en", console)
    assert rows(console)[1:3] == ["warning   driver_apart", "          Nodes have one driver"]


def test_a_list_to_be_searched_has_one_line_a_check() -> None:
    (row,) = (row for row in list_as("text", EVERY, "ko").splitlines() if "no_prolog" in row)
    assert row.endswith("prolog가 노드를 확인함")


def test_data_says_all_of_a_check() -> None:
    told = json.loads(explained_as("json", RESTARTS, "ko"))
    assert (told["schema"], told["check"]["finds"]) == (
        1,
        "<namespace>의 <kind> <name>은 다시 시작되지 않음.",
    )
    assert told["check"]["reads"] == {"judged": ["jobs.batch"], "needs": [], "if_served": []}
    assert told["check"]["advice"][0] == {"text": "`spec.backoffLimit`을 설정할 것.", "command": None}
    assert told["check"]["incidents"][0]["id"] == "IL-0001"


def test_markdown_is_a_page() -> None:
    told = explained_as("markdown", DRIVERS, "en")
    assert told.startswith(
        "# driver_apart\n\nkubernetes · warning · Nodes differ\n\n**Nodes have one driver**\n"
    )
    assert "> \\<node\\> have different drivers.\n" in told
    assert "- [NVIDIA: drivers](<https://docs.nvidia.com/datacenter/>)\n" in told
