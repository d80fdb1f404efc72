"""The ring file: one page-aligned header, then fixed records. Shared by writer, native part and reader.

All integers are little-endian. Times are CLOCK_MONOTONIC nanoseconds; `wall_offset_ns` (wall clock minus
monotonic) turns them into dates. A record is valid when its `marker` is its index + 1: the writer clears the
marker, fills the record, then sets it. `head` counts records ever begun; record i lives in slot i % capacity.
"""

from __future__ import annotations

import struct

MAGIC = b"EVPTAP01"
HEADER_BYTES = 16384
RECORD_BYTES = 80
CAPACITY = 65536  # records; a power of two

# offset, struct code, of each header field. Text areas are UTF-8, NUL-terminated, and may be cut.
HEADER_FIELDS: dict[str, tuple[int, str]] = {
    "magic": (0, "8s"),
    "header_bytes": (8, "<I"),
    "record_bytes": (12, "<I"),
    "capacity": (16, "<I"),
    "tap_kind": (20, "<I"),  # TAP_NATIVE or TAP_PYTHON
    "head": (24, "<Q"),  # atomically incremented by whoever records
    "rank": (32, "<i"),  # written last: from 0 on, all that describes the worker is there
    "world_size": (36, "<i"),
    "local_rank": (40, "<i"),
    "pid": (44, "<i"),
    "state": (48, "<I"),  # STATE_*
    "exit_code": (52, "<i"),  # of STATE_EXITED; EXIT_CODE_UNKNOWN where the tap did not see it
    "wall_offset_ns": (56, "<q"),
    "heartbeat_ns": (64, "<Q"),  # by a Python thread: fresh means that the GIL is available
    "started_ns": (72, "<Q"),
    "exited_ns": (80, "<Q"),
    "lost": (88, "<Q"),  # operations seen but not recorded; the numbers of later ones are right
    "optimizer_steps": (96, "<Q"),  # global optimizer post-hook count, 0 where not available
    "stack_ns": (104, "<Q"),  # when `stack` was sampled
    "stack_changes": (112, "<Q"),  # how often the sampled stack differed from the sample before
    "pid_start_ticks": (120, "<Q"),  # field 22 of /proc/PID/stat: tells a reused pid apart
    # What evenpace.torch says of a loop that uses it; 0 in all others.
    "plan_version": (128, "<Q"),  # of the plan in force
    "plan_step": (136, "<Q"),  # from which it was
    "plan_pause_ns": (144, "<Q"),  # that training stood still for it
    "micro_batches": (152, "<Q"),  # of this worker's last step
    "micro_batch_ns": (160, "<Q"),  # median own time of one of them, over the latest steps
    "loop_step": (168, "<Q"),  # steps that the loop has begun
}
NODE_AREA = (256, 256)  # offset, bytes
MESSAGE_AREA = (512, 1024)  # why the tap is degraded, if it is
EXCEPTION_AREA = (1536, 6144)  # "TypeName: message\n" then the traceback's tail, at an uncaught exception
STACK_AREA = (7680, 8192)  # main thread: innermost frame first, one "file:line:function" a line

TAP_NATIVE, TAP_PYTHON = 1, 2
STATE_RUNNING, STATE_EXITED, STATE_EXCEPTION = 1, 2, 3  # EXITED: the interpreter shut down in order
EXIT_CODE_UNKNOWN = -1  # it ended by `raise SystemExit(...)`, say, and not through sys.exit

# One record. A time of 0 means "not yet".
RECORD_FIELDS: tuple[tuple[str, str], ...] = (
    ("marker", "<u8"),
    ("enter_ns", "<u8"),  # the issuing call began
    ("return_ns", "<u8"),  # the issuing call returned
    ("complete_ns", "<u8"),  # the operation completed (Gloo: Work::finish; NCCL: seen by the watchdog)
    ("wait_enter_ns", "<u8"),  # when the host last began to block on it in Work::wait; kept after the wait
    ("wait_ns", "<u8"),  # total time that the host was blocked in Work::wait on it, finished waits only
    ("bytes", "<u8"),
    ("group", "<u8"),  # key of the process group: see the .groups file
    ("sequence", "<u4"),  # per group for collectives; per group, peer and direction for send and recv; from 0
    ("peer", "<i4"),  # group rank of the peer or root, -1 where there is none
    ("kind", "u1"),  # index into KINDS
    ("flags", "u1"),  # FLAG_*
    ("waiting", "<u2"),  # 1 while the host is blocked in Work::wait on it
    ("thread", "<u4"),
)
FLAG_POINT_TO_POINT = 1
FLAG_FAILED = 2  # completed with an error
FLAG_COMPLETION_UNKNOWN = 4  # whether it has completed will never be known: no evidence of a stall

KINDS = (
    "unknown",
    "broadcast",
    "all_reduce",
    "all_reduce_coalesced",
    "reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_coalesced",
    "gather",
    "scatter",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "reduce_scatter_coalesced",
    "all_to_all",
    "all_to_all_single",
    "send",
    "recv",
    "recv_any_source",
    "barrier",
    # No operations, but what a loop says by evenpace.torch:
    "work",  # what a step has to do; bytes: tokens, wait_ns: Σ length²
    "share",  # what a step was; bytes: micro-batches of this worker, wait_ns: its own time of one of them
)

# Beside PATH.ring lies PATH.groups: JSON lines {"key": group, "name": ..., "ranks": [global ranks], "ns":
# monotonic}; the last line for a key wins (a key may be reused after a group is destroyed).
GROUPS_SUFFIX = ".groups"
RING_SUFFIX = ".ring"

# The controller's word to a worker, and a worker's offers; each a JSON object, put there whole by a rename.
# PATH.probe: {"version", "step", "socket"}: pause after that optimizer step and ask at that Unix socket.
# PATH.plan, for rank 0: {"version", "counts": [micro-batches by replica]} or {"version", "positions": [by
# rank]}. PATH.offer, by rank 0, whichever it can do: {"microbatches": {"total", "least", "replicas": [[global
# ranks]]}, "positions": {"pipeline", "data", "ranks": [position by rank], "bytes": [of state, by stage],
# "micro_batches": of a pipeline in a step}}.
PROBE_SUFFIX = ".probe"
PLAN_SUFFIX = ".plan"
OFFER_SUFFIX = ".offer"


def field_struct(name: str) -> tuple[int, struct.Struct]:
    """Return a header field's offset and its struct."""
    offset, code = HEADER_FIELDS[name]
    return offset, struct.Struct(code)
