"""The native part against a mock of ProcessGroupNCCL: the same mangled names, called through real vtables.

NCCL itself was not run. Gloo, for real, is in test_workers.py.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evenpace.collect.job.rings import RingReader
from evenpace.tap import build
from evenpace.tap.inject.evenpace_tap import layout

HERE = Path(__file__).parent
needs_native = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("cc") is None,
    reason="the native part cannot be built here",
)
needs_mock = pytest.mark.skipif(shutil.which("g++") is None, reason="the mock of NCCL needs g++")
pytestmark = [needs_native, needs_mock]


def compiled(folder: Path, *flags: str) -> Path:
    library = folder / "mock.so"
    source = HERE / "native" / "mock.cpp"
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *flags, "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return library


def drive(mock: Path, ring: Path, *arguments: str, script: str = "drive_mock.py") -> str:
    library = build.native()
    assert library.path is not None, library.why_not
    command = [sys.executable, str(HERE / "scripts" / script), str(mock), str(ring), *arguments]
    env = os.environ | {"LD_PRELOAD": str(library.path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.void]:
    folder = tmp_path_factory.mktemp("mock")
    told = drive(compiled(folder), folder / "mock.1.ring")
    assert told == "binds True\nwaiting 2\nwaiting 1\ncaught 2\n"
    return RingReader(folder / "mock.1.ring").poll()


def test_each_operation_is_one_record(records: NDArray[np.void]) -> None:
    kinds = [layout.KINDS[kind] for kind in records["kind"]]
    assert kinds[:5] == [
        "all_reduce",
        "all_gather_into_tensor",
        "all_gather_into_tensor",
        "reduce_scatter",
        "all_to_all_single",
    ]
    assert kinds[5:13] == ["send", "send", "recv", "broadcast", "broadcast", "barrier", "send", "recv"]
    assert kinds[13:] == ["all_reduce", "all_reduce", "barrier"]
    assert records["bytes"].tolist() == [80, 40, 40, 160, 40, 80, 80, 80, 80, 0, 0, 80, 80, 80, 80, 0]
    assert len(set(records["group"].tolist())) == 1


def test_sequences_count_each_stream_and_restart_with_the_group(records: NDArray[np.void]) -> None:
    assert records["sequence"].tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 5, 6, 7, 2, 1, 8, 9, 0]
    assert records["peer"].tolist() == [-1, -1, -1, -1, -1, 3, 3, 3, 1, 0, -1, 3, 3, -1, -1, -1]
    point_to_point = np.flatnonzero(records["flags"] & layout.FLAG_POINT_TO_POINT)
    assert point_to_point.tolist() == [5, 6, 7, 11, 12]


def test_completion_is_what_the_watchdog_saw(records: NDArray[np.void]) -> None:
    assert np.flatnonzero(records["complete_ns"] == 0).tolist() == [14]
    assert not (records["flags"] & layout.FLAG_COMPLETION_UNKNOWN).any()
    whole = records[records["complete_ns"] != 0]
    assert (whole["complete_ns"] >= whole["enter_ns"]).all()
    assert (records["return_ns"] >= records["enter_ns"]).all()
    assert records["complete_ns"][0] > records["return_ns"][8]


def test_work_that_finished_before_the_issuing_call_returned_is_complete(records: NDArray[np.void]) -> None:
    assert records["enter_ns"][10] <= records["complete_ns"][10] <= records["return_ns"][10]


def test_failures_are_marked(records: NDArray[np.void]) -> None:
    assert np.flatnonzero(records["flags"] & layout.FLAG_FAILED).tolist() == [9, 13]


def test_waits_end_also_when_they_throw(records: NDArray[np.void]) -> None:
    assert np.flatnonzero(records["wait_enter_ns"]).tolist() == [11, 12, 13]
    assert not records["waiting"].any()


def test_a_library_that_binds_its_own_symbols_is_noticed(tmp_path: Path) -> None:
    told = drive(compiled(tmp_path, "-Wl,-Bsymbolic"), tmp_path / "mock.2.ring")
    assert told.startswith("binds False\n")
    assert RingReader(tmp_path / "mock.2.ring").poll().size == 0


def groups(folder: Path, count: int, alive: int, *flags: str) -> tuple[str, RingReader]:
    ring = folder / "mock.3.ring"
    told = drive(compiled(folder, *flags), ring, str(count), str(alive), script="many_groups.py")
    return told, RingReader(ring)


def test_a_long_job_may_make_and_destroy_any_number_of_groups(tmp_path: Path) -> None:
    _, reader = groups(tmp_path, 20_000, 0)
    assert (reader.header().head, reader.header().lost) == (2 + 2 * 20_000, 0)
    assert reader.poll()["sequence"].tolist() == [0, *[0, 1] * 20_000, 1]


def test_where_there_is_no_room_operations_are_lost_but_no_number_is_wrong(tmp_path: Path) -> None:
    _, reader = groups(tmp_path, 20_000, 20_000)
    header, records = reader.header(), reader.poll()
    assert header.lost > 2 * 3000
    assert header.head + header.lost == 2 + 2 * 20_000
    assert records["sequence"].tolist() == [0, *[0, 1] * ((header.head - 2) // 2), 1]


def test_completion_is_unknown_where_there_is_no_work(tmp_path: Path) -> None:
    _, reader = groups(tmp_path, 2, 0)
    unknown = reader.poll()["flags"] & layout.FLAG_COMPLETION_UNKNOWN
    assert np.flatnonzero(unknown).tolist() == [5]


def test_a_torch_whose_work_is_not_known_is_not_recorded_and_runs(tmp_path: Path) -> None:
    told, reader = groups(tmp_path, 4, 0, "-Dwait=wait_elsewhere")
    assert told == "records False\n"
    assert reader.poll().size == 0
