"""Pause the training at an announced step, measure workers and links, let it go on, and judge.

It runs in a thread that never keeps evenpace from ending; the workers' pause has limits of its own.
"""

from __future__ import annotations

from evenpace.respond.probing.judging import ProbeRequest
from evenpace.respond.probing.probing import Probing

__all__ = ["ProbeRequest", "Probing"]
