from __future__ import annotations

import pytest

from evenpace.diagnose.expect import expected
from evenpace.errors import Problem


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("13500..14000 tok/s", (13500.0, 14000.0, "tokens-per-second")),
        ("13.5k..14k tokens/s", (13500.0, 14000.0, "tokens-per-second")),
        ("1,200..1,300 samples/s", (1200.0, 1300.0, "samples-per-second")),
        ("17..19 s/it", (17.0, 19.0, "iteration-seconds")),
        ("380..400 TFLOPs", (380.0, 400.0, "tflops")),
    ],
)
def test_a_range_with_its_unit_is_understood(text: str, meant: tuple[float, float, str]) -> None:
    assert expected(text) == meant


@pytest.mark.parametrize(
    "text", ["", "13500", "13500..14000", "2..1 tok/s", "a..b tok/s", "1..2 parsecs", "1.2.3..4 tok/s"]
)
def test_anything_else_is_a_problem_that_says_how_to_write_it(text: str) -> None:
    with pytest.raises(Problem, match="--expect"):
        expected(text)
