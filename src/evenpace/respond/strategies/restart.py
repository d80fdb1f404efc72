"""S4: start again from the last valid checkpoint, without the slow node."""

from __future__ import annotations

from evenpace.respond.strategies import Estimate, Job, Trouble


class RestartStrategy:
    """Take the node out; possible only where `Job.restart` says what that costs."""

    name = "restart"

    def estimate(self, trouble: Trouble, job: Job) -> Estimate | None:
        """Return the healthy pace for the price of a restart; None where no node may be taken out."""
        return None if job.restart is None else Estimate(job.restart, trouble.healthy)

    def healthy(self, job: Job) -> None:
        """Return None: a node that was taken out stays out."""
