from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evenpace.collect.slurm.batch import gpus, large, nodes
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Script
from evenpace.collect.snapshot import Snapshot


@pytest.mark.parametrize(
    ("options", "count", "in_all"),
    [
        ({"nodes": "4", "gpus-per-node": "8"}, 4, 32),
        ({"nodes": "2-4", "gres": "gpu:h200:8"}, 2, 16),
        ({"nodes": "4", "gpus": "h200:30"}, 4, 30),
        ({"nodes": "$N", "gres": "gpu"}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_size(options: dict[str, str], count: int, in_all: int) -> None:
    assert (nodes(options), gpus(options)) == (count, in_all)


def test_large_scripts_ask_for_gpus_on_several_nodes() -> None:
    scripts = (
        Script("job", "a.sh", "#SBATCH -N 4\n#SBATCH --gres=gpu:8\nsrun train"),
        Script("job", "b.sh", "#SBATCH -N 1\n#SBATCH --gres=gpu:8\nsrun train"),
        Script("job", "c.sh", "#SBATCH -N 4\nsrun simulate"),
        Script("Prolog", "d.sh", "#SBATCH -N 4\n#SBATCH --gres=gpu:8\n"),
    )
    slurm = Slurm(
        Snapshot("slurm", "", datetime(2026, 11, 29, tzinfo=UTC), {"scripts": scripts}), ("scripts",)
    )
    assert [script.path for script, _ in large(slurm)] == ["a.sh"]
