"""What a process was doing when its log stops."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.activity import Activity, activity, busy_files, seconds
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case

SAVE = "Saving checkpoint to /ckpt/run"
STEP = "step 500: loss 2.31"
MAP = "Map:  34%|███▍      | 340000/1000000 [09:40<18:46, 586.2 examples/s]"
TRAIN = "Epoch 1:  34%|███▍      | 34/100 [09:40<18:46,  1.2s/it]"


def read(*texts: str) -> Activity:
    return activity(read_lines("log", "\n".join(texts)), ())


def test_clock() -> None:
    assert seconds("1:02:03") == 3723
    assert seconds("29:51") == 1791


def test_files_in_which_nothing_was_begun_need_no_following() -> None:
    lines = [*read_lines("a", f"x\n{SAVE}"), *read_lines("b", STEP), *read_lines("c", MAP)]
    assert busy_files(Case((), tuple(lines))) == {"a", "c"}


def test_a_step_closes_what_was_open() -> None:
    assert [line.text for line in read(STEP, SAVE).save] == [SAVE]
    state = read(SAVE, MAP, "Loading model", STEP)
    assert (state.save, state.work, state.bars) == ([], [], {})
    assert state.step is not None


def test_only_what_comes_before_the_end_counts() -> None:
    lines = read_lines("log", f"{STEP}\nthe end\n{SAVE}")
    assert activity(lines, [lines[1]]).save == []


def test_parts_of_a_save_do_not_end_it() -> None:
    assert len(read("Saving model checkpoint to /x", "Model weights saved in /x/model.safetensors").save) == 2
    assert read("Checkpoint is about to be saved!", "[Torch] Saved /x/mp_rank_00_model_states.pt").save == []


def test_bars_of_own_work_and_of_training() -> None:
    state = read(MAP, TRAIN)
    assert list(state.bars) == ["Map"]
    assert state.bar_of_training is not None
    joined = read(f"{TRAIN}\r{MAP}")
    assert list(joined.bars) == ["Map"]


def test_a_bar_that_begins_anew_does_not_hide_the_one_that_is_further() -> None:
    state = read(MAP, "Map:   0%|          | 0/1000000 [00:00<?, ? examples/s]")
    assert state.bars["Map"][1]["percent"] == "34"


@given(
    st.lists(
        st.one_of(st.sampled_from([SAVE, STEP, MAP, TRAIN, "%|", "|", "[00:1<", "\r"]), st.text(max_size=9))
    )
)
def test_any_text_is_followed(parts: list[str]) -> None:
    state = read("".join(parts))
    assert len(state.save) + len(state.work) <= len(parts) + 1


def test_what_is_pushed_to_a_hub_belongs_to_the_save() -> None:
    lines = read_lines("a.log", "Saving model checkpoint to out\nPushing to hub...\nx")
    assert [line.text for line in activity(lines, ()).save] == [
        "Saving model checkpoint to out",
        "Pushing to hub...",
    ]
