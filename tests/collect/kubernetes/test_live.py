from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.collect.kubernetes.scripted import Answer, Script, Scripted, discovery, kubeconfig, said

from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.live import read
from evenpace.collect.kubernetes.transport import Limits
from evenpace.collect.snapshot import Snapshot, Why
from evenpace.errors import Problem

KINDS = ("nodes", "pods", "jobs.batch", "jobsets.jobset.x-k8s.io", "rayclusters.ray.io")
QUICK = Limits(silence=0.5, request=1.0, whole=3.0, answer=1 << 20, total=4 << 20, longest_wait=0.01)


def lists(**by_plural: Answer) -> Script:
    """Answer discovery, and lists by the last step of their path; other lists are empty."""

    def script(path: str, parameters: dict[str, str]) -> Answer:
        plural = path.rpartition("/")[2]
        return discovery(path) or by_plural.get(plural) or said({"metadata": {}, "items": []})

    return script


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Snapshot]:
    """Return a reader of a server: `reading(server, kinds, namespace)`."""

    def of(
        server: Scripted, kinds: tuple[str, ...] = KINDS, namespace: str | None = None, limits: Limits = QUICK
    ) -> Snapshot:
        file = tmp_path / "config"
        file.write_text(kubeconfig(server.url, user={"token": "t"}), "utf-8")
        return read(access(file), kinds, namespace, limits)

    return of


Reading = Callable[..., Snapshot]


def test_objects_are_told_their_type_and_lose_what_nobody_reads(reading: Reading) -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    pod = {"metadata": {"name": "a", "annotations": notes, "managedFields": [{}]}, "spec": {"x": 1}}
    with Scripted(lists(pods=said({"metadata": {}, "items": [pod]}))) as server:
        snapshot = reading(server)
    assert snapshot.kinds["pods"] == (
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "annotations": {"a": "b"}},
            "spec": {"x": 1},
        },
    )
    assert snapshot.version == "v1.33.1"
    assert snapshot.family == "kubernetes"


def test_only_get_is_sent_and_only_for_the_kinds_asked_for(reading: Reading) -> None:
    with Scripted(lists()) as server:
        reading(server, ("pods",))
    paths = [line.split()[1].partition("?")[0] for line in server.asked]
    assert paths == ["/version", "/apis", "/api/v1", "/api/v1/pods"]
    assert {line.split()[0] for line in server.asked} == {"GET"}
    assert {one["authorization"] for one in server.headers} == {"Bearer t"}


def test_what_is_not_served_is_absent(reading: Reading) -> None:
    with Scripted(lists()) as server:
        snapshot = reading(server)
    assert {kind: one.why for kind, one in snapshot.unread.items()} == {"rayclusters.ray.io": Why.ABSENT}
    assert set(snapshot.kinds) == set(KINDS) - {"rayclusters.ray.io"}


def test_a_version_that_is_not_known_is_not_read(reading: Reading) -> None:
    versions = [{"version": "v1"}, {"version": "v7"}]
    cronjobs = {"resources": [{"name": "cronjobs", "namespaced": True, "verbs": ["list"]}]}

    def script(path: str, _: dict[str, str]) -> Answer:
        said_at = {"/apis": {"groups": [{"name": "batch", "versions": versions}]}, "/apis/batch/v7": cronjobs}
        return said(said_at[path]) if path in said_at else discovery(path) or said({"items": []})

    with Scripted(script) as server:
        snapshot = reading(server, ("jobs.batch", "cronjobs.batch"))
    assert snapshot.kinds == {"jobs.batch": ()}
    unread = snapshot.unread["cronjobs.batch"]
    assert (unread.why, unread.what) == (Why.FAILED, "list cronjobs.batch")
    assert unread.detail == "served as v7, which is not known"


def test_what_a_server_calls_a_version_is_never_a_path(reading: Reading) -> None:
    odd = ["../../api/v1/secrets?", "v1/../..", "", "v", *(f"v{number}" for number in range(2, 500))]
    groups = {"groups": [{"name": "batch", "versions": [{"version": one} for one in odd]}]}

    def script(path: str, _: dict[str, str]) -> Answer:
        return said(groups) if path == "/apis" else discovery(path) or (404, b"{}")

    with Scripted(script) as server:
        assert reading(server, ("jobs.batch",)).unread["jobs.batch"].why is Why.ABSENT
    assert len(server.asked) < 20
    assert not [line for line in server.asked if "secrets" in line or ".." in line]


