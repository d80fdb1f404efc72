"""What somebody expects a job to do: `13500..14000 tok/s`."""

from __future__ import annotations

import re

from evenpace.errors import Problem

# How people write the units of throughput, and the series that has them.
UNITS = {
    "tok/s": "tokens-per-second",
    "tokens/s": "tokens-per-second",
    "samples/s": "samples-per-second",
    "it/s": "iterations-per-second",
    "s/it": "iteration-seconds",
    "tflops": "tflops",
    "tflop/s": "tflops",
}
_RANGE = re.compile(r"\s*([\d.,]{1,20}[kKmM]?)\s*\.\.\s*([\d.,]{1,20}[kKmM]?)\s*([A-Za-z/]{3,20})\s*")
_SCALE = {"k": 1e3, "m": 1e6}


def expected(text: str) -> tuple[float, float, str]:
    """Return low, high and the name of the series; raises Problem."""
    found = _RANGE.fullmatch(text)
    unit = UNITS.get(found[3].lower()) if found else None
    if not found or unit is None:
        raise Problem(
            f"--expect {text!r} is not a range such as 13500..14000 tok/s; units: {', '.join(UNITS)}"
        )
    low, high = _number(found[1], text), _number(found[2], text)
    if low > high:
        raise Problem(f"--expect {text!r} ends below its start; write it as LOW..HIGH UNIT")
    return low, high, unit


def _number(text: str, whole: str) -> float:
    scale = _SCALE.get(text[-1].lower(), 1.0)
    try:
        return float(text.rstrip("kKmM").replace(",", "")) * scale
    except ValueError:
        raise Problem(
            f"--expect {whole!r}: {text!r} is not a number; write it as 13500..14000 tok/s"
        ) from None
