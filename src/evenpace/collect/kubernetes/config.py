"""Find which cluster is meant and with whose credentials: kubectl's, else those of the pod that this is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evenpace.collect.kubernetes.fields import Object, dig, items, strings, table, text
from evenpace.errors import Problem

LARGEST = 4 << 20  # bytes of a kubeconfig
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}


@dataclass(frozen=True, slots=True)
class Access:
    """Hold how to reach one cluster: `config` is lightkube's SingleConfig, the rest is what it leaves out.

    `plug_in` is the user's `exec`, which is still to be asked for his credentials.
    """

    name: str
    config: Any = field(repr=False)
    proxy: str | None = None
    tls_name: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    plug_in: Object = field(default_factory=dict, repr=False)


def configured(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this user or pod has a cluster of Kubernetes at hand."""
    return bool(_existing(_paths(None, environ))) or _in_cluster(environ, ACCOUNT)


def access(
    kubeconfig: Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    account: Path = ACCOUNT,
) -> Access:
    """Return how to reach the cluster of `context`, the current one where none is named; raises Problem."""
    paths = _paths(kubeconfig, environ)
    found = _existing(paths)
    if not found and kubeconfig is None and context is None and _in_cluster(environ, account):
        return _own(account)
    if not found:
        named = ", ".join(map(str, paths))
        raise Problem(
            f"there is no kubeconfig at {named}; name one by --kubeconfig, or audit a dump by --from"
        )
    documents = [_document(path) for path in found]
    return _chosen(documents, context, ", ".join(map(str, found)))


def _paths(kubeconfig: Path | None, environ: Mapping[str, str]) -> list[Path]:
    if kubeconfig is not None:
        return [kubeconfig]
    named = [Path(one).expanduser() for one in environ.get("KUBECONFIG", "").split(os.pathsep) if one]
    return named or [Path("~/.kube/config").expanduser()]


def _existing(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.exists()]


def _in_cluster(environ: Mapping[str, str], account: Path) -> bool:
    return "KUBERNETES_SERVICE_HOST" in environ and (account / "token").exists()


def _own(account: Path) -> Access:
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.core.exceptions import ConfigError

    try:
        config = KubeConfig.from_service_account(account).get()
    except (ConfigError, OSError, LookupError, ValueError) as error:
        raise Problem(f"cannot read the service account in {account}: {error}") from error
    return Access("in-cluster", config)


def _document(path: Path) -> Object:
    """Return a kubeconfig whose files are named from the root, as each is relative to its own."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise Problem(f"{path} is larger than {LARGEST >> 20} MiB")
        document = yaml.load(raw, Loader=yaml.CSafeLoader)
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Problem(f"{path} is no kubeconfig: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(document, Mapping):
        raise Problem(f"{path} is no kubeconfig")
    folder = path.absolute().parent
    return {
        **document,
        **{f"{part}s": list(_entries(document, part, folder)) for part in ("context", "cluster", "user")},
    }


def _entries(document: Object, part: str, folder: Path) -> Iterator[Object]:
    for entry in items(document, f"{part}s"):
        body = dict(table(entry, part))
        body |= {key: str(folder / body[key]) for key in _FILES.get(part, ()) if text(body, key)}
        command = text(body, "exec", "command")
        if "/" in command:
            body["exec"] = {**body["exec"], "command": str(folder / command)}
        yield {"name": text(entry, "name"), part: body}


def _chosen(documents: list[Object], context: str | None, where: str) -> Access:
    named = context or next((one for d in documents if (one := text(d, "current-context"))), "")
    if not named:
        raise Problem(f"{where} names no current context; choose one by --context")
    chosen = _named(documents, "context", named)
    if chosen is None:
        known = ", ".join(text(one, "name") for d in documents for one in items(d, "contexts"))
        raise Problem(f"there is no context {named!r} in {where}; there are: {known or 'none'}")
    cluster = _named(documents, "cluster", text(chosen, "cluster"))
    if cluster is None:
        raise Problem(f"the context {named!r} in {where} names a cluster that is not there")
    user = _named(documents, "user", text(chosen, "user")) or {}
    try:
        config = _config(named, cluster, user)
    except (msgspec.ValidationError, TypeError, LookupError) as error:
        raise Problem(f"the context {named!r} in {where} cannot be used: {str(error)[:200]}") from error
    return Access(
        named,
        config,
        text(cluster, "proxy-url") or None,
        text(cluster, "tls-server-name") or None,
        _acting_as(user, named),
        {} if text(user, "token") or text(user, "tokenFile") else table(user, "exec"),
    )


def _named(documents: list[Object], part: str, name: str) -> Object | None:
    """Return the first entry of that name: the first file that has it wins."""
    entries = (one for document in documents for one in items(document, f"{part}s"))
    return next((table(one, part) for one in entries if text(one, "name") == name), None)


def _config(named: str, cluster: Object, user: Object) -> Any:
    from lightkube.config.kubeconfig import KubeConfig

    return KubeConfig.from_dict(
        {
            "contexts": [{"name": named, "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": _usable(user)}],
        }
    ).get(named)


def _usable(user: Object) -> dict[str, Any]:
    """Return a user as the loader knows them: the token that an OIDC login left, and no plug-in to run."""
    found = {key: value for key, value in user.items() if key != "exec"}
    token = text(user, "auth-provider", "config", "id-token")
    if token and not text(user, "token"):
        found["token"] = token
    return found


def _acting_as(user: Object, named: str) -> dict[str, str]:
    """Return the headers that let another act; raises Problem for what one header a name cannot say."""
    groups = strings(user, "as-groups")
    if len(groups) > 1 or dig(user, "as-user-extra"):
        raise Problem(f"the context {named!r} acts as another with several groups; use one of his own")
    headers = {"Impersonate-User": text(user, "as"), "Impersonate-Group": "".join(groups)}
    return {key: value for key, value in headers.items() if value}
