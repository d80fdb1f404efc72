from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evenpace.collect.job.rings import Group, read_groups
from evenpace.tap.inject.evenpace_tap.groups import Groups


class FakeGroup:
    def __init__(self, name: str, **backends: int) -> None:
        self.group_name = name
        self._backends = backends

    def _backend_id(self, kind: str) -> int:
        if kind not in self._backends:
            raise RuntimeError("no such backend")
        return self._backends[kind]


def distributed(ranks: dict[Any, dict[int, int]]) -> Any:
    members = {"GLOO": "GLOO", "NCCL": "NCCL", "CUSTOM": "CUSTOM"}
    backend_type = SimpleNamespace(__members__=members)
    return SimpleNamespace(
        ProcessGroup=SimpleNamespace(BackendType=backend_type), _world=SimpleNamespace(pg_group_ranks=ranks)
    )


def test_groups_are_published_once_in_order_of_group_rank(tmp_path: Path) -> None:
    ranks: dict[Any, dict[int, int]] = {FakeGroup("0", GLOO=16, NCCL=32): {0: 0, 1: 1}}
    groups = Groups(distributed(ranks), str(tmp_path / "n.1.ring"), lambda key: True)
    groups.publish()
    ranks[FakeGroup("tp", NCCL=48)] = {3: 1, 7: 0}
    groups.publish()
    groups.publish()
    path = tmp_path / "n.1.groups"
    assert len(path.read_text().splitlines()) == 3
    assert read_groups(path) == {16: Group("0", (0, 1)), 32: Group("0", (0, 1)), 48: Group("tp", (7, 3))}
    assert groups.unseen == []


def test_a_key_that_is_used_again_is_published_again(tmp_path: Path) -> None:
    ranks: dict[Any, dict[int, int]] = {FakeGroup("0", GLOO=16): {0: 0, 1: 1}}
    groups = Groups(distributed(ranks), str(tmp_path / "n.1.ring"), lambda key: True)
    groups.publish()
    ranks.clear()
    ranks[FakeGroup("0", GLOO=16)] = {0: 0}
    groups.publish()
    assert read_groups(tmp_path / "n.1.groups") == {16: Group("0", (0,))}


def test_groups_without_this_worker_keep_none_from_being_published(tmp_path: Path) -> None:
    ranks: dict[Any, dict[int, int]] = {-100: {4: 0, 5: 1}, FakeGroup("1", GLOO=16): {0: 0, 1: 1}}
    groups = Groups(distributed(ranks), str(tmp_path / "n.1.ring"), lambda key: True)
    groups.publish()
    assert read_groups(tmp_path / "n.1.groups") == {16: Group("1", (0, 1))}


def test_backends_out_of_sight_are_named(tmp_path: Path) -> None:
    ranks = {FakeGroup("0", GLOO=16, CUSTOM=64): {0: 0}}
    groups = Groups(distributed(ranks), str(tmp_path / "n.1.ring"), lambda key: key == 16)
    groups.publish()
    assert groups.unseen == ["0"]


def test_what_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    groups = Groups(
        distributed({FakeGroup("0", GLOO=16): {0: 0}}), str(tmp_path / "no/n.1.ring"), lambda key: True
    )
    groups.publish()
    (tmp_path / "no").mkdir()
    groups.publish()
    assert read_groups(tmp_path / "no" / "n.1.groups") == {16: Group("0", (0,))}
