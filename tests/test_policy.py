"""Which modules may start processes, send signals, write, delete, run code or reach the network: by their source.

A module that does one of these for the first time fails here, and has to be thought about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gate

ROOT = Path(next(iter(gate.__path__))).parent
MODULES = sorted(path for folder in ("gate", "checks") for path in (ROOT / folder).rglob("*.py"))

START, SIGNAL, WRITE, DELETE, CODE = "starts processes", "sends signals", "writes", "deletes", "runs code"

MAY = {
    "gate/__main__.py": {WRITE},  # opens /dev/null for closed streams
    "gate/commands/run.py": {CODE},  # the module of a form of output, by its name
    "gate/commands/usage.py": {CODE},  # a command's own module, by its name
    "gate/detach.py": {START},  # the gate's own detached process
    "gate/files.py": {SIGNAL, WRITE, DELETE},  # the state, exports for a client; signal 0 asks whether a writer lives
    "gate/liveness.py": {SIGNAL},  # signal 0
    "gate/marker.py": {WRITE},
    "gate/output/console.py": {WRITE},  # standard output, under another encoding
    "gate/own_checks.py": {CODE},  # the user's own checks, and the project's that are trusted
    "gate/pruning.py": {DELETE},  # what the state keeps of projects that are gone
    "gate/registry.py": {CODE},  # the built-in checks, by their names
    "gate/scaffold/writing.py": {WRITE, DELETE},  # `gate new`, and only what it made
    "gate/silent.py": {CODE, WRITE},  # its own modules, by their names; /dev/null
    "gate/testing.py": {START, WRITE},  # the test kit
    "gate/wiring/client_diagnosis.py": {START},  # `gate doctor` tries the installed lines
    "gate/wiring/codex_hooks.py": {START, SIGNAL},  # Codex, asked by `gate doctor`, and ended where it does not answer
    "gate/wiring/settings_file.py": {WRITE, DELETE},  # `gate install`
    "gate/world/child.py": {START, SIGNAL},  # git, and what it started
}

_CALLS = {
    START: {
        "subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_output", "subprocess.check_call",
        "os.fork", "os.forkpty", "os.system", "os.popen", "os.posix_spawn", "os.posix_spawnp", "os.startfile",
        "pty.fork",
    },
    SIGNAL: {"os.kill", "os.killpg", "signal.pthread_kill", "signal.raise_signal", "signal.pidfd_send_signal"},
    WRITE: {
        "os.replace", "os.rename", "os.renames", "os.mkdir", "os.makedirs", "os.link", "os.symlink", "os.truncate",
        "os.ftruncate", "os.chmod", "os.fchmod", "os.chown", "os.fchown", "os.utime", "os.mknod", "os.mkfifo",
        "os.setxattr",
    },
    DELETE: {"os.unlink", "os.remove", "os.rmdir", "os.removedirs"},
    CODE: {"exec", "eval", "compile", "__import__", "importlib.import_module", "runpy.run_path", "runpy.run_module"},
}  # fmt: skip
_METHODS = {
    SIGNAL: {"terminate", "send_signal"},
    WRITE: {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"},
    DELETE: {"rmtree", "rmdir_all"},
}
_FORBIDDEN_IMPORTS = {
    "ctypes", "ftplib", "http", "marshal", "multiprocessing", "pickle", "requests", "shelve", "smtplib", "socket",
    "socketserver", "telnetlib", "urllib", "webbrowser", "xmlrpc", "yaml",
}  # fmt: skip


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def does(tree: ast.AST) -> Iterator[str]:
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = dotted(call.func)
        for what, names in _CALLS.items():
            if name in names or (what == START and name.startswith(("os.exec", "os.spawn"))):
                yield what
        for what, methods in _METHODS.items():
            if name.rpartition(".")[2] in methods and "." in name:
                yield what
        if name in ("open", "os.fdopen", "io.open") and any(set("wax+") & set(mode) for mode in modes(call)):
            yield WRITE
        if name == "os.open" and {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"} & names_in(call, tree):
            yield WRITE


def modes(call: ast.Call) -> list[str]:
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return [mode.value for mode in given if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]


def names_in(call: ast.Call, tree: ast.AST) -> set[str]:
    """The names that an os.open's flags are made of, constants of the module among them."""
    found = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in used for t in node.targets):
            found |= {part.attr for part in ast.walk(node.value) if isinstance(part, ast.Attribute)}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_does_what_it_may_and_nothing_else(path: Path) -> None:
    tree = ast.parse(path.read_bytes())
    assert set(does(tree)) == MAY.get(str(path.relative_to(ROOT)), set())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_reaches_the_network_or_reads_code_from_data(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        allowed = {"ctypes"} if path.name == "clock.py" else set[str]()  # what macOS calls its boot
        assert not {name.partition(".")[0] for name in names} & _FORBIDDEN_IMPORTS - allowed


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent.name == "checks"], ids=lambda path: path.name)
def test_a_check_only_looks(path: Path) -> None:
    assert str(path.relative_to(ROOT)) not in MAY


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import os\nos.kill(1, 9)", {SIGNAL}),
        ("import os\nos.execve('a', [], {})", {START}),
        ("open('a', 'w')", {WRITE}),
        ("open('a', mode='r+b')", {WRITE}),
        ("open('a')", set[str]()),
        ("import os\nF = os.O_RDONLY | os.O_CREAT\nos.open('a', F)", {WRITE}),
        ("import os\nos.open('a', os.O_RDONLY)", set[str]()),
        ("process.terminate()", {SIGNAL}),
        ("Path('a').write_text('')", {WRITE}),
        ("exec(text)", {CODE}),
    ],
)
def test_the_reading_of_a_source_is_right(code: str, what: set[str]) -> None:
    assert set(does(ast.parse(code))) == what
