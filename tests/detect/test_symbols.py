"""Operations as integers."""

from __future__ import annotations

import numpy as np

from evenpace.detect.symbols import encode


def test_same_operation_same_symbol_and_the_sign_tells_point_to_point() -> None:
    kind, nbytes, group, peer = (
        np.array(c) for c in ([1, 1, 2, 1, 1], [8, 8, 8, 9, 8], [3, 3, 3, 3, 4], [-1] * 5)
    )
    symbols = encode(kind, nbytes, group, peer, np.array([False, False, True, False, False]))
    assert symbols[0] == symbols[1]
    assert len(set(symbols.tolist())) == 4
    assert (symbols < 0).tolist() == [False, False, True, False, False]
    again = encode(kind[:1], nbytes[:1], group[:1], peer[:1], np.array([False]))
    assert again[0] == symbols[0]
