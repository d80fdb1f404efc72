"""Tell which program's format a record has."""

from __future__ import annotations

import re
from collections.abc import Iterable

import re2

from evenpace.diagnose.formats import splits
from evenpace.diagnose.model import Identity

SPLIT = "split"
_SEARCHED = 4096
_ERROR = r"(?:Error|Exception|Interrupt|SystemExit|Failure|TimeoutExpired|StopIteration|GeneratorExit|Exit)"
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (SPLIT, (splits.GATE,)),
    (
        "scheduler",
        (
            r"^\s*(?:slurmstepd(?:-[\w.-]+)?|srun|sbatch|salloc|scancel|slurmd|slurmctld|slurm_\w+): ",
            r"\bsubmitit (?:INFO|WARNING|ERROR|DEBUG)",
            r"^#SBATCH |^=>> PBS: |^TERM_(?:RUNLIMIT|MEMLIMIT|OWNER)|\bCANCELLED AT \d|^salloc: "
            r"|^Submitted batch job",
        ),
    ),
    (
        "kernel",
        (
            r"\bNVRM: |nvidia-nvswitch\d*: |nvidia-(?:uvm|nvlink|modeset|peermem)\b.*: |\bSXid \(",
            r"^(?:mlx[45]_core|pcieport|nvidia|pci|ib_core|bnxt_en|ice|i40e|nvme|EXT4-fs|XFS|EDAC|mce|perf"
            r"|AER|ACPI|IPv6|BTRFS|BUG|INFO: task|Lustre(?:Error)?|LNet(?:Error)?|nfs|NFS|docker0|usb)[ :(]",
            r"Out of memory: Kill|[Oo]om-kill(?:er)?[: ]|oom_reaper: |Memory cgroup out of memory"
            r"|invoked oom-killer",
            r"\[Hardware Error\]: |: segfault at |traps: .* general protection"
            r"|blocked for more than \d+ seconds",
        ),
    ),
    (
        "nccl",
        (
            r"\bNCCL (?:INFO|WARN|TRACE|ERROR|ABORT)\b|\bNCCL version \d",
            r"(?:NCCL|CUDA) failure \w+\.cu:|: Test failure ",
        ),
    ),
    (
        "c10d",
        (
            r"\bProcessGroup(?:NCCL|Gloo|UCC|MPI|XCCL|Wrapper)?\.(?:cpp|hpp)|\[c10d\]|\bTCPStore\b"
            r"|\bsocket\.cpp:\d",
            r"\[Rank \d+\] (?:Watchdog|NCCL|Some NCCL|To avoid|Found|Timeout|Work|Caught|Received"
            r"|Observed|Collective)",
            r"[Ww]atchdog caught collective|\[PG (?:ID )?\d+.*Rank \d+\]|To our best knowledge"
            r"|HeartbeatMonitor",
            r"finished collective #\d|Timeout at collective|^\s*(?:what\(\):.*)?NCCL watchdog"
            r"|FlightRecorder\.",
            r"^frame #\d+: c10d::|^Not all ranks joining collective|^missing ranks: |^group info: \d",
        ),
    ),
    (
        "nccl-2",
        (
            r"\bnccl(?:SystemError|InternalError|InvalidUsage|InvalidArgument|RemoteError"
            r"|UnhandledCudaError|InProgress)\b",
            r"^(?:[\w./-]+:)?\s*(?:INFO|WARN)? ?NET/(?:IB|Socket|OFI|Plugin|UCX|FastSocket)\b",
            r"^(?:\w+/)?\w+\.(?:cc|cu|h):\d+ (?:NCCL )?(?:WARN|INFO|-> \d)|^#?\s*(?:Rank +\d+ +(?:Group"
            r"|Pid)|nThread \d|Using devices)",
        ),
    ),
    (
        "launcher",
        (
            r"torch[./]distributed[./](?:run|elastic|launch|launcher)\b|\btorchrun\b"
            r"|Root Cause \(first observed",
            r"^\s*(?:time|host|rank|exitcode|error_file|traceback)\s*: |^\S+\.py FAILED$|^Failures:$"
            r"|<NO_OTHER_FAILURES>",
            r"\[(?:launch|runner|multinode_runner)\.py:\d+|^Setting OMP_NUM_THREADS environment",
            r"^\s*(?:mpirun|mpiexec|orterun|prterun|ORTE|PRTE|PMIX ERROR|mca_|hwloc|UCX)\b"
            r"|Primary job +terminated",
            r"MPI_ABORT was invoked|non-zero (?:exit )?(?:code|status)\b|noticed that (?:process"
            r"|the job)|MPI_FINALIZE",
            r"\baccelerate[. ](?:launch|commands)|\bdeepspeed\.launcher\b|^\((?:raylet|autoscaler)"
            r"|\braylet\b",
        ),
    ),
    (
        "kubernetes",
        (
            r"\bkubelet\b|\bnvidia\.com/gpu\b|\bdevice[ -]plugin\b|OOMKilled|UnexpectedAdmissionError"
            r"|CrashLoopBackOff",
            r"^\s*(?:\d\w*\s+|<unknown>\s+)?(?:Warning|Normal)\s+[A-Z]\w+\s+.*\b(?:pod|container|node|kubelet|image|Pod|scheduler)",
            r"^(?:Name|Namespace|Node|Priority|Labels|Annotations|Status|Reason|Message|Start Time"
            r"|Events|QoS Class):\s",
            r"^\s+(?:State|Last State|Reason|Exit Code|Restart Count|Ready|Started|Finished|Image"
            r"|Container ID):\s",
            r"^[EWIF]\d{4} [\d:.]+\s+\d+ \w+\.go:\d+\]|^LAST SEEN\s+TYPE",
            r"^NAME\s+READY\s+STATUS|\bImagePullBackOff|\bFailedScheduling|\bEvicted\b|StartContainer"
            r"|RunContainerError",
            r"nvidia-container-(?:cli|runtime)|OCI runtime create failed|FailedMount|MountVolume",
        ),
    ),
    (
        "progress",
        (
            r"\d%\s{0,2}[|(\x{2501}\x{2588}-\x{258f}#=>]|\d/\??\d?[\d.,kMGTiB]{0,12}\s{0,2}\[\d{1,4}:\d\d",
            r"\d[kMGT]?\s?(?:it|[a-z]{1,12})? \[\d{1,4}:\d\d[,<:\]]|[\x{2501}\x{2588}]{4}"
            r"|\[[=#>]{2,}[.\s>-]*\]",
        ),
    ),
    (
        "iteration",
        (
            r"(?i)\b(?:step|steps|iter|iters|iteration|epoch|ep|batch|batches|it|global_step|update"
            r"|updates)\b[^a-z]*\d.*"
            r"(?:\bloss\b|_loss\b|loss=|\bce\b|tok(?:ens?)?[/_ ]|samples|img|images|/s\b|tflops?|grad"
            r"|elapsed time|sec/|s/it"
            r"|\btime\b|\(t\)|throughput|perplexity|\bppl\b|\bmfu\b|\blr\b)",
            r"(?i)(?:\bloss\b|loss=|_loss).{0,4}[\d.]+.*\b(?:epoch|step|iter|iteration|lr|learning_rate"
            r"|grad_norm|time)\b",
            r"(?i)['\"](?:train_|eval_)?loss['\"]: |throughput[^:=]{0,24}[:=] ?[\d.]+"
            r"|\btokens?/s(?:ec)?\b.{0,4}\d",
            r"(?i)^\[\s*\d+(?:/\d+)?\] .*(?:loss|time: |lr)",
        ),
    ),
)
_RENAMED = {"nccl-2": "nccl"}
_ORDER = [_RENAMED.get(name, name) for name, patterns in _KINDS for _ in patterns]
_COMPLAINTS = ("Error", "ERROR", "FATAL", "CRITICAL")
_COMPLAINT = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|[A-Z]\w{0,40}Error)\b")
_TRACE = re.compile(
    r"\s{0,8}(?:(?:Original )?Traceback \(most recent call last\):|During handling of the above exception"
    r"|The above exception was the direct cause)"
    r"|.{0,400}?\bFile \"[^\"]{1,1000}\", line \d{1,9}(?:, in |$)"
)
_NAME = r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]?\w{0,80}?"
_RAISED = re.compile(r"(?!nccl)" + _NAME + _ERROR + r"(?:\([A-Za-z.]{1,80}\))?(?:: |:?\s{0,8}$)")
_ANY_RAISED = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,80}(?:: |:?\s{0,8}$)")


