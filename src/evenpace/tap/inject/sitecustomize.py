"""Start the tap in every Python process below `evenpace run`. Tiny, never raises, never imports torch."""
# No pathlib: importing it would double the start-up time of every interpreter.
# ruff: noqa: PTH100, PTH120

import os
import sys


def _chain() -> None:
    """Run the sitecustomize that would have run without us, and let its own errors be seen as ever."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = ours


def _tap():
    """Import the tap's package, which is on no path that the user's script sees."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    try:
        from evenpace_tap import hook
    finally:
        sys.path.remove(here)
    return hook


class _Finder:
    """Once, when torch.distributed.distributed_c10d has been executed, hand it to the tap."""

    def find_spec(self, name, path, target=None):
        if name != "torch.distributed.distributed_c10d":
            return None
        sys.meta_path.remove(self)
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path)
        spec = next((spec for spec in found if spec is not None), None)
        try:
            _call_after_loading(spec.loader)
        except Exception as error:
            sys.stderr.write(f"evenpace: this process is not watched: {error!r}\n")
        return spec


def _call_after_loading(loader) -> None:
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        try:
            _tap().distributed_loaded(module)
        except Exception as error:
            sys.stderr.write(f"evenpace: this process is not watched: {error!r}\n")

    loader.exec_module = exec_module


def _watch_early() -> None:
    """Record an exception that ends a worker before it has joined, but none of a process that it has started.

    Only one that joins is known to be a worker (EVENPACE_WORKER_PID): a launcher may have a RANK as well.
    """
    pid = str(os.getpid())
    if "RANK" not in os.environ or os.environ.setdefault("EVENPACE_EARLY_PID", pid) != pid:
        return
    earlier = sys.excepthook

    def excepthook(kind, value, trace):
        try:
            _tap().failed_early(kind, value, trace)
        except Exception as error:
            sys.stderr.write(f"evenpace: the exception is not recorded: {error!r}\n")
        earlier(kind, value, trace)

    sys.excepthook = excepthook


if os.environ.get("EVENPACE_RING_DIR") and os.environ.get("EVENPACE_TAP") != "off":
    sys.meta_path.insert(0, _Finder())
    _watch_early()
_chain()
