"""S1: do nothing. What every other strategy is compared with."""

from __future__ import annotations

from evenpace.respond.strategies import Estimate, Job, Trouble


class IgnoreStrategy:
    """Wait until it is over."""

    name = "none"

    def estimate(self, trouble: Trouble, job: Job) -> Estimate:  # noqa: ARG002
        """Return the job as it is."""
        return Estimate(0.0, trouble.now)

    def healthy(self, job: Job) -> None:
        """Return None: there is nothing to take back."""
