"""The one error that users see: a single line that says what is wrong with which input, and what to do."""

from __future__ import annotations


class Problem(Exception):
    """Stop with one line on stderr and exit code 2 (usage and input)."""

    exit_code = 2
