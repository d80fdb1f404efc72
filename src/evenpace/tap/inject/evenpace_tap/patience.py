"""How long a pause may last: one limit for all that happens in it."""

from __future__ import annotations

import time


class Patience:
    """So many seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float = float("inf")) -> float:
        """Return the seconds that are left, at most `most`. Raises TimeoutError where there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the pause has lasted long enough")
        return min(left, most)
