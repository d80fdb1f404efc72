from __future__ import annotations

import pytest

from evenpace.diagnose.gate import SHORTEST, Gate, decisive, literals_of, telling
from evenpace.diagnose.matching import options
from evenpace.diagnose.signature import signatures


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"NVRM: Xid \((?:PCI:)?(?P<gpu>[0-9a-f:.]+)\): 79\b", ("NVRM: Xid (",)),
        (r"(?:Broken pipe|Connection reset)", ("Broken pipe", "Connection reset")),
        (r"(?:some optional text)?needed", ("needed",)),
        (r"\d+ (?P<what>killed|lost) here", (" here",)),
    ],
)
def test_the_literals_that_every_match_has(pattern: str, literals: tuple[str, ...]) -> None:
    assert tuple(text for text, _ in literals_of(pattern)) == literals


@pytest.mark.parametrize("pattern", [r"\d+", r"ab", r"(?:long enough|\d+)", r"(?:optional words)?"])
def test_a_pattern_without_one_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="no literal"):
        literals_of(pattern)


def test_case_is_folded_where_the_pattern_says_so() -> None:
    assert literals_of("(?i)out of memory") == (("out of memory", False),)
    folded = next(text for text, case_matters in telling() if not case_matters)
    block = b"x\n" + folded.upper().encode() + b"\n"
    assert [at for at, _ in Gate().hits(block, 0, len(block))] == [2]


def test_every_pattern_of_every_signature_has_a_literal() -> None:
    for signature in signatures().values():
        for pattern in decisive(signature):
            assert all(len(text) >= SHORTEST for text, _ in literals_of(pattern)), signature.id


# What healthy runs print again and again: a literal in one of these would make the gate slow.
ORDINARY = (
    " iteration    27511/  240000 | consumed samples:     13062144 | elapsed time per iteration (ms): 18204 "
    "| learning rate: 1.204E-04 | global batch size:   768 | lm loss: 2.481907E+00 | loss scale: 262144.0 | "
    "grad norm: 0.914 | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "[rank0]:2024-09-02 18:44:10,552 - root - INFO - step: 10  loss: 4.1234  memory: 60.81GiB(64.01%)  "
    "tps: 13,600  tflops: 398.12  mfu: 40.25%",
    "{'loss': 1.1168, 'grad_norm': 0.6139, 'learning_rate': 9.7000e-06, 'epoch': 0.09}",
    "  3%|3         | 23/846 [02:19<1:22:44,  6.03s/it]",
    "n1:4000:5000 [0] NCCL INFO Channel 00/32 :    0   7   6   5   4   3   2   1",
    "epoch 2 | step 18460 | loss 1.9174 | lr 2.41e-04 | tok/s 412803",
    "Epoch: [0][  50/1251]  Time 11.842 (11.907)  Data  0.006 ( 0.031)  Loss 6.9301e+00",
    "09/02/2024 18:44:10 [INFO|DP=0|PP=0|TP=0|n]: iteration: 5 / 240000 | consumed_tokens: 1.2G | "
    "tokens_per_sec: 13.6K",
)


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_do_not_open_the_gate(line: str) -> None:
    gate = Gate()
    list(gate.hits(line.encode(), 0, len(line.encode())))
    assert gate.counts == {}


def test_the_automaton_holds_all_literals() -> None:
    assert len(telling()) > 20
    assert options().max_mem > 0
