"""Judge whether processes get the time that they need to die before their node is drained."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting

LEAST = 60.0  # the old default
REASON = "kill task failed"


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for the cluster: too short is what Slurm's own rule forbids, or what drains nodes now."""
    wait, message = slurm.config.seconds("UnkillableStepTimeout"), slurm.config.seconds("MessageTimeout")
    if wait is None or message is None:
        return
    drained = [node.name for node in slurm.nodes if REASON in node.reason.casefold()]
    if wait < 5 * message or (wait <= LEAST and drained):
        evidence = (setting(slurm, "UnkillableStepTimeout"), setting(slurm, "MessageTimeout"))
        yield Gap(CLUSTER, evidence, {"seconds": f"{wait:g}", "nodes": len(drained)})
    else:
        yield FINE
