"""Judge whether NCCL may use the links that the nodes of a run have: NVLink, and RDMA between nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject, where
from evenpace.collect.kubernetes.fields import Object
from evenpace.collect.kubernetes.places import Places, nvlink, rdma
from evenpace.collect.kubernetes.pools import product
from evenpace.collect.kubernetes.runs import Run, joined, training, variables
from evenpace.collect.kubernetes.workloads import Workload
from evenpace.findings import Evidence

P2P, IB = "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload of training with several accelerators."""
    places = Places(cluster)
    for run in training(cluster):
        if run.gpus > 1:
            yield next((gap for part in run.asking if (gap := _gap(places, run, part))), FINE)


def _gap(places: Places, run: Run, part: Workload) -> Gap | None:
    """Return the gap where all nodes that the pods may be placed on have what is switched off."""
    found = variables(part)
    uses: tuple[tuple[str, bool, Callable[[Object], object]], ...] = (
        (P2P, part.gpus > 1, nvlink),
        (IB, joined(run), rdma),
    )
    for name, used, has in uses:
        if used and name in found and found[name].value == "1" and places.all_have(part, has):
            node = places.nodes(part)[0]
            what = rdma(node) if name == IB else f"NVLink ({product(node)})"
            quoted = evidence(run.object, *found[name].path), Evidence(source=where(node), text=what)
            return Gap(subject(run.object), quoted, {"variable": name, "what": what})
    return None
