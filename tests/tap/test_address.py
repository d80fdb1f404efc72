"""The address on which the job's backend talks."""

from __future__ import annotations

import pytest

from evenpace.tap.inject.evenpace_tap import address

INTERFACES = {"lo": "127.0.0.1", "eth0": "10.0.0.1", "eth1": "10.0.1.1", "ib0": "10.1.0.1", "down0": ""}


@pytest.fixture(autouse=True)
def _interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*address.VARIABLES, "MASTER_ADDR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(address.socket, "if_nameindex", lambda: list(enumerate(INTERFACES)))
    monkeypatch.setattr(address, "_address_of", INTERFACES.__getitem__)


@pytest.mark.parametrize(
    ("variable", "told", "expected"),
    [
        ("GLOO_SOCKET_IFNAME", "eth1", "10.0.1.1"),
        ("GLOO_SOCKET_IFNAME", "eth1,eth0", "10.0.1.1"),
        ("NCCL_SOCKET_IFNAME", "eth", "10.0.0.1"),
        ("NCCL_SOCKET_IFNAME", "=eth1", "10.0.1.1"),
        ("NCCL_SOCKET_IFNAME", "=eth", "127.0.0.1"),
        ("NCCL_SOCKET_IFNAME", "^eth", "127.0.0.1"),
        ("NCCL_SOCKET_IFNAME", "down0,ib", "10.1.0.1"),
        ("NCCL_SOCKET_IFNAME", "nothing", "127.0.0.1"),
        ("MASTER_ADDR", "127.0.0.1", "127.0.0.1"),
        ("MASTER_ADDR", "::1", "::1"),
        ("MASTER_ADDR", "no such host", "127.0.0.1"),
    ],
)
def test_is_what_the_job_was_told(
    monkeypatch: pytest.MonkeyPatch, variable: str, told: str, expected: str
) -> None:
    monkeypatch.setenv(variable, told)
    assert address.own_address() == expected


def test_is_loopback_where_nothing_is_known() -> None:
    assert address.own_address() == "127.0.0.1"


def test_the_host_is_the_same_each_time() -> None:
    assert address.host() == address.host() != ""


def test_an_interface_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert address._address_of("lo") == "127.0.0.1"
    assert address._address_of("nothing") == ""
