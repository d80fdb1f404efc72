"""What objects of the fleet are made of: times before now, metadata, conditions, and manifests from files."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import yaml

from evenpace.demo.cluster.store import Object

_MANIFESTS = Path(__file__).parent / "manifests"
_SPACE = uuid.UUID("6f7c8a52-2b0e-4a43-9d4e-0b1d6a3f5c11")


def at(now: datetime, **ago: float) -> str:
    """Return the time so long before `now`, as objects carry it: `at(now, hours=2)`."""
    return (now - timedelta(**ago)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro(now: datetime) -> str:
    """Return a time with fractions, as leases carry it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def uid(place: str) -> str:
    """Return the uid of what stands at `place`, the same at every start."""
    return str(uuid.uuid5(_SPACE, place))


def metadata(
    name: str,
    namespace: str = "",
    labels: dict[str, str] | None = None,
    owner: Object | None = None,
    made: str = "",
) -> Object:
    """Return metadata."""
    found: Object = {"name": name, "uid": uid(f"{namespace}/{name}")}
    found |= {"namespace": namespace} if namespace else {}
    found |= {"labels": labels} if labels else {}
    found |= {"creationTimestamp": made} if made else {}
    if owner is not None:
        about = {field: owner["metadata"][field] for field in ("name", "uid")}
        about |= {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
        found["ownerReferences"] = [{**about, "controller": True, "blockOwnerDeletion": True}]
    return found


def condition(kind: str, status: bool, since: str, reason: str, message: str = "", **more: str) -> Object:
    """Return a condition of a status."""
    return {
        "type": kind,
        "status": str(status),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
        **more,
    }


@cache
def manifests(name: str) -> tuple[Object, ...]:
    """Return the objects of a file in manifests/; nobody may change them."""
    text = (_MANIFESTS / f"{name}.yaml").read_text("utf-8")
    return tuple(yaml.load_all(text, Loader=yaml.CSafeLoader))


def addresses(prefix: int) -> Iterator[str]:
    """Yield addresses of pods, `10.<prefix>.0.1` and on."""
    for number in range(1, 1 << 22):
        high, low = divmod(number, 254)
        yield f"10.{prefix + high // 256}.{high % 256}.{low + 1}"


def usual_tolerations() -> list[Object]:
    """Return what the API server adds to pods that say nothing about dead nodes."""
    rest = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return [{"key": f"node.kubernetes.io/{state}", **rest} for state in ("not-ready", "unreachable")]


def ready_pod(spec: Object, made: str, started: str, address: str) -> Object:
    """Return the status of a pod that runs and is ready."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": made,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": started} for kind in kinds],
        "containerStatuses": [_running(one, started) for one in spec["containers"]],
    }


def _running(container: Object, started: str) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": _digest(container["image"]),
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": started}},
    }


@cache
def _digest(image: str) -> str:
    """Return an image's name by a digest, as a runtime says which one it runs."""
    name, _, tag = image.rpartition(":")
    return f"{name}@sha256:{hashlib.sha256(tag.encode()).hexdigest()}"
