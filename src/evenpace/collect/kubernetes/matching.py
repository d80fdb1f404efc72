"""Which labels a selector picks, and which nodes a pod may be placed on."""

from __future__ import annotations

from collections.abc import Mapping

from evenpace.collect.kubernetes.fields import Object, items, labels, name, strings, table, text

# What the DaemonSet controller lets its pods tolerate, whatever their template says.
_ALWAYS = frozenset(
    f"node.kubernetes.io/{reason}"
    for reason in (
        *("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure"),
        *("unschedulable", "network-unavailable"),
    )
)
_PLACING = ("NoSchedule", "NoExecute")


def matches(selector: Object, found: Mapping[str, str]) -> bool:
    """Tell whether a label selector picks an object with the labels `found`; an empty one picks all."""
    wanted = table(selector, "matchLabels")
    return all(found.get(key) == value for key, value in wanted.items()) and all(
        _holds(rule, found) for rule in items(selector, "matchExpressions")
    )


def _holds(rule: Object, found: Mapping[str, str]) -> bool:
    key, values = text(rule, "key"), strings(rule, "values")
    operator, value = text(rule, "operator"), found.get(text(rule, "key"))
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Exists", "DoesNotExist"):
        return (key in found) is (operator == "Exists")
    return _compared(operator, value, values)


def _compared(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        number, limit = int(value or ""), int(values[0] if values else "")
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit


def daemon_runs_on(daemonset: Object, node: Object) -> bool:
    """Tell whether a DaemonSet places a pod on a node: node selector, required affinity, taints."""
    spec = table(daemonset, "spec", "template", "spec")
    found = labels(node)
    if any(found.get(key) != value for key, value in table(spec, "nodeSelector").items()):
        return False
    required = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = items(spec, *required, "nodeSelectorTerms")
    if terms and not any(_term(term, found, name(node)) for term in terms):
        return False
    tolerations = items(spec, "tolerations")
    return all(_tolerated(taint, tolerations) for taint in items(node, "spec", "taints"))


def _term(term: Object, found: Mapping[str, str], node: str) -> bool:
    named = {"metadata.name": node}
    return all(_holds(rule, found) for rule in items(term, "matchExpressions")) and all(
        _holds(rule, named) for rule in items(term, "matchFields")
    )


def _tolerated(taint: Object, tolerations: tuple[Object, ...]) -> bool:
    key, effect = text(taint, "key"), text(taint, "effect")
    if effect not in _PLACING or key in _ALWAYS:
        return True
    return any(
        text(one, "key") in ("", key)
        and text(one, "effect") in ("", effect)
        and (text(one, "operator") == "Exists" or text(one, "value") == text(taint, "value"))
        and (text(one, "key") or text(one, "operator") == "Exists")
        for one in tolerations
    )
