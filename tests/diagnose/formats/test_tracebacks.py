"""Tracebacks: the root of a chain, whose it is, and where the user's own code stood."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.tracebacks import Traceback, split_prefix, tracebacks, user_frame
from evenpace.diagnose.lines import read_lines

SITE = "/opt/venv/lib/python3.11/site-packages"


def parse(text: str) -> list[Traceback]:
    return tracebacks(read_lines("a.log", text))


def one_stack(kind: str, file: str = "/srv/own/step.py", line: int = 7) -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "{file}", line {line}, in forward\n'
        "    x = y\n"
        "        ^\n"
        f'  File "{SITE}/torch/nn/modules/linear.py", line 114, in forward\n'
        "    return F.linear(x)\n"
        f"{kind}: a message"
    )


def test_innermost_frame_of_user_code_is_found_below_a_library() -> None:
    (found,) = parse(one_stack("ValueError"))
    assert (found.kind, found.message) == ("ValueError", "a message")
    frame = user_frame(found)
    assert frame is not None
    assert (frame.file, frame.line, frame.name) == ("/srv/own/step.py", 7, "forward")


def test_root_of_a_chain_is_the_first_exception() -> None:
    for words in (
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    ):
        (found,) = parse(f"{one_stack('KeyError')}\n\n{words}\n\n{one_stack('RuntimeError')}\n")
        assert (found.kind, found.root.kind) == ("RuntimeError", "KeyError")


def test_a_traceback_in_a_table_ends_at_its_own_indent() -> None:
    inside = "  traceback : " + one_stack("ValueError").replace("\n", "\n  ")
    (found,) = parse(f"{inside}\n  \n{'-' * 60}\n")
    assert (found.kind, found.message, len(found.frames)) == ("ValueError", "a message", 2)


def test_interleaved_ranks_are_told_apart_by_their_prefixes() -> None:
    first, second = one_stack("ValueError").split("\n"), one_stack("TypeError").split("\n")
    both = [
        f"[rank{rank}]: {line}" for pair in zip(first, second, strict=True) for rank, line in enumerate(pair)
    ]
    found = parse("\n".join(both))
    assert {(one.kind, one.printer.rank) for one in found} == {("ValueError", 0), ("TypeError", 1)}


def test_loader_worker_is_no_rank_and_its_own_traceback_is_the_root() -> None:
    outer = one_stack("ValueError").replace(
        "ValueError: a message", "ValueError: Caught ValueError in DataLoader worker process 6."
    )
    inner = one_stack("IndexError").replace("Traceback", "Original Traceback", 1)
    (found,) = parse(f"{outer}\n{inner}\n")
    assert (found.worker, found.printer.rank, found.root.kind) == (6, None, "IndexError")


def test_traceback_joined_to_a_progress_bar_is_found() -> None:
    (found,) = parse(" 40%|####      | 4/10 [00:02<00:03, 1.9it/s]" + one_stack("OSError"))
    assert found.kind == "OSError"


def test_cut_traceback_has_no_exception() -> None:
    (found,) = parse("\n".join(one_stack("OSError").split("\n")[:4]))
    assert (found.kind, found.line) == ("", None)


def test_prefixes_of_launchers_say_who_printed() -> None:
    assert split_prefix("[default3]: text")[0].local_rank == 3
    assert split_prefix("[1,12]<stderr>:text")[0].rank == 12
    ray, _, rest = split_prefix("(Trainer pid=77, ip=10.9.1.2) [rank 4]: text")
    assert (ray.pid, ray.host, ray.rank, rest) == (77, "10.9.1.2", 4, "text")
    assert split_prefix("2026-02-03T04:05:06.789Z | [rank5]:text")[0].rank == 5
    assert not split_prefix("ValueError: text")[0]


PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):",
        "Original Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "ValueError: x",
        "KeyError",
        "During handling of the above exception, another exception occurred:",
        "[rank1]: ",
        "\n",
        "Caught KeyError in DataLoader worker process 3.",
    ]
)


@given(st.lists(PIECES | st.text(max_size=12), max_size=60))
def test_any_text_is_read_without_an_exception_and_never_grows(pieces: list[str]) -> None:
    text = "".join(pieces)
    lines = read_lines("a.log", text)
    found = tracebacks(lines)
    assert len(found) <= len(lines)
    for one in found:
        assert one.root.cause is None
        user_frame(one)
