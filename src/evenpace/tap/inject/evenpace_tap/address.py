"""Where a worker is: its machine, and the address on which the job's backend talks."""

from __future__ import annotations

import array
import os
import socket
import struct

VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
LOOPBACK = "127.0.0.1"
_SIOCGIFADDR = 0x8915


def host() -> str:
    """Return a word for the machine, the same in all containers on it: the boot of its kernel."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return os.uname().nodename


def own_address() -> str:
    """Return the address of the interface that the backend was told to use, or of the way to MASTER_ADDR.

    127.0.0.1 where neither is known. May take as long as looking a name up does.
    """
    for variable in VARIABLES:
        for name in _interfaces(os.environ.get(variable, "")):
            address = _address_of(name)
            if address:
                return address
    return _towards(os.environ.get("MASTER_ADDR", "")) or LOOPBACK


def _interfaces(told: str) -> list[str]:
    """Return the interfaces that are meant: Gloo's are names; NCCL's are prefixes, or after "=" names.

    What NCCL excludes with "^" leaves the choice to it, and so tells nothing.
    """
    if told.startswith("^"):
        return []
    exact, names = told.startswith("="), [name for name in told.lstrip("=").split(",") if name]
    present = [name for _, name in socket.if_nameindex()] if names else []
    whole = [name for name in names if name in present]
    return whole + ([] if exact else [one for name in names for one in present if one.startswith(name)])


def _address_of(interface: str) -> str:
    """Return an interface's IPv4 address, empty where it has none."""
    import fcntl

    request = array.array("b", struct.pack("256s", interface.encode()[:15]))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, request)
        except OSError:
            return ""
    return socket.inet_ntoa(request.tobytes()[20:24])


def _towards(host: str) -> str:
    """Return the own address on the way to a host; nothing is sent."""
    if not host:
        return ""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect(address)
            return str(asking.getsockname()[0])
    except OSError:
        return ""