def test_pages_are_followed_to_the_end(reading: Reading) -> None:
    def script(path: str, parameters: dict[str, str]) -> Answer:
        if path != "/api/v1/pods":
            return discovery(path) or said({"items": []})
        page = int(parameters.get("continue", "0"))
        following = {"continue": str(page + 1)} if page < 3 else {}
        assert parameters["limit"] == "500"
        return said({"metadata": following, "items": [{"metadata": {"name": f"p{page}"}}]})

    with Scripted(script) as server:
        found = reading(server, ("pods",)).kinds["pods"]
    assert [one["metadata"]["name"] for one in found] == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize(("times", "read_at_last"), [(1, True), (2, False)])
def test_a_list_that_expired_is_read_once_more(reading: Reading, times: int, read_at_last: bool) -> None:
    left = [times]

    def script(path: str, parameters: dict[str, str]) -> Answer:
        if path != "/api/v1/pods":
            return discovery(path) or said({"items": []})
        if "continue" in parameters and left[0]:
            left[0] -= 1
            return 410, b'{"message": "too old"}'
        following = {} if "continue" in parameters else {"continue": "x"}
        return said({"metadata": following, "items": [{"metadata": {"name": "p"}}]})

    with Scripted(script) as server:
        snapshot = reading(server, ("pods",))
    assert (len(snapshot.kinds.get("pods", ())) == 2) is read_at_last
    assert (snapshot.reason("pods") is None) is read_at_last


def test_a_list_that_never_ends_is_given_up(reading: Reading) -> None:
    with Scripted(lists(pods=said({"metadata": {"continue": "same"}, "items": []}))) as server:
        assert reading(server).unread["pods"].why is Why.MALFORMED


def test_a_busy_server_is_asked_again(reading: Reading) -> None:
    left = [2]

    def script(path: str, _: dict[str, str]) -> Answer:
        if path == "/api/v1/pods" and left[0]:
            left[0] -= 1
            return 429, b"{}", {"Retry-After": "1"}
        return discovery(path) or said({"items": []})

    with Scripted(script) as server:
        assert reading(server).kinds["pods"] == ()


def test_a_missing_right_names_what_was_refused(reading: Reading) -> None:
    refused = 403, json.dumps({"message": 'User "x" cannot list resource "pods"'}).encode()
    with Scripted(lists(pods=refused)) as server:
        snapshot = reading(server)
    assert snapshot.unread["pods"].why is Why.FORBIDDEN
    assert snapshot.unread["pods"].what == "list pods"
    assert 'cannot list resource "pods"' in snapshot.unread["pods"].detail
    assert "nodes" in snapshot.kinds


def test_config_maps_are_asked_for_by_name_and_only_the_known_ones(reading: Reading) -> None:
    found = said({"metadata": {"name": "coredns", "namespace": "kube-system"}, "data": {"Corefile": "."}})

    def script(path: str, _: dict[str, str]) -> Answer:
        if path.endswith("/configmaps/coredns"):
            return found
        return discovery(path) or (404, b"{}")

    with Scripted(script) as server:
        snapshot = reading(server, ("configmaps",))
    assert [one["data"] for one in snapshot.kinds["configmaps"]] == [{"Corefile": "."}]
    assert "/api/v1/configmaps" not in {line.split()[1].partition("?")[0] for line in server.asked}


def test_one_namespace_limits_what_users_make_and_nothing_else(reading: Reading) -> None:
    kinds = ("nodes", "pods", "jobs.batch", "daemonsets.apps", "persistentvolumeclaims")
    with Scripted(lists(ml=said({"metadata": {"name": "ml"}}))) as server:
        snapshot = reading(server, kinds, "ml")
    assert set(snapshot.partly) == {"pods", "jobs.batch"}
    paths = {line.split()[1].partition("?")[0] for line in server.asked}
    assert {"/api/v1/namespaces/ml/pods", "/apis/batch/v1/namespaces/ml/jobs"} <= paths
    assert {"/api/v1/nodes", "/apis/apps/v1/daemonsets"} <= paths
    assert not {"/api/v1/pods", "/apis/batch/v1/jobs"} & paths


