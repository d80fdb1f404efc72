"""Promises about the whole source: who may import what, who may write, and how long is too long."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import evenpace

SOURCE = Path(evenpace.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_MODULE, MAX_FUNCTION = 500, 60

# Longer than that, each with its reason: "path" or "path:function" → why.
LONG: dict[str, str] = {}

STANDARD = sys.stdlib_module_names | {"sitecustomize", "__future__"}
WRITING_MODULES = {
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "multiprocessing",
    "urllib",
    "http",
    "ssl",
    "asyncio",
    *("zipfile", "tarfile", "ftplib", "smtplib", "xmlrpc", "webbrowser", "pty"),
    *("httpx", "httpx2", "lightkube", "requests", "aiohttp", "websockets", "paramiko"),
}
# What a check may import beside evenpace: nothing that reaches out.
PURE = {"__future__", "collections", "datetime", "ipaddress", "itertools", "math", "re", "statistics"}
WRITING_CALLS = {
    *(
        "write",
        "write_text",
        "write_bytes",
        "writelines",
        "truncate",
        "touch",
        "tofile",
        "save",
        "savez",
        "savetxt",
    ),
    *("unlink", "mkdir", "makedirs", "rmdir", "removedirs", "rename", "renames", "mkfifo", "mknod", "dump"),
    *("symlink", "symlink_to", "hardlink_to", "link", "chmod", "chown", "lchown", "utime", "setxattr"),
    *("system", "popen", "fork", "execv", "execve", "execvp", "spawnv", "posix_spawn"),
    *("kill", "killpg", "send_signal", "terminate", "suspend", "resume"),
    *("nice", "ionice", "cpu_affinity", "rlimit"),
}

OWN_REPLACE = {"self", "self._paths", "self._urls"}  # redactors, not paths


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def within(*rooms: str) -> list[Path]:
    """Return the modules of rooms, such as "tap" or "collect/job"."""
    return [path for path in MODULES if any(path.is_relative_to(SOURCE / room) for room in rooms)]


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the full name of each import, at any depth, with its line."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or "", node.lineno


def at_import(path: Path) -> Iterator[str]:
    """Yield the top-level package of each import that runs when the module is imported."""
    pending: list[ast.AST] = [tree(path)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("path", within("tap"), ids=name)
def test_tap_needs_the_standard_library_only(path: Path) -> None:
    """torch is the worker's own, and looked at only where it is already there."""
    own = {"evenpace_tap", "torch"} if "inject" in path.parts else {"evenpace"}
    assert [
        (module, line) for module, line in imports(path) if module.split(".")[0] not in STANDARD | own
    ] == []
    assert "torch" not in at_import(path)


@pytest.mark.parametrize("path", [p for p in MODULES if p not in within("tap/inject", "torch")], ids=name)
def test_torch_stays_inside_workers(path: Path) -> None:
    assert [line for module, line in imports(path) if module.split(".")[0] == "torch"] == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_untrusted_bytes_are_never_code(path: Path) -> None:
    modules = {module.split(".")[0] for module, _ in imports(path)}
    assert modules & {"pickle", "marshal", "shelve", "dill", "cloudpickle"} == set()
    assert [line for call, line in calls(path) if call in {"eval", "exec"}] == []
    shells = [n.lineno for n in ast.walk(tree(path)) if isinstance(n, ast.keyword) and n.arg == "shell"]
    assert shells == []


