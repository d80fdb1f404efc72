"""The server over HTTP: discovery, lists and their pages, watches, writes, evictions, rights, the log."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from io import BytesIO
from typing import Any

import pytest
from tests.demo.cluster.made import pod

from evenpace.demo.cluster.log import Log
from evenpace.demo.cluster.server import LARGEST, Emulator
from evenpace.demo.cluster.store import Store

Ask = Callable[..., tuple[int, Any]]
PODS = "/api/v1/namespaces/ml/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def names(found: dict[str, Any]) -> list[str]:
    return [one["metadata"]["name"] for one in found["items"]]


def test_discovery_leads_to_every_resource(ask: Ask, emulator: Emulator) -> None:
    assert ask("GET", "/readyz") == (200, b"ok")
    assert ask("GET", "/version")[1]["gitVersion"].startswith("v1.")
    assert ask("GET", "/api")[1]["versions"] == ["v1"]
    places = ["/api/v1"]
    for group in ask("GET", "/apis")[1]["groups"]:
        assert ask("GET", f"/apis/{group['name']}")[1]["preferredVersion"] == group["preferredVersion"]
        places += [f"/apis/{one['groupVersion']}" for one in group["versions"]]
    found = set()
    for place in places:
        document = ask("GET", place)[1]
        group = document["groupVersion"].rpartition("/")[0]
        plurals = {one["name"] for one in document["resources"] if "/" not in one["name"]}
        found |= {f"{plural}.{group}" if group else plural for plural in plurals}
        for one in document["resources"]:
            if "list" in one["verbs"]:
                assert ask("GET", f"{place}/{one['name']}")[0] == 200
    assert found == set(emulator.store.resources)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404),
        ("GET", "/api/v2", 404),
        ("GET", "/apis/none.example.com", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
        ("GET", "/api/v1/unicorns", 404),
        ("GET", "/api/v1/pods/train-0", 404),
        ("GET", "/api/v1/namespaces/ml/nodes/gpu-1", 404),
        ("GET", f"{PODS}/none", 404),
        ("GET", f"{PODS}/train-0/log", 404),
        ("GET", f"{PODS}/train-0/status/more/and/more", 404),
        ("GET", f"{PODS}?limit=x", 400),
        ("GET", f"{PODS}?limit=-1", 400),
        ("GET", f"{PODS}?continue=nonsense", 400),
        ("GET", f"{PODS}?fieldSelector=spec.x=1", 400),
        ("GET", f"{PODS}?watch=1&fieldSelector=spec.x=1", 400),
        ("PUT", PODS, 405),
        ("POST", f"{PODS}/train-0", 405),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
    ],
)
def test_what_is_not_served(ask: Ask, method: str, path: str, code: int) -> None:
    answered, status = ask(method, path, {} if method != "GET" else None)
    assert answered == code
    assert (status["kind"], status["code"], status["status"]) == ("Status", code, "Failure")
    assert status["message"]


def test_lists(ask: Ask, store: Store) -> None:
    found = ask("GET", "/api/v1/pods")[1]
    assert (found["kind"], found["apiVersion"]) == ("PodList", "v1")
    assert names(found) == ["train-0", "train-1", "train-2"]
    assert found["metadata"] == {"resourceVersion": str(store.version)}
    assert names(ask("GET", f"{PODS}?labelSelector=rank+in+(0,2)")[1]) == ["train-0", "train-2"]
    assert names(ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dgpu-2")[1]) == []
    assert names(ask("GET", "/api/v1/namespaces/other/pods")[1]) == []


def test_pages_show_the_cluster_as_it_was_at_the_first(ask: Ask, store: Store) -> None:
    first = ask("GET", f"{PODS}?limit=2")[1]
    assert names(first) == ["train-0", "train-1"]
    assert first["metadata"]["remainingItemCount"] == 1
    store.delete("pods", "ml", "train-2")
    store.create("pods", pod("train-9"))
    second = ask("GET", f"{PODS}?limit=2&continue={first['metadata']['continue']}")[1]
    assert names(second) == ["train-2"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


def test_pages_expire(ask: Ask, emulator: Emulator) -> None:
    first = ask("GET", f"{PODS}?limit=1")[1]
    emulator.lists.expire()
    code, status = ask("GET", f"{PODS}?limit=1&continue={first['metadata']['continue']}")
    assert (code, status["reason"]) == (410, "Expired")


def test_tables_for_people(ask: Ask) -> None:
    table = ask("GET", "/api/v1/nodes?limit=1", Accept=TABLE)[1]
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Status",
        "Roles",
        "Version",
        "Age",
    ]
    assert table["rows"][0]["cells"][:2] == ["gpu-1", "Ready"]
    assert table["rows"][0]["object"]["metadata"]["name"] == "gpu-1"
    assert table["metadata"]["continue"]
    assert ask("GET", f"{PODS}/train-0", Accept=TABLE)[1]["rows"][0]["cells"][:3] == [
        "train-0",
        "0/1",
        "Running",
    ]
    assert ask("GET", "/api/v1/secrets", Accept=TABLE)[1]["rows"] == []


def test_large_answers_are_packed(emulator: Emulator, store: Store) -> None:
    for number in range(300):
        store.create("pods", {**pod(f"many-{number}"), "status": {"message": "z" * 500}})
    connection = HTTPConnection("127.0.0.1", emulator.port, timeout=20)
    connection.request("GET", PODS, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    packed = answer.read()
    connection.close()
    assert answer.headers["Content-Encoding"] == "gzip"
    whole = gzip.decompress(packed)
    assert len(packed) < len(whole) / 4
    assert len(json.loads(whole)["items"]) == 303


def test_writes(ask: Ask) -> None:
    code, made = ask(
        "POST", PODS, {"metadata": {"generateName": "new-"}, "spec": {}, "status": {"phase": "X"}}
    )
    assert code == 201
    assert (made["kind"], made["metadata"]["namespace"], "status" in made) == ("Pod", "ml", False)
    place = f"{PODS}/{made['metadata']['name']}"
    made["spec"] = {"nodeName": "gpu-2"}
    made["status"] = {"phase": "Running"}
    code, put = ask("PUT", place, made)
    assert (code, put["spec"], "status" in put) == (200, {"nodeName": "gpu-2"}, False)
    code, put = ask("PUT", f"{place}/status", {**put, "spec": {}, "status": {"phase": "Running"}})
    assert (put["spec"], put["status"]) == ({"nodeName": "gpu-2"}, {"phase": "Running"})
    assert ask("PUT", place, made)[0] == 409
    assert ask("DELETE", place, {"preconditions": {"uid": "other"}})[0] == 409
    assert ask("DELETE", place)[0] == 200
    assert ask("GET", place)[0] == 404


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("application/merge-patch+json", {"metadata": {"labels": {"new": "1"}}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"new": "1"}}}),
        ("application/json-patch+json", [{"op": "add", "path": "/metadata/labels/new", "value": "1"}]),
    ],
)
def test_patches(ask: Ask, kind: str, patch: Any) -> None:
    code, one = ask("PATCH", f"{PODS}/train-0", patch, Content_Type=kind)
    assert code == 200
    assert one["metadata"]["labels"]["new"] == "1"
    assert one["metadata"]["labels"]["app"] == "train"
    assert one["status"] == {"phase": "Running"}
    code, one = ask("PATCH", f"{PODS}/train-0?dryRun=All", patch, Content_Type=kind)
    assert code == 200


def test_a_namespace_of_the_object_must_be_that_of_the_request(ask: Ask) -> None:
    assert ask("POST", PODS, {"metadata": {"name": "a", "namespace": "other"}})[0] == 400
    assert ask("POST", PODS, "text")[0] == 400
    assert ask("POST", PODS, {}, Content_Type="application/vnd.kubernetes.protobuf")[0] == 415


def test_many_are_deleted_by_a_selector(ask: Ask) -> None:
    assert ask("DELETE", f"{PODS}?labelSelector=rank!%3D1")[0] == 200
    assert names(ask("GET", PODS)[1]) == ["train-1"]


def budget(allowed: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "train"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_evictions_ask_budgets(ask: Ask, store: Store) -> None:
    store.create("poddisruptionbudgets.policy", budget(1))
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "train-0", "namespace": "ml"},
    }
    assert ask("POST", f"{PODS}/train-0/eviction?dryRun=All", eviction)[0] == 201
    assert ask("POST", f"{PODS}/train-0/eviction", eviction)[0] == 201
    code, status = ask("POST", f"{PODS}/train-1/eviction", eviction)
    assert (code, status["details"]["causes"][0]["reason"]) == (429, "DisruptionBudget")
    assert names(ask("GET", PODS)[1]) == ["train-1", "train-2"]
    store.edit("pods", "ml", "train-1", lambda one: {**one, "status": {"phase": "Failed"}})
    assert ask("POST", f"{PODS}/train-1/eviction", eviction)[0] == 201


def test_two_budgets_over_a_pod_stop_its_eviction(ask: Ask, store: Store) -> None:
    for name in ("a", "b"):
        store.create(
            "poddisruptionbudgets.policy", {**budget(1), "metadata": {"name": name, "namespace": "ml"}}
        )
    assert ask("POST", f"{PODS}/train-0/eviction", {})[0] == 500


class Watch:
    """Follow a watch in a thread; `events` grows."""

    def __init__(self, port: int, target: str, accept: str = "application/json") -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", target, headers={"Accept": accept})
        self.answer = self.connection.getresponse()
        self.events: list[dict[str, Any]] = []
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self) -> None:
        for line in self.answer:
            self.events.append(json.loads(line))

    def close(self) -> None:
        """Wait until the watch has ended, which it does with the server at the latest."""
        self.thread.join(20)
        assert not self.thread.is_alive()
        self.answer.close()
        self.connection.close()

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(one["type"], one["object"].get("metadata", {}).get("name", "")) for one in list(self.events)]


@pytest.fixture
def watch(store: Store) -> Iterator[Callable[..., Watch]]:
    emulator = Emulator(store)
    found: list[Watch] = []

    def start(query: str, accept: str = "application/json", path: str = PODS) -> Watch:
        found.append(Watch(emulator.port, f"{path}?watch=1&{query}", accept))
        return found[-1]

    yield start
    emulator.close()
    for one in found:
        one.close()


def test_a_watch_tells_what_changes(
    watch: Callable[..., Watch], store: Store, eventually: Callable[..., None]
) -> None:
    seen = watch(f"resourceVersion={store.version}&labelSelector=app%3Dtrain")
    store.create("pods", pod("other", app="other"))
    store.create("pods", pod("new", app="train"))
    for labels in ({"app": "train", "x": "y"}, {"app": "gone"}, {"app": "train"}):
        metadata = {"labels": labels}
        store.edit("pods", "ml", "new", lambda one, m=metadata: {**one, "metadata": {**one["metadata"], **m}})
    store.delete("pods", "ml", "new")
    eventually(lambda: len(seen.events) == 5)
    assert seen.told == [
        ("ADDED", "new"),
        ("MODIFIED", "new"),
        ("DELETED", "new"),
        ("ADDED", "new"),
        ("DELETED", "new"),
    ]


def test_a_watch_from_nowhere_begins_with_what_is(
    watch: Callable[..., Watch], eventually: Callable[..., None]
) -> None:
    seen = watch("sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1")
    eventually(lambda: len(seen.events) == 5)
    assert [kind for kind, _ in seen.told] == ["ADDED"] * 3 + ["BOOKMARK"] * 2
    assert seen.events[3]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_from_before_what_is_remembered_gets_an_error(
    watch: Callable[..., Watch], store: Store, eventually: Callable[..., None]
) -> None:
    old = store.version - 1
    store.forget()
    seen = watch(f"resourceVersion={old}")
    eventually(lambda: seen.events)
    assert (seen.events[0]["type"], seen.events[0]["object"]["code"]) == ("ERROR", 410)


def test_a_watch_in_tables(watch: Callable[..., Watch], eventually: Callable[..., None]) -> None:
    seen = watch("", TABLE)
    eventually(lambda: len(seen.events) == 3)
    assert [bool(one["object"]["columnDefinitions"]) for one in seen.events] == [True, False, False]


def test_watches_end_with_the_server(store: Store, eventually: Callable[..., None]) -> None:
    with Emulator(store) as emulator:
        seen = Watch(emulator.port, f"{PODS}?watch=1")
        eventually(lambda: len(seen.events) == 3)
    seen.close()


def test_rights_can_be_partial(store: Store) -> None:
    with Emulator(store, may=lambda verb, resource: (verb, resource) != ("list", "pods")) as emulator:
        connection = HTTPConnection("127.0.0.1", emulator.port, timeout=20)
        connection.request("GET", "/api/v1/pods")
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["reason"]) == (403, "Forbidden")
        review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        connection.request("POST", path, json.dumps(review), {"Content-Type": "application/json"})
        assert json.loads(connection.getresponse().read())["status"] == {"allowed": False}
        connection.close()


def test_every_request_is_logged(store: Store) -> None:
    file = BytesIO()
    with Emulator(store, log=Log(file)) as emulator:
        connection = HTTPConnection("127.0.0.1", emulator.port, timeout=20)
        asked = [
            ("GET", "/api/v1/pods?limit=1"),
            ("GET", "/version"),
            ("GET", "/none"),
            ("DELETE", f"{PODS}/train-0"),
        ]
        for method, target in asked:
            connection.request(method, target, headers={"User-Agent": "test"})
            connection.getresponse().read()
        connection.close()
        entries = emulator.log.entries
    assert [(one.method, one.path) for one in entries] == asked
    assert [one.code for one in entries] == [200, 200, 404, 200]
    assert [(one.verb, one.resource) for one in entries if one.verb] == [("list", "pods"), ("delete", "pods")]
    assert {one.agent for one in entries} == {"test"}
    assert [json.loads(line)["path"] for line in file.getvalue().splitlines()] == [path for _, path in asked]


def test_other_sites_and_huge_bodies_are_refused(ask: Ask) -> None:
    assert ask("GET", "/api/v1/pods", Host="evil.example.com")[0] == 403
    assert ask("GET", "/api/v1/pods", Host="localhost:1")[0] == 200
    assert ask("POST", PODS, None, Content_Length=str(LARGEST + 1))[0] == 413
    assert ask("POST", PODS, None, Transfer_Encoding="chunked")[0] == 413
