"""A job that really cannot start: a setting, which is nobody's fault."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

import pytest
from tests.diagnose.real.job import PROGRAMS, Job, Said, free_port, torchrun

pytestmark = pytest.mark.torch

Ask = Callable[..., Said]


def test_a_port_in_use(job: Job, said: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        options = ("--nnodes=1", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}")
        answer = said(job.run(torchrun("train.py", options=options)))
    assert answer.faults == ["launch-rendezvous"]
    assert answer.named == []
    assert str(port) in answer.text


def test_a_store_that_nobody_serves(job: Job, said: Ask) -> None:
    port = free_port()
    answer = said(job.run([sys.executable, str(PROGRAMS / "store.py"), str(port)]))
    assert answer.faults == ["launch-rendezvous"]
    assert answer.named == []


def test_a_rendezvous_that_nobody_hosts(job: Job, said: Ask) -> None:
    endpoint = f"127.0.0.1:{free_port()}"
    waits = "is_host=0,timeout=2,read_timeout=2,join_timeout=2"
    options = ("--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", f"--rdzv-conf={waits}")
    answer = said(job.run(torchrun("train.py", options=options)))
    assert answer.faults == ["launch-rendezvous"]
    assert answer.named == []
    assert endpoint in answer.text


def test_an_interface_that_does_not_exist(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("train.py", ranks=2), env={"GLOO_SOCKET_IFNAME": "nosuch0"}))
    assert answer.faults == ["network-config"]
    assert answer.named == []
    assert "GLOO_SOCKET_IFNAME" in answer.text
