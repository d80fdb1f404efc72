"""End as the given program does, with the tap's Ending installed. Arguments: the ring, the program."""

import sys
from sys import exit as early_exit

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.lifecycle import Ending
from evenpace.tap.inject.evenpace_tap.ring import Ring

ring = Ring(sys.argv[1], "node", layout.TAP_PYTHON)
Ending(ring, lambda: None).install()
scope = {"sys": sys, "early_exit": early_exit, "state": lambda: ring.get("state"), "__name__": "__main__"}
exec(compile(sys.argv[2], "<program>", "exec"), scope)  # noqa: S102
