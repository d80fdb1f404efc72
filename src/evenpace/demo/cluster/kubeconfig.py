"""The kubeconfig by which clients find the emulated cluster."""

from __future__ import annotations

from pathlib import Path

import yaml


def write(path: Path, url: str) -> None:
    """Write a kubeconfig that leads to `url`, with no credential in it; raises OSError."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "demo",
        "clusters": [{"name": "demo", "cluster": {"server": url}}],
        "users": [{"name": "demo", "user": {}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo", "namespace": "ml"}}],
    }
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