def test_a_namespace_that_does_not_exist_is_said(reading: Reading) -> None:
    with (
        Scripted(lists(nowhere=(404, b"{}"))) as server,
        pytest.raises(Problem, match="no namespace 'nowhere'"),
    ):
        reading(server, KINDS, "nowhere")


@pytest.mark.parametrize("name", ["kube-system/secrets?x=", "../x", "a b", "", "A", "a" * 64, "a\n"])
def test_a_name_that_is_no_namespace_is_never_a_path(reading: Reading, name: str) -> None:
    with Scripted(lists()) as server, pytest.raises(Problem, match="cannot be the name of a namespace"):
        reading(server, KINDS, name)
    assert server.asked == []


def test_an_answer_that_was_cut_once_is_asked_for_again(reading: Reading) -> None:
    left = [1]

    def script(path: str, _: dict[str, str]) -> Answer:
        if path == "/api/v1/pods" and left[0]:
            left[0] -= 1
            return cut
        return discovery(path) or said({"items": []})

    with Scripted(script) as server:
        assert reading(server, ("pods",)).kinds["pods"] == ()


def test_a_server_may_stand_below_a_path(tmp_path: Path) -> None:
    def script(path: str, _: dict[str, str]) -> Answer:
        assert path.startswith("/k8s/clusters/c1/")
        return discovery(path.removeprefix("/k8s/clusters/c1")) or said({"items": []})

    with Scripted(script) as server:
        file = tmp_path / "config"
        file.write_text(kubeconfig(f"{server.url}/k8s/clusters/c1/", user={}), "utf-8")
        assert read(access(file), ("pods",), None, QUICK).kinds["pods"] == ()


def test_the_time_is_the_servers(reading: Reading) -> None:
    told = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5)
    dated = (*said({"items": []}), {"Date": format_datetime(told, usegmt=True)})
    with Scripted(lists(pods=dated)) as server:
        snapshot = reading(server, ("pods",))
    assert snapshot.taken == told
    assert snapshot.source == f"context it, {server.url}"


@pytest.mark.parametrize("year", [1970, 2020, 9999])
def test_a_server_whose_clock_is_absurd_is_not_believed_and_told(reading: Reading, year: int) -> None:
    """What a proxy or a broken clock says would make every age wrong."""
    dated = (*said({"items": []}), {"Date": format_datetime(datetime(year, 5, 1, tzinfo=UTC), usegmt=True)})
    with Scripted(lists(pods=dated)) as server:
        snapshot = reading(server, ("pods",))
    assert abs(snapshot.taken - datetime.now(UTC)) < timedelta(hours=1)
    assert f"whose clock says {year}-05-01" in snapshot.source


def test_a_server_that_is_not_there_is_one_clear_line(reading: Reading) -> None:
    with Scripted(lists()) as server:
        pass
    with pytest.raises(Problem, match=r"cannot read http://127\.0\.0\.1:\d+: .*refused"):
        reading(server)


def test_credentials_that_no_longer_hold_are_one_clear_line(reading: Reading) -> None:
    refusal = pytest.raises(Problem, match=r"does not accept the credentials \(401 .*log in again")
    with Scripted(lambda path, _: (401, b'{"message": "Unauthorized"}')) as server, refusal:
        reading(server)


def silent(connection: socket.socket) -> None:
    """Say nothing until the client gives up."""
    connection.settimeout(10)
    connection.recv(1)


def trickle(connection: socket.socket) -> None:
    """Send a header, then a byte at a time without end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n{")
    while True:
        connection.sendall(b" ")
        connection.settimeout(0.05)
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue


def head_trickle(connection: socket.socket) -> None:
    """Begin a header line that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        connection.sendall(b"x")
        connection.settimeout(0.05)
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue


def cut(connection: socket.socket) -> None:
    """Promise more than comes."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"items": [')


def endless(connection: socket.socket) -> None:
    """Send one line without end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    while True:
        connection.sendall(piece)


def garbage(connection: socket.socket) -> None:
    """Answer in no protocol at all."""
    connection.sendall(b"\x00\xff\xfe not http\r\n\r\n")


