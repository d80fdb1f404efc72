"""Gaps to seed into the fleet and to mend again, by the id of the check that finds them: data in gaps/*.yaml.

driver_drift:
  - {resource: nodes, labels: node-pool=h100, first: 5, merge: {metadata: {labels: {driver: "535"}}}}

A step chooses objects by `name`, `names` or `labels` (the `first` of them) in `namespace` and changes them
(`merge`, `strategic`, `json`: a patch; `remove: true`), adds objects (`add`), or stops to serve a resource
(`withdraw: true`). A text such as `{3d ago}` or `{5m ahead}` becomes that time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evenpace.demo.cluster.daemons import DAEMONSETS, take_strays
from evenpace.demo.cluster.parts import at, micro
from evenpace.demo.cluster.patches import json_patch, merge_patch, strategic_patch
from evenpace.demo.cluster.selectors import selector
from evenpace.demo.cluster.store import Object, Store
from evenpace.errors import Problem

_GAPS = Path(__file__).parent / "gaps"
_ALONE = _GAPS / "alone.yaml"
_TIME = re.compile(r"\{(\d{1,6})([smhd]) (ago|ahead)\}")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FINE = "renewTime"  # the API takes this one with microseconds alone
Undo = Callable[[], object]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one change of the cluster: which objects, and what is done with them."""

    resource: str
    namespace: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    labels: str = ""
    first: int = 0
    merge: dict[str, Any] | None = None
    strategic: dict[str, Any] | None = None
    json: list[dict[str, Any]] | None = None
    add: tuple[dict[str, Any], ...] = ()
    remove: bool = False
    withdraw: bool = False


@cache
def gaps() -> Mapping[str, tuple[Step, ...]]:
    """Return the steps of each gap by the check's id, in order."""
    return dict(sorted((together() | _read(_ALONE)).items()))


@cache
def together() -> dict[str, tuple[Step, ...]]:
    """Return the gaps that can all be in one cluster; the others hide some of them."""
    paths = sorted(path for path in _GAPS.glob("*.yaml") if path != _ALONE)
    return {id_: steps for path in paths for id_, steps in _read(path).items()}


def _read(path: Path) -> dict[str, tuple[Step, ...]]:
    content = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return msgspec.convert(content, dict[str, tuple[Step, ...]])


def find(id_: str) -> tuple[Step, ...]:
    """Return the steps of a gap (`-` does for `_`); raises Problem."""
    known = gaps()
    name = id_.strip().replace("-", "_")
    if name not in known:
        raise Problem(f"there is no gap {id_[:60]!r} to seed; there are: {', '.join(known)}")
    return known[name]


def seed(store: Store, steps: Iterable[Step]) -> Undo:
    """Put a gap into a cluster; return what mends it."""
    undo = [one for step in steps for one in _done(store, step)]

    def mend() -> None:
        for one in reversed(undo):
            one()

    return mend


def _done(store: Store, step: Step) -> list[Undo]:
    if step.withdraw:
        resource = store.resources[step.resource]
        store.serve(resource, served=False)
        return [lambda: store.serve(resource, served=True)]
    if step.add:
        return [_added(store, step.resource, one) for one in step.add]
    chosen = _chosen(store, step)
    if not chosen and not step.remove:
        raise LookupError(f"a step of a gap finds no {step.resource}: {step}")
    return [_changed(store, step, one) for one in chosen]


def _chosen(store: Store, step: Step) -> list[Object]:
    wanted = selector(step.resource, step.labels)
    names = {step.name, *step.names} - {""}
    found = [
        one
        for one in store.objects(step.resource, step.namespace)[0]
        if wanted(one) and (not names or one["metadata"]["name"] in names)
    ]
    return found[: step.first] if step.first else found


def _added(store: Store, resource: str, one: Object) -> Undo:
    kept = store.create(resource, timed(one, store.now()))
    return lambda: store.delete(resource, *_place(kept), force=True)


def _changed(store: Store, step: Step, old: Object) -> Undo:
    resource, place = step.resource, _place(old)
    if step.remove:
        store.delete(resource, *place, force=True)
    else:
        store.edit(resource, *place, lambda one: _patched(step, one, store.now()))
    strays = take_strays(store, old) if resource == DAEMONSETS else []

    def mend() -> None:
        if step.remove:
            store.create(resource, _bare(old))
        else:
            store.edit(resource, *place, lambda _: _bare(old))
        for pod in strays:
            store.create("pods", _bare(pod))

    return mend


def _patched(step: Step, one: Object, now: datetime) -> Object:
    patches = ((merge_patch, step.merge), (strategic_patch, step.strategic), (json_patch, step.json))
    for patch, content in patches:
        if content is not None:
            one = patch(one, timed(content, now))
    return one


def _place(one: Object) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _bare(one: Object) -> Object:
    """Return an object without its version, so that it may replace any other."""
    kept = {key: value for key, value in one["metadata"].items() if key != "resourceVersion"}
    return {**one, "metadata": kept}


def timed(value: Any, now: datetime, written: Callable[[datetime], str] = at) -> Any:
    """Return a value of a gap with the times that its texts stand for, `written` as their field wants it."""
    if isinstance(value, dict):
        return {key: timed(one, now, micro if key == _FINE else at) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [timed(one, now) for one in value]
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    span = timedelta(**{_UNITS[match[2]]: int(match[1])})
    return written(now - span if match[3] == "ago" else now + span)
