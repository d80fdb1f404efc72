"""What the server says of itself: version, groups, and the resources of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenpace.demo.cluster.refused import unknown_path
from evenpace.demo.cluster.resources import Resource

VERSION = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.4",
    "gitCommit": "0" * 40,
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.24.4",
    "compiler": "gc",
    "platform": "linux/amd64",
}


def document(path: str, resources: Iterable[Resource]) -> dict[str, Any] | None:
    """Return the document at `path`, None where the path is none of discovery's; raises Refused."""
    steps = path.strip("/").split("/")
    if path == "/version":
        return VERSION
    match steps:
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["api", version]:
            return _resources("", version, resources)
        case ["apis", *named]:
            return _below(named, resources)
    return None


def _below(named: list[str], resources: Iterable[Resource]) -> dict[str, Any] | None:
    match named:
        case []:
            return _groups(resources)
        case [group]:
            return _group(group, resources)
        case [group, version]:
            return _resources(group, version, resources)
    return None


def _groups(resources: Iterable[Resource]) -> dict[str, Any]:
    known = dict.fromkeys(one.group for one in resources if one.group)
    groups = [_named(group, resources) for group in known]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(group: str, resources: Iterable[Resource]) -> dict[str, Any]:
    if not any(one.group == group for one in resources):
        raise unknown_path()
    return {"kind": "APIGroup", "apiVersion": "v1", **_named(group, resources)}


def _named(group: str, resources: Iterable[Resource]) -> dict[str, Any]:
    found = dict.fromkeys(one.version for one in resources if one.group == group)
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in found]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(group: str, version: str, resources: Iterable[Resource]) -> dict[str, Any]:
    found = [one for one in resources if (one.group, one.version) == (group, version)]
    if not found:
        raise unknown_path()
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].api_version,
        "resources": [entry for one in found for entry in _entries(one)],
    }


def _entries(one: Resource) -> list[dict[str, Any]]:
    own = {
        "name": one.plural,
        "singularName": one.kind.lower(),
        "namespaced": one.namespaced,
        "kind": one.kind,
        "verbs": list(one.verbs),
        **({"shortNames": list(one.short)} if one.short else {}),
    }
    return [own, *(_subresource(one, name) for name in one.subresources)]


def _subresource(one: Resource, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{one.plural}/{name}",
        "singularName": "",
        "namespaced": one.namespaced,
        "kind": one.kind,
        "verbs": ["get", "patch", "update"],
    }
    if name == "eviction":
        entry |= {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]}
    return entry
