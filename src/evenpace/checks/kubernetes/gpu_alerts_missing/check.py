"""Judge whether any alert would fire when a GPU is in trouble."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import listed
from evenpace.collect.kubernetes.fields import Object, dig, items, text
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Subject

KIND = "prometheusrules.monitoring.coreos.com"
_CLUSTER = Subject(kind="object", object="alerts")
_WORDS = ("dcgm", "nvidia", "gpu", "xid", "nvlink", "amd_", "rocm", "neuron", "habana", "tpu", "accelerator")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer once for a cluster with GPUs: any alert about their state counts, whatever its threshold."""
    if not gpu_nodes(cluster):
        return
    rules = cluster.objects(KIND)
    groups = [group for rule in rules for group in items(rule, "spec", "groups")]
    alerts = [one for group in groups for one in items(group, "rules") if text(one, "alert")]
    if any(map(_about_gpus, alerts)):
        yield FINE
    elif not alerts:
        yield Unsure(_CLUSTER)
    else:
        yield Gap(_CLUSTER, (listed(KIND, rules),), {"alerts": len(alerts)})


def _about_gpus(alert: Object) -> bool:
    expression = f"{text(alert, 'alert')} {dig(alert, 'expr')}".lower()
    return any(word in expression for word in _WORDS)