BOMB = gzip.compress(b" " * (50 << 20))
HOSTILE: dict[str, tuple[Answer, set[Why]]] = {
    "silent": (silent, {Why.TIMEOUT}),
    "trickle": (trickle, {Why.TIMEOUT}),
    "head-trickle": (head_trickle, {Why.TIMEOUT}),
    "cut": (cut, {Why.FAILED}),
    "endless": (endless, {Why.TOO_LARGE}),
    "garbage": (garbage, {Why.FAILED}),
    "500": ((500, b"<html>oops"), {Why.FAILED}),
    "401": ((401, b'{"message": "Unauthorized"}'), {Why.FAILED}),
    "redirect": ((302, b"", {"Location": "http://127.0.0.1:1/"}), {Why.FAILED}),
    "no-json": ((200, b"<html>login</html>"), {Why.MALFORMED}),
    "no-list": ((200, b"[]"), {Why.MALFORMED}),
    "no-items": ((200, b"{}"), {Why.MALFORMED}),
    "items-null": ((200, b'{"metadata": {}, "items": 3}'), {Why.MALFORMED}),
    "items-numbers": ((200, b'{"metadata": {}, "items": [1, null]}'), {Why.MALFORMED}),
    "deep": ((200, b'{"metadata":{},"items":[{"spec":' + b"[" * 400_000), {Why.MALFORMED}),
    "deep-closed": (
        (200, b'{"metadata":{},"items":[{"spec":' + b"[" * 9000 + b"]" * 9000 + b"}]}"),
        {Why.MALFORMED},
    ),
    "bomb": ((200, BOMB, {"Content-Encoding": "gzip"}), {Why.TOO_LARGE}),
    "damaged-gzip": ((200, b"\x1f\x8bnothing", {"Content-Encoding": "gzip"}), {Why.MALFORMED}),
    "other-packing": ((200, b"x", {"Content-Encoding": "br"}), {Why.MALFORMED}),
    "long-token": ((200, b'{"metadata":{"continue":"' + b"x" * 200_000 + b'"},"items":[]}'), {Why.FAILED}),
    "not-utf8": ((200, b'{"metadata":{},"items":[{"a":"\xff"}]}'), {Why.MALFORMED}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_list_is_a_reason_and_the_others_are_read(reading: Reading, what: str) -> None:
    answer, whys = HOSTILE[what]
    with Scripted(lists(pods=answer)) as server:
        snapshot = reading(server)
    unread = snapshot.unread["pods"]
    assert unread.why in whys, unread
    assert unread.what == "list pods"
    assert len(unread.detail) <= 200
    assert {"nodes", "jobs.batch"} <= snapshot.kinds.keys()


@pytest.mark.parametrize("what", sorted(HOSTILE.keys() - {"401"}))
def test_hostile_discovery_is_a_reason_for_each_kind(reading: Reading, what: str) -> None:
    answer, _ = HOSTILE[what]

    def script(path: str, _: dict[str, str]) -> Answer:
        return answer if path == "/apis" else discovery(path) or said({"items": []})

    with Scripted(script) as server:
        snapshot = reading(server)
    assert snapshot.kinds.keys() | snapshot.unread.keys() == set(KINDS)


def test_what_is_packed_is_unpacked(reading: Reading) -> None:
    packed = gzip.compress(json.dumps({"items": [{"metadata": {"name": "a"}}]}).encode())
    with Scripted(lists(pods=(200, packed, {"Content-Encoding": "gzip"}))) as server:
        assert len(reading(server).kinds["pods"]) == 1
    assert all(one["accept-encoding"] == "gzip" for one in server.headers)


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pods=ANYTHING, apis=ANYTHING, core=ANYTHING)
def test_whatever_a_server_says_each_kind_is_read_or_has_a_reason(
    reading: Reading, pods: Any, apis: Any, core: Any
) -> None:
    def script(path: str, _: dict[str, str]) -> Answer:
        said_at = {"/apis": apis, "/api/v1": core, "/version": pods}
        return said(said_at[path]) if path in said_at else said({"metadata": pods, "items": pods})

    with Scripted(script) as server:
        snapshot = reading(server)
    assert snapshot.kinds.keys() | snapshot.unread.keys() == set(KINDS)


def test_a_server_of_something_else_is_a_problem_and_no_cluster_without_gaps(reading: Reading) -> None:
    refusal = pytest.raises(Problem, match="serves no API of Kubernetes")
    with Scripted(lambda path, _: (404, b"not here")) as server, refusal:
        reading(server)