def _compiled() -> re2.Set:
    options = re2.Options()
    options.max_mem = 64 << 20
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    for _, patterns in _KINDS:
        for pattern in patterns:
            found.Add(pattern)
    found.Compile()
    return found


_SET = _compiled()


def kinds(text: str) -> list[str]:
    """Return the formats that a text has marks of, the most telling first; `split`: it may be several."""
    return [_ORDER[number] for number in sorted(_SET.Match(text[:_SEARCHED]) or ())]


def best(found: Iterable[str]) -> str:
    """Return the format to give to a record."""
    return next((name for name in found if name != SPLIT), "plain")


def is_complaint(text: str) -> bool:
    """Tell whether a record is an error rather than a line of iteration."""
    return any(word in text for word in _COMPLAINTS) and _COMPLAINT.search(text, 0, 400) is not None


class Tracebacks:
    """Follow the tracebacks of several processes, whose lines may be mixed."""

    def __init__(self) -> None:
        self._open: set[Identity] = set()

    def holds(self, key: Identity, body: str) -> bool:
        """Tell whether a line of the process `key` belongs to a traceback."""
        is_open = key in self._open
        may_begin = 'File "' in body or "Traceback" in body or "bove exception" in body
        if may_begin and _TRACE.match(body):
            self._open.add(key)
            return True
        if is_open and (body.startswith("  ") or not body.strip()):
            return True
        self._open.discard(key)
        return (_ANY_RAISED if is_open else _RAISED).match(body) is not None