def calls(path: Path) -> Iterator[tuple[str, int]]:
    """Yield what is called as a bare name, with its line."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node.lineno


def writing(node: ast.Call) -> bool:
    """Tell whether a call can change the world: by its name, or by the mode it opens a file with."""
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in {"exec", "eval"} or (called.id == "open" and not reads_only(node, position=1))
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr == "open":
        return not reads_only(node, position=0)
    if called.attr == "replace":  # a path's takes one argument, a string's two, a dataclass's keywords
        return len(node.args) == 1 and not node.keywords and ast.unparse(called.value) not in OWN_REPLACE
    if called.attr == "remove":
        return of_os(called)
    starts = of_os(called) and called.attr.startswith(("exec", "spawn", "posix_spawn", "fork"))
    return starts or called.attr in WRITING_CALLS


def of_os(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "os"
    )


def reads_only(node: ast.Call, position: int) -> bool:
    """Tell whether an `open` (its mode at `position`) only reads."""
    if of_os(node.func):
        flags = {one.attr for one in ast.walk(node.args[1]) if isinstance(one, ast.Attribute)}
        return "O_RDONLY" in flags and flags <= {"O_RDONLY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"}
    modes = [k.value for k in node.keywords if k.arg == "mode"] + node.args[position : position + 1]
    return all(isinstance(m, ast.Constant) and not set(str(m.value)) & set("wax+") for m in modes)


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("open(path)", False),
        ("open(path, 'rb')", False),
        ("open(path, mode='a')", True),
        ("open(path, mode)", True),
        ("path.open()", False),
        ("path.open('r+b')", True),
        ("os.open(path, os.O_RDONLY)", False),
        ("os.open(path, os.O_RDONLY | os.O_CLOEXEC)", False),
        ("os.open(path, os.O_RDWR)", True),
        ("os.open(path, os.O_RDONLY | os.O_CREAT)", True),
        ("path.replace(other)", True),
        ("text.replace('a', 'b')", False),
        ("self.replace(text)", False),
        ("ranks.remove(3)", False),
        ("os.remove(path)", True),
        ("process.kill()", True),
        ("os.posix_spawnp('scontrol', [], {})", True),
        ("os.execl('/bin/sh', 'sh')", True),
    ],
)
def test_a_writing_call_is_recognised(code: str, writes: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert writing(call) is writes


READING = ("checks", "collect", "detect", "diagnose", "library", "mcp")
# Where the audit meets the world, and the module it needs for that; what they may send has its own tests.
DOORS = {
    "collect/kubernetes/config.py": {"lightkube"},  # reads kubeconfigs
    "collect/kubernetes/transport.py": {"ssl", "httpx2", "lightkube"},
    "collect/kubernetes/plugin.py": {"subprocess"},  # the user's own plug-in for his credentials
    "collect/slurm/commands.py": {"subprocess"},
}
# Where a module is imported by its name: our own judges and checks, found by path.
NAMED = {"checks/catalogue.py", "diagnose/engine.py"}
# A door that starts a command ends what it started itself, when its time or its size is over.
OWN_CHILD = {
    ("collect/slurm/commands.py", "process.kill"),
    ("collect/kubernetes/plugin.py", "os.killpg"),
}


@pytest.mark.parametrize("path", within(*READING), ids=name)
def test_reading_rooms_cannot_write(path: Path) -> None:
    """Rooms that read have no writing call and no module that could write."""
    allowed = DOORS.get(name(path), set())
    modules = {(module, line) for module, line in imports(path) if module.split(".")[0] in WRITING_MODULES}
    assert {(module, line) for module, line in modules if module.split(".")[0] not in allowed} == set()
    found = [
        (ast.unparse(node.func), node.lineno)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and writing(node)
    ]
    assert [(call, line) for call, line in found if (name(path), call) not in OWN_CHILD] == []
    by_name = [node.lineno for node in ast.walk(tree(path)) if imports_by_name(node)]
    assert by_name == [] or name(path) in NAMED


def imports_by_name(node: ast.AST) -> bool:
    """Tell whether a node imports what a string says, whatever that is."""
    called = node.func if isinstance(node, ast.Call) else None
    named = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return named in {"import_module", "__import__"}


@pytest.mark.parametrize("path", [p for p in within("checks") if p.name == "check.py"], ids=name)
def test_a_check_only_reckons(path: Path) -> None:
    modules = {module.split(".")[0] for module, _ in imports(path)}
    assert modules <= PURE | {"evenpace"}


def own(path: Path) -> set[Path]:
    """Return the modules of evenpace that a module imports, at any depth of its code."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    places = [SOURCE.parent / one.replace(".", "/") for one in found if one.split(".")[0] == "evenpace"]
    candidates = [place.with_suffix(".py") for place in places] + [place / "__init__.py" for place in places]
    return {candidate for candidate in candidates if candidate.exists()}


def test_no_writing_call_is_in_reach_of_the_gap_check() -> None:
    """Whatever checks/, collect/ and mcp/ import, however far away, only reads as well."""
    reached, pending = set[Path](), within("checks", "collect", "mcp")
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            pending += own(path)
    found = {
        (name(path), ast.unparse(node.func))
        for path in reached
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and writing(node)
    }
    assert found - OWN_CHILD == set()


def sizes(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (name, lines, limit) of a module and each of its functions."""
    yield name(path), len(path.read_text("utf-8").splitlines()), MAX_MODULE
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield f"{name(path)}:{node.name}", lines, MAX_FUNCTION


def test_long_ones_have_a_reason() -> None:
    long = {what: lines for path in MODULES for what, lines, limit in sizes(path) if lines > limit}
    assert {what: lines for what, lines in long.items() if what not in LONG} == {}
    assert set(LONG) <= set(long), "a reason outlived its module"


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_public_things_are_described(path: Path) -> None:
    assert path.name == "__init__.py" or ast.get_docstring(tree(path))
    assert [node.name for node in public(tree(path).body) if not ast.get_docstring(node)] == []
