"""Judge whether the image of a run is there already on the nodes that would replace a broken one."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import items, name, number, strings, text
from evenpace.collect.kubernetes.places import Places
from evenpace.collect.kubernetes.pools import ready
from evenpace.collect.kubernetes.runs import containers, several_nodes, training
from evenpace.collect.kubernetes.workloads import schedulable
from evenpace.findings import Evidence

HUGE = 8 * 2**30  # bytes, as the registry sends them


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each run over several nodes whose image is huge, as a node that has it says."""
    places, huge = Places(cluster), _huge(cluster)
    for run in training(cluster):
        if not several_nodes(run):
            continue
        part = max(run.asking, key=lambda one: one.pods)
        found = ((path, huge.get(_full(text(one, "image")))) for path, one in containers(part))
        path, image = next((pair for pair in found if pair[1]), ((), None))
        if image is None:
            continue
        size, holders = image
        fitting = {name(node) for node in places.nodes(part) if ready(node) and schedulable(node)}
        if len(holders & fitting) > run.pods or not fitting - holders:
            yield FINE
            continue
        shown = Evidence(source=f"Node/{min(holders)} .status.images", text=f"sizeBytes: {int(size)}")
        details: dict[str, str | int | float] = {"size": f"{size / 2**30:.1f}", "pods": run.pods}
        details["without"] = len(fitting - holders)
        yield Gap(subject(run.object), (evidence(run.object, *path, "image"), shown), details)


def _huge(cluster: Cluster) -> dict[str, tuple[float, frozenset[str]]]:
    """Return (size, nodes that have it) of each huge image by its full names."""
    found: dict[str, tuple[float, set[str]]] = {}
    for node in cluster.objects("nodes"):
        for image in items(node, "status", "images"):
            size = number(image, "sizeBytes") or 0.0
            if size > HUGE:
                for spelled in strings(image, "names"):
                    found.setdefault(spelled, (size, set()))[1].add(name(node))
    return {spelled: (size, frozenset(nodes)) for spelled, (size, nodes) in found.items()}


def _full(image: str) -> str:
    """Return an image's name as nodes write it: `train` is `docker.io/library/train:latest`."""
    head, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif "." not in head and ":" not in head and head != "localhost":
        image = f"docker.io/{image}"
    tagged, at, digest = image.partition("@")
    repository, tag = _split(tagged)
    return f"{repository}@{digest}" if at else f"{repository}:{tag or 'latest'}"


def _split(image: str) -> tuple[str, str]:
    """Return (repository, tag); a colon before the last slash is that of a port."""
    path, slash, last = image.rpartition("/")
    plain, _, tag = last.partition(":")
    return f"{path}{slash}{plain}", tag
