"""How long pods stay bound to a node that is not ready or cannot be reached."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, items, number, table, text

DEAD = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
DEFAULT = 300.0  # seconds that the API server adds where a pod says nothing


def default_wait(cluster: Cluster) -> float:
    """Return the seconds that most pods of the cluster tolerate a dead node: what its API server adds."""
    seen = Counter(wait for pod in cluster.objects("pods") if math.isfinite(wait := _own(pod)))
    return seen.most_common(1)[0][0] if seen else DEFAULT


def _own(pod: Object) -> float:
    waits = [_seconds(items(pod, "spec", "tolerations"), taint) for taint in DEAD]
    return max((wait for wait in waits if wait is not None), default=math.inf)


def wait(spec: Object, default: float) -> float:
    """Return the seconds after which a pod leaves a dead node; infinite where it tolerates one for ever."""
    waits = [_seconds(items(table(spec), "tolerations"), taint) for taint in DEAD]
    return max(default if one is None else one for one in waits)


def _seconds(tolerations: Sequence[Object], taint: str) -> float | None:
    """Return the shortest time of the tolerations of a taint; None where none tolerates it."""
    found = [one for one in tolerations if _tolerates(one, taint)]
    limits = [number(one, "tolerationSeconds") for one in found]
    times = [max(limit, 0.0) for limit in limits if limit is not None]
    if not found:
        return None
    return min(times, default=math.inf)


def _tolerates(toleration: Object, taint: str) -> bool:
    """Tell whether a toleration is for `taint` with the effect NoExecute; without a key it is for all."""
    key, exists = text(toleration, "key"), text(toleration, "operator") == "Exists"
    named = key == taint and (exists or not text(toleration, "value"))
    return (named or (exists and not key)) and text(toleration, "effect") in ("", "NoExecute")
