"""Conditions that others set: what they are about, and when they surely say that something is broken."""

from __future__ import annotations

import pytest

from evenpace.collect.kubernetes.conditions import about_accelerators, bad, others

GOOD_KINDS = ("AcceleratedHardwareReady", "GPUHealthy", "gpu-ok")


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "GPUMissing",
            "GPUXIDErrors",
            "XIDErrors",
            "NVLinkStatusInactive",
            "GpuMemWatch",
            "SysLogsXIDError",
        ),
        *("SysLogsGPUFallenOff", "NVSwitchDown", "UnhealthyNvidiaDevicePlugin", "DCGMError", "EccErrors"),
    ],
)
def test_faults_of_accelerators_are_bad_when_true(kind: str) -> None:
    assert about_accelerators({"type": kind})
    assert bad({"type": kind, "status": "True"})
    assert not bad({"type": kind, "status": "False"})
    assert not bad({"type": kind, "status": "Unknown"})


@pytest.mark.parametrize("kind", GOOD_KINDS)
def test_what_should_be_true_is_bad_when_false(kind: str) -> None:
    assert about_accelerators({"type": kind})
    assert bad({"type": kind, "status": "False"})
    assert not bad({"type": kind, "status": "True"})


@pytest.mark.parametrize(
    "kind", ["GPUMaintenanceScheduled", "NVSwitchNonFatalError", "GPUClockThrottling", "gpu-check"]
)
@pytest.mark.parametrize("status", ["True", "False"])
def test_what_announces_or_may_mean_either_is_never_bad(kind: str, status: str) -> None:
    assert about_accelerators({"type": kind})
    assert not bad({"type": kind, "status": status})


@pytest.mark.parametrize(
    "kind", ["OutputReady", "InputTemperature", "KernelDeadlock", "FrequentKubeletRestart", ""]
)
def test_words_within_words_are_no_accelerators(kind: str) -> None:
    assert not about_accelerators({"type": kind})


def test_conditions_of_the_kubelet_are_left_out() -> None:
    kinds = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "KernelDeadlock")
    node = {"status": {"conditions": [{"type": kind} for kind in kinds] + [{"type": 3}]}}
    assert [one["type"] for one in others(node)] == ["KernelDeadlock"]
