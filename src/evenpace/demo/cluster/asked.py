"""What a request asks for: a resource, a namespace, a name, a subresource, and with which verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from evenpace.demo.cluster.refused import Refused, unknown_path
from evenpace.demo.cluster.resources import Resource
from evenpace.demo.cluster.selectors import Selector, selector

_ONE = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MANY = {"POST": "create", "DELETE": "deletecollection"}


@dataclass(frozen=True, slots=True)
class Request:
    """Hold one request as it came in."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # names in small letters
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
        """Return the request for a target such as `/api/v1/nodes?limit=5`."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(method, unquote(parts.path).rstrip("/") or "/", query, headers, body)

    def flag(self, name: str) -> bool:
        """Tell whether a parameter is set to true."""
        return self.query.get(name, "") in ("1", "true", "True")

    def whole(self, name: str) -> int:
        """Return a parameter that is a number, 0 where it is not there; raises Refused (400)."""
        value = self.query.get(name) or "0"
        if not value.isdecimal() or len(value) > 18:
            raise Refused(400, f"invalid {name}: {value[:40]!r}")
        return int(value)

    def selector(self, resource: str) -> Selector:
        """Return what `labelSelector` and `fieldSelector` ask for; raises Refused (400)."""
        return selector(resource, self.query.get("labelSelector", ""), self.query.get("fieldSelector", ""))

    @property
    def dry(self) -> bool:
        """Tell whether nothing may be changed (`dryRun=All`)."""
        return self.query.get("dryRun") == "All"


@dataclass(frozen=True, slots=True)
class Target:
    """Hold what a path names, and the verb as RBAC knows it."""

    resource: Resource
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target(request: Request, resources: Iterable[Resource]) -> Target:
    """Return what a request asks for; raises Refused for a path or method that is not served."""
    steps = request.path.strip("/").split("/")
    core = steps[0] == "api"
    head = 2 if core else 3
    if steps[0] not in ("api", "apis") or len(steps) <= head:
        raise unknown_path()
    group, version, rest = "" if core else steps[1], steps[head - 1], steps[head:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    found = [one for one in resources if (one.group, one.version, one.plural) == (group, version, rest[0])]
    if not found or len(rest) > 3 or (namespace and not found[0].namespaced):
        raise unknown_path()
    name, subresource = (*rest[1:], "", "")[:2]
    if subresource and subresource not in found[0].subresources:
        raise unknown_path()
    verb = _verb(request, name, subresource)
    if verb not in found[0].verbs:
        raise Refused(405, "the server does not allow this method on the requested resource")
    if name and found[0].namespaced and not namespace:
        raise unknown_path()
    return Target(found[0], verb, namespace, name, subresource)


def _verb(request: Request, name: str, subresource: str) -> str:
    if subresource == "eviction":
        return "create" if request.method == "POST" else ""
    if name:
        return _ONE.get(request.method, "")
    if request.method == "GET":
        return "watch" if request.flag("watch") else "list"
    return _MANY.get(request.method, "")
