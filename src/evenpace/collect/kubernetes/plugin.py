"""Ask a kubeconfig's credential plug-in, once, for a token or a certificate; with limits of time and size.

It is the user's own program, run as kubectl runs it: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from evenpace.collect import pipes
from evenpace.collect.kubernetes.config import Access
from evenpace.collect.kubernetes.fields import Object, dig, text
from evenpace.errors import Problem

LONGEST = 30.0  # seconds
LARGEST = 1 << 20  # bytes of what it prints
_TOLD = 200  # characters of an error that are told
_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_WRONG = (msgspec.ValidationError, msgspec.DecodeError, ValueError, RecursionError)


class _Variable(msgspec.Struct):
    name: str
    value: str


class _Exec(msgspec.Struct):
    """What a kubeconfig says of a plug-in."""

    api_version: str = msgspec.field(name="apiVersion")
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    hint: str | None = msgspec.field(name="installHint", default=None)
    mode: str | None = msgspec.field(name="interactiveMode", default=None)


@dataclass(frozen=True, slots=True)
class Credential:
    """Hold what a plug-in gave: a token, a certificate with its key (PEM), or both."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


def signed_in(access: Access, limit: float = LONGEST, environ: Mapping[str, str] = os.environ) -> Access:
    """Return `access` with the credentials that its plug-in gives, if it has one.

    `limit` in seconds, at most LONGEST. Raises Problem, which names the plug-in and what to do.
    """
    if not access.plug_in:
        return access
    try:
        found = _asked(access.plug_in, min(limit, LONGEST), environ)
    except _Failed as failed:
        named = f"the credential plug-in {text(access.plug_in, 'command')!r} of the context {access.name!r}"
        raise Problem(
            f"{named} {failed}; see that `kubectl --context {access.name} get --raw /version` answers,"
            " then audit again"
        ) from failed
    user = access.config.user
    given = {
        "token": found.token or None,
        "client_cert_data": _packed(found.certificate) or user.client_cert_data,
        "client_key_data": _packed(found.key) or user.client_key_data,
    }
    config = access.config._replace(user=msgspec.structs.replace(user, **given))
    return replace(access, config=config, plug_in={})


def _packed(pem: str) -> str | None:
    return base64.b64encode(pem.encode()).decode() or None


class _Failed(Exception):
    pass


def _asked(plug_in: Object, limit: float, environ: Mapping[str, str]) -> Credential:
    try:
        known = msgspec.convert(plug_in, _Exec)
    except _WRONG as error:
        raise _Failed(f"is not well described: {error}") from error
    if known.api_version not in _VERSIONS:
        raise _Failed(f"speaks {known.api_version[:_TOLD]!r}, not one of {', '.join(_VERSIONS)}")
    if known.mode == "Always":
        raise _Failed("wants to be answered by somebody (interactiveMode: Always)")
    return _credential(_run(known, limit, environ))


def _run(known: _Exec, limit: float, environ: Mapping[str, str]) -> bytes:
    """Return what the plug-in prints; raises _Failed."""
    asked = {"kind": "ExecCredential", "apiVersion": known.api_version, "spec": {"interactive": False}}
    own = {one.name: one.value for one in known.env or ()}
    told = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(asked).decode()}
    try:
        process = subprocess.Popen(
            (known.command, *(known.args or ())),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environ, **own, **told},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a null character
        hint = " ".join((known.hint or "").split())[:_TOLD]
        raise _Failed(f"cannot be run: {error}{'; ' if hint else ''}{hint}") from error
    return _answer(process, limit, time.monotonic)


def _answer(process: subprocess.Popen[bytes], limit: float, clock: Callable[[], float]) -> bytes:
    end = clock() + limit
    with process:
        try:
            output, errors = pipes.both(process.stdout, process.stderr, end, LARGEST, clock)
            code = process.wait(max(0.0, end - clock()))
        except (pipes.Late, subprocess.TimeoutExpired):
            raise _Failed(f"did not end within {limit:g} s") from None
        except pipes.TooLarge:
            raise _Failed(f"printed more than {LARGEST >> 20} MiB") from None
        finally:
            if process.poll() is None:  # then its number is still its own
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # the plug-in that was started here, and what it started
    if code != 0:
        raise _Failed(f"ended with {code}: {pipes.said(errors)[-_TOLD:]}".rstrip(": "))
    return output


def _credential(output: bytes) -> Credential:
    """Return what an ExecCredential holds; raises _Failed."""
    try:
        status = dig(msgspec.json.decode(output), "status")
    except _WRONG as error:
        raise _Failed(f"printed no JSON: {error}") from error
    found = Credential(
        text(status, "token"), text(status, "clientCertificateData"), text(status, "clientKeyData")
    )
    if bool(found.certificate) != bool(found.key) or not (found.token or found.certificate):
        raise _Failed("printed no ExecCredential with a token, or with a certificate and its key")
    return found
