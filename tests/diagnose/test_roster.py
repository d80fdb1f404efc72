from __future__ import annotations

from tests.diagnose.made import line

from evenpace.diagnose.model import Identity
from evenpace.diagnose.roster import roster_of

NCCL = "comm 0x55 rank 11 nranks 16 cudaDev 3 nvmlDev 3 busId 5e000 commId 0x9 - Init COMPLETE"


def test_what_nccl_says_of_itself_ties_rank_host_device_and_process() -> None:
    roster = roster_of([line(NCCL, printer=Identity(host="n2", pid=77, gpu="3"))])
    assert roster.world == 16
    assert roster.fill(Identity(pid=77, host="n2")).rank == 11
    assert roster.fill(Identity(rank=11)).host == "n2"


def test_what_is_ambiguous_stays_unknown() -> None:
    lines = [
        line(NCCL, printer=Identity(host="n2", pid=77)),
        line(NCCL.replace("rank 11", "rank 12"), printer=Identity(host="n2", pid=77)),
    ]
    assert roster_of(lines).fill(Identity(host="n2", pid=77)).rank is None


def test_tables_of_devices_and_of_ray_are_read() -> None:
    roster = roster_of(
        [
            line("#   Rank  1 Pid   1107 on  bench-box device  1 [0x61] NVIDIA RTX A5000"),
            line("(Trainer pid=30102) - (ip=10.3.9.41, pid=30226) world_rank=4, local_rank=0, node_rank=1"),
        ]
    )
    assert roster.fill(Identity(rank=1)) == Identity(
        rank=1, local_rank=1, host="bench-box", gpu="0x61", pid=1107
    )
    assert roster.fill(Identity(pid=30226, host="10.3.9.41")).rank == 4


def test_an_address_belongs_to_the_host_that_uses_it() -> None:
    said = line("NCCL INFO Bootstrap : Using eth0:10.3.7.63<0>", printer=Identity(host="compute-05"))
    assert roster_of([said]).host_of("10.3.7.63") == "compute-05"
