"""Label and field selectors of lists and watches; what a real server refuses is refused here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenpace.collect.kubernetes.fields import dig
from evenpace.demo.cluster.refused import Refused

Object = Mapping[str, Any]
_SET = re.compile(r"(\S+) +(in|notin) +\(([^()]*)\)")
_KEY = re.compile(r"([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_EVERY = ("metadata.name", "metadata.namespace")
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        *("spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
    ),
    "nodes": ("spec.unschedulable",),
    "events": (
        *(f"involvedObject.{field}" for field in ("kind", "namespace", "name", "uid", "apiVersion")),
        *("involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "source", "type"),
        "reportingComponent",
    ),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
}


@dataclass(frozen=True, slots=True)
class Selector:
    """Hold what a list or watch asks for."""

    tests: tuple[Callable[[Object], bool], ...] = ()

    def __call__(self, one: Object) -> bool:
        """Tell whether an object is asked for."""
        return all(test(one) for test in self.tests)


def selector(resource: str, labels: str = "", fields: str = "") -> Selector:
    """Return what `labelSelector` and `fieldSelector` ask of `resource` for; raises Refused."""
    return Selector((*map(_label, _terms(labels)), *(_field(resource, one) for one in _terms(fields))))


def of(spec: object) -> Selector:
    """Return the selector that stands in an object: `matchLabels` and `matchExpressions`."""
    pairs = (dig(spec, "matchLabels") or {}).items()
    tests = [_one_of(key, (value,)) for key, value in pairs]
    for one in dig(spec, "matchExpressions") or ():
        key, operator, values = one["key"], one["operator"], tuple(one.get("values") or ())
        tests.append(
            {
                "In": _one_of(key, values),
                "NotIn": _not(_one_of(key, values)),
                "Exists": _has(key),
                "DoesNotExist": _not(_has(key)),
            }[operator]
        )
    return Selector(tuple(tests))


def _terms(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    terms, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            terms.append("")
        else:
            terms[-1] += letter
    return [term.strip() for term in terms if term.strip()]


def _label(term: str) -> Callable[[Object], bool]:
    listed = _SET.fullmatch(term)
    if listed:
        test = _one_of(_key(listed[1]), tuple(value.strip() for value in listed[3].split(",")))
        return test if listed[2] == "in" else _not(test)
    if "!=" in term:
        key, _, value = term.partition("!=")
        return _not(_one_of(_key(key), (value.strip(),)))
    if "=" in term:
        key, _, value = term.replace("==", "=", 1).partition("=")
        return _one_of(_key(key), (value.strip(),))
    if term.startswith("!"):
        return _not(_has(_key(term[1:])))
    return _has(_key(term))


def _key(text: str) -> str:
    if not _KEY.fullmatch(text.strip()):
        raise Refused(400, f"unable to parse requirement: invalid label key {text.strip()[:100]!r}")
    return text.strip()


def _one_of(key: str, values: tuple[str, ...]) -> Callable[[Object], bool]:
    return lambda one: dig(one, "metadata", "labels", key) in values


def _has(key: str) -> Callable[[Object], bool]:
    return lambda one: key in (dig(one, "metadata", "labels") or {})


def _not(test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda one: not test(one)


def _field(resource: str, term: str) -> Callable[[Object], bool]:
    unequal = "!=" in term
    field, sign, value = term.replace("==", "=", 1).partition("!=" if unequal else "=")
    if not sign:
        raise Refused(400, f"invalid field selector: {term[:100]!r}; can't understand it")
    if field not in (*_EVERY, *_FIELDS.get(resource, ())):
        raise Refused(400, f"field label not supported: {field[:100]}")
    path = ("source", "component") if field == "source" else tuple(field.split("."))
    return lambda one: (_text(dig(one, *path)) == value) is not unequal


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
