"""Words that Kubernetes, Slurm, operating systems and makers of hardware use: they name nobody.

They stay in a redacted snapshot where those speak, beside what the checks look for.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Conditions, phases, reasons, effects, policies: `DisruptionTarget` is two of them.
SAID = _words(
    """
    a accepted access active add added admission admitted all allow allowed allowing always and any applied
    as attach attached available back backoff balance balancer be below bind binding bound by calico call
    can cannot cant cleanup client cloud cluster completed completion condition config configured connect
    consumption container containers containing controller cordoned could crash create created creating
    critical daemon data dead deadline default delete deleted deleting deletion deny desired detach detached
    detection device disabled disk disruption dns done down drain drained driver drop duplicate ecc
    effective enabled endpoints equal equivalent error errors etcd evicted eviction exact exceeded exec
    execute exists expired external fail failed failing failure fallback fallen false fast fatal filesystem
    finished first fit for forbid forbidden forget found free frequent gang get gone gpu gt hard has healthy
    host http hugepages id ignore image images in inactive inspect internal invalid invalidated ip ipc is
    job jobs jobset kernel kill killed killing kubelet kubelets kubernetes last leader lease limit limits
    list load loop lost low lower lt manager many max maximum memory merge message met minimum missing mode
    mount mounted name net network never new no node nodes none not notready nvlink nvswitch ok on once only
    oom operation operator or orphan other out parallelism patch path pending pid pids plugin pod pods
    policy posted power preempt preempted preempting preemption prefer preferred present pressure priority
    probe problem processes progress progressing proxy pull pulled pulling queue queued quota range rate
    reached read readonly ready reason rebooted recreate recycle regenerated register registered reload
    replace replicas requested requests required reserved resize resource restart restarted restarting
    resume resumed retain retry return revision rolling route rule run running same sandbox schedule
    scheduled scheduler scheduling selector server service set shutdown single soft space spec stale start
    started starting state status stop stopped stopping storage stuck succeeded success successful
    successfully sufficient suspend suspended sync system taint tcp terminal terminated terminating
    termination time timeout to token too topology true udp unable unavailable unhealthy unknown unmet
    unmounted unreachable unready unregister unschedulable until update updated updating used user valid
    validation volume volumes wait waiting warning was watch webhook when with work workload workloads write
    written xid zone
    """
)
# Kernels, images of systems, container runtimes.
SYSTEMS = _words(
    """
    aarch64 alma almalinux amazon amd amd64 amzn apr arm arm64 aug aws azure azurelinux bookworm
    bottlerocket bullseye centos container containerd coreos cos cri debian dec docker dynamic el enterprise
    fc feb fedora flatcar focal fri from gardenlinux gcp generic gke gnu hat hwe ibm jammy jan jul jun k3s
    kernel linux lowlatency lts mar may mon noble nov nvidia o oct opensuse optimized oracle os photon
    preempt red redhat release rhel rke2 rocky rt sat sep server sles smp sun suse talos tegra thu trixie
    tue tumbleweed ubuntu utc v virtual vmware wed with x x86
    """
)
# Accelerators and machines, and what feature discovery and operators say of them.
HARDWARE = _words(
    """
    ada amd amd64 ampere arm64 blackwell cordon cuda dgx disabled done drain driver enabled epyc failed
    gaudi geforce gh grace hbm hgx hopper infiniband instinct intel jobs linux lovelace max mellanox metal
    mi mig mixed none nvidia nvl nvlink nvswitch pci pcie pod pro quadro radeon required restart rtx shared
    sharing single standard super superpod sxm tensor tesla ti tpu trainium turing ultra uncordon upgrade
    validation volta wait with x86 xeon
    """
)
_MODEL = re.compile(r"(?i)[a-z]{0,3}[0-9]{1,6}(?:[a-z]{0,3}|[0-9]{0,2}xlarge|alpha[0-9]+|beta[0-9]+)")


def model(word: str) -> bool:
    """Tell whether a word is shaped as a model, a size or a version is: `H200`, `80GB`, `48xlarge`."""
    return _MODEL.fullmatch(word) is not None
