"""The installed lines, run as a client runs them, by each shell there is: whole, moved, half deleted, killed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit import Machine, injected

import gate
from gate.clients import claude
from gate.errors import GateError
from gate.wiring.installed_line import Installation, absolute_line, shared_line, without_variables

SHELLS = [path for path in map(shutil.which, ("dash", "bash", "sh")) if path]
PAYLOAD = b'{"session_id": "s", "hook_event_name": "SessionStart"}'

ANSWER = "import sys; sys.stdout.write('{name} got ' + sys.stdin.read()); sys.stdout.flush()\n"
DIE = "import os, sys; sys.stdin.read(); sys.stdout.write('half'); sys.stdout.flush(); {how}\n"
KILLED = DIE.format(how="os.kill(os.getpid(), 9)")
FAILED = DIE.format(how="os._exit(3)")


class Tree:
    """A virtual environment, with a program of the test's in place of the gate's two entries."""

    def __init__(self, path: Path) -> None:
        venv.EnvBuilder(symlinks=True).create(path)
        self.path = path
        self.python = path / "bin" / "python"
        (self.python_lib,) = (path / "lib").glob("python*")
        self.silent = self.python_lib / "site-packages" / "gate" / "hook.py"
        self.silent.parent.mkdir()
        self.script = path / "bin" / "session-gate"
        self.put(self.silent, ANSWER.replace("{name}", "silent"))
        self.put(self.script, ANSWER.replace("{name}", "script"))

    def put(self, path: Path, code: str) -> None:
        """Make one of the entries a program; the script names this environment's interpreter, as pip writes it."""
        start = (
            f"#!/bin/sh\n'''exec' {shlex.quote(str(self.python))} \"$0\" \"$@\"\n' '''\n" if path == self.script else ""
        )
        path.write_text(start + code)
        path.chmod(0o755)

    def line(self, boundary: str = "start") -> str:
        paths = Installation(str(self.python), str(self.silent), str(self.script))
        return absolute_line(paths, boundary, "claude", "/home/you/.claude/settings.json", claude.render_start)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "venv")


def run(shell: str, line: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a line as the client does: `sh -c`, the payload on standard input, in a process session of its own."""
    return subprocess.run(
        [shell, "-c", line],
        input=PAYLOAD.decode(),
        cwd=cwd,
        env=dict(os.environ) | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )


@pytest.mark.parametrize("shell", SHELLS)
class TestAbsolute:
    def test_the_bare_interpreter_answers_and_gets_the_payload(self, shell: str, tree: Tree) -> None:
        done = run(shell, tree.line())
        assert (done.returncode, done.stdout, done.stderr) == (0, f"silent got {PAYLOAD.decode()}\n", "")

    def test_silence_stays_silence(self, shell: str, tree: Tree) -> None:
        tree.put(tree.silent, "")
        done = run(shell, tree.line())
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_what_it_says_comes_as_it_was(self, shell: str, tree: Tree) -> None:
        text = '{"a": "%s \\\\n \\u00eb $HOME `x` \'y\' *"}\n\n{ë}'
        tree.put(tree.silent, f"import sys; sys.stdout.buffer.write({text.encode()!r})")
        assert run(shell, tree.line()).stdout == text + "\n"

    def test_after_a_new_minor_version_of_python_the_script_answers(self, shell: str, tree: Tree) -> None:
        tree.python_lib.rename(tree.python_lib.with_name("python3.99"))
        done = run(shell, tree.line())
        assert (done.returncode, done.stdout, done.stderr) == (0, f"script got {PAYLOAD.decode()}\n", "")

    def test_a_deleted_environment_is_said(self, shell: str, tree: Tree) -> None:
        shutil.rmtree(tree.path)
        done = run(shell, tree.line())
        assert (done.returncode, done.stderr) == (0, "")
        text = injected(done.stdout)
        assert text.startswith(
            f"SESSION-GATE: did not run: {tree.script} cannot be started (deleted, moved or broken);"
        )
        assert "nothing was checked" in text
        assert "/home/you/.claude/settings.json" in text
        assert json.loads(done.stdout)["systemMessage"] == text

    def test_a_moved_environment_is_said(self, shell: str, tree: Tree) -> None:
        tree.path.rename(tree.path.with_name("elsewhere"))
        assert "did not run" in injected(run(shell, tree.line()).stdout)

    def test_at_an_end_it_is_one_line_for_the_log(self, shell: str, tree: Tree) -> None:
        shutil.rmtree(tree.path)
        done = run(shell, tree.line("end"))
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("SESSION-GATE: did not run: ")
        assert done.stderr.count("\n") == 1

    def test_an_interpreter_that_leads_nowhere_is_said(self, shell: str, tree: Tree) -> None:
        for path in (tree.path / "bin").glob("python*"):
            path.unlink()
        tree.python.symlink_to("/nonexistent/python")
        done = run(shell, tree.line())
        assert done.returncode == 0
        assert "did not run" in injected(done.stdout)

    def test_an_interpreter_without_the_gate_is_said(self, shell: str, tree: Tree) -> None:
        tree.silent.unlink()
        tree.script.unlink()
        done = run(shell, tree.line())
        assert (done.returncode, done.stderr) == (0, "")
        assert "did not run" in injected(done.stdout)

    def test_a_gate_that_lost_its_modules_gives_way_to_the_script(self, shell: str, tree: Tree) -> None:
        tree.put(tree.silent, "import gate_that_is_not_there\n")
        done = run(shell, tree.line())
        assert (done.returncode, done.stdout) == (0, f"script got {PAYLOAD.decode()}\n")

    def test_an_interpreter_that_cannot_start_leaves_the_payload(self, shell: str, tree: Tree) -> None:
        broken = tree.path / "broken"
        broken.write_text("#!/bin/sh\nexit 127\n")
        broken.chmod(0o755)
        paths = Installation(str(broken), str(tree.silent), str(tree.script))
        line = absolute_line(paths, "start", "claude", "/s.json", claude.render_start)
        assert run(shell, line).stdout == f"script got {PAYLOAD.decode()}\n"

    @pytest.mark.parametrize("death", [KILLED, FAILED], ids=["killed", "failed"])
    def test_half_an_answer_is_not_shown(self, shell: str, tree: Tree, death: str) -> None:
        tree.put(tree.silent, death)
        done = run(shell, tree.line())
        assert (done.returncode, done.stdout) == (0, "script got \n")
        tree.put(tree.script, death)
        done = run(shell, tree.line())
        assert done.returncode == 0
        assert "did not run" in injected(done.stdout)

    @pytest.mark.parametrize("death", [ANSWER, KILLED, FAILED], ids=["answered", "killed", "failed"])
    def test_an_end_prints_nothing_to_the_client(self, shell: str, tree: Tree, death: str) -> None:
        tree.put(tree.silent, death)
        done = run(shell, tree.line("end"))
        assert (done.returncode, done.stdout) == (0, "")

    @pytest.mark.parametrize(
        "name", ["with space", "qu'ote", 'dou"ble', "do$HOME`x`llar", "Zoë", "back\\slash", "new\nline", "-x", "*"]
    )
    def test_any_path_is_quoted(self, shell: str, tmp_path: Path, name: str) -> None:
        tree = Tree(tmp_path / name)
        assert run(shell, tree.line()).stdout.startswith("silent got {")
        tree.silent.unlink()
        assert run(shell, tree.line()).stdout.startswith("script got {")
        tree.script.unlink()
        assert "did not run" in injected(run(shell, tree.line()).stdout)
        assert run(shell, tree.line("end")).stderr.count("\n") == 1

    def test_the_environments_python_variables_do_not_reach_the_script(self, shell: str, tree: Tree) -> None:
        tree.silent.unlink()
        tree.put(tree.script, "import trap\n")
        (tree.path / "trap.py").write_text("print('from the working directory')\n")
        done = run(shell, tree.line(), cwd=tree.path, PYTHONPATH=".")
        assert "did not run" in injected(done.stdout)

    def test_a_session_is_not_made_to_wait_for_what_the_gate_leaves_at_work(self, shell: str, tree: Tree) -> None:
        seconds = f"50.{os.getpid()}"  # a name of its own among other tests' processes
        code = (
            f"from gate import detach; import os; detach.detach(['/bin/sleep', '{seconds}'], os.environ); print('done')"
        )
        root = str(Path(next(iter(gate.__path__))).parent)
        tree.put(tree.silent, f"import sys; sys.path.append({root!r})\n{code}; print(open('/proc/self/stat').read())")
        if not sys.platform.startswith("linux"):
            pytest.skip("the child is looked for in /proc")
        before = set(_sleepers(seconds))
        try:
            assert run(shell, tree.line()).stdout.startswith("done\n")
            assert set(_sleepers(seconds)) - before
        finally:
            for pid in set(_sleepers(seconds)) - before:
                os.kill(pid, 9)


def _sleepers(seconds: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"/bin/sleep\0{seconds}\0".encode():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_line_without_a_console_script_still_says_what_is_missing(tree: Tree) -> None:
    paths = Installation(str(tree.python), str(tree.silent), "")
    line = absolute_line(paths, "start", "claude", "/s.json", claude.render_start)
    assert run(SHELLS[0], line).stdout.startswith("silent got")
    tree.silent.unlink()
    assert f"did not run: {tree.python} cannot be started" in injected(run(SHELLS[0], line).stdout)


def test_a_path_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(GateError, match="not UTF-8"):
        absolute_line(Installation("/x\udcff/python", "/s", ""), "start", "claude", "/s.json", claude.render_start)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of programs outside of the project, with a `session-gate` that answers."""
    return programs(tmp_path / "programs")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    path.mkdir()
    return path


def programs(path: Path, says: str = "outside") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    program = path / "session-gate"
    program.write_text(f'#!/bin/sh\necho "{says} $*: $(/bin/cat)"\n')
    program.chmod(0o755)
    return path


Search = Callable[..., Any]


@pytest.fixture
def search(repository: Path, tmp_path: Path) -> Search:
    """Run the shared line in the project with a PATH; its standard output."""

    def run_with(shell: str, path: str, boundary: str = "start", **environ: str) -> str:
        line = shared_line(boundary, "claude", ".claude/settings.json", claude.render_start, "CLAUDE_PROJECT_DIR")
        given = {"PATH": path, "HOME": str(tmp_path / "home"), "CLAUDE_PROJECT_DIR": str(repository)} | environ
        done = run(shell, line, cwd=repository, **given)
        assert done.returncode == 0
        assert boundary == "start" or done.stdout == ""
        return done.stdout if boundary == "start" else done.stderr

    return run_with


def expanded(text: str, environ: Mapping[str, str]) -> str:
    """What Gemini CLI 0.61.0 makes of a text in its settings."""

    def value(found: re.Match[str]) -> str:
        return environ.get(found[1] or found[2], found[0] if found[3] is None else found[3])

    return re.sub(r"\$(?:(\w+)|\{([^}]+?)(?::-([^}]*))?\})", value, text)


GOT = f"outside hook start --client claude: {PAYLOAD.decode()}\n"


@pytest.mark.parametrize("shell", SHELLS)
class TestShared:
    def test_the_program_is_found_by_path(self, shell: str, search: Search, outside: Path) -> None:
        assert search(shell, f"/nonexistent:{outside}:/usr/bin") == GOT
        assert search(shell, f"/usr/bin:{outside}", "end") == ""

    def test_where_there_is_none_it_is_said(self, shell: str, search: Search) -> None:
        for path in ("/usr/bin:/bin", "", ":", "/nonexistent"):
            text = injected(search(shell, path))
            assert text.startswith(
                "SESSION-GATE: did not run: session-gate was not found in PATH outside of this project"
            )
            assert ".claude/settings.json" in text
        assert search(shell, "/usr/bin", "end").startswith("SESSION-GATE: did not run: ")

    @pytest.mark.parametrize(
        "entry", ["", ".", "./", "bin", "../repository/bin", "{r}", "{r}/bin", "{r}/../repository"]
    )
    def test_nothing_is_run_out_of_the_repository(
        self, shell: str, search: Search, repository: Path, outside: Path, entry: str
    ) -> None:
        programs(repository, "trap")
        programs(repository / "bin", "trap")
        entry = entry.format(r=repository)
        assert "did not run" in injected(search(shell, f"{entry}:/usr/bin"))
        assert search(shell, f"{entry}:{outside}") == GOT
        assert search(shell, f"{entry}:{outside}", CLAUDE_PROJECT_DIR="") == GOT

    @pytest.mark.parametrize("below", ["", "a/b"])
    def test_without_a_variable_it_is_the_repository_around(
        self, shell: str, repository: Path, outside: Path, below: str
    ) -> None:
        for place in (repository, repository / "bin", repository / "a" / "b"):
            programs(place, "trap")
        line = shared_line("start", "claude", "s.json", claude.render_start)
        path = f".:{repository}/bin:{repository}/a/b:{outside}"

        def said() -> str:
            return run(
                shell, line, cwd=repository / below, PATH=path, HOME="/nonexistent", CLAUDE_PROJECT_DIR="/"
            ).stdout

        (repository / ".git").write_text("gitdir: elsewhere\n")
        assert said() == GOT
        (repository / ".git").unlink()  # then there is no repository, and the working directory is all that is known
        assert said() == (GOT if not below else GOT.replace("outside", "trap"))

    def test_what_puts_variables_into_settings_finds_none(
        self, shell: str, repository: Path, outside: Path, tmp_path: Path
    ) -> None:
        programs(repository, "trap")
        plain = shared_line("start", "gemini", "s.json", claude.render_start, "GEMINI_PROJECT_DIR")
        line = without_variables(plain, "start", "gemini")
        environ = dict.fromkeys(("d", "f", "g", "o", "p", "s", "w", "GEMINI_PROJECT_DIR"), "/trap")
        environ |= {"PATH": f"{repository}:{outside}", "HOME": str(tmp_path / "home")}
        assert expanded(plain, environ) != plain
        assert expanded(line, environ) == line
        assert line.startswith(": session-gate hook start --client gemini;")
        done = run(shell, line, cwd=repository, **environ | {"GEMINI_PROJECT_DIR": str(repository)})
        assert done.stdout == GOT.replace("claude", "gemini")
        broken = absolute_line(Installation("/a\\b$HOME/p", "/s", ""), "start", "gemini", "/s", claude.render_start)
        said = run(shell, without_variables(broken, "start", "gemini")).stdout
        assert said == run(shell, broken).stdout
        assert "b$HOME/p" in said

    def test_a_link_into_the_repository_is_in_it(
        self, shell: str, search: Search, repository: Path, outside: Path
    ) -> None:
        programs(repository / "bin", "trap")
        link = outside.with_name("link")
        link.symlink_to(repository / "bin")
        assert search(shell, f"{link}:{outside}") == GOT
        as_linked = repository.with_name("linked-repository")
        as_linked.symlink_to(repository)
        assert search(shell, f"{repository}/bin:{outside}", CLAUDE_PROJECT_DIR=str(as_linked)) == GOT

    def test_a_neighbour_with_a_longer_name_is_not_in_it(self, shell: str, search: Search, repository: Path) -> None:
        assert search(shell, str(programs(repository.with_name("repository-tools")))) == GOT

    def test_any_name_of_a_directory_is_one_word(self, shell: str, search: Search, tmp_path: Path) -> None:
        for name in ("with space", "st*r", "qu'ote", "$HOME", "Zoë"):
            assert search(shell, str(programs(tmp_path / name))) == GOT

    def test_what_looks_like_a_pattern_is_none(self, shell: str, search: Search, tmp_path: Path) -> None:
        programs(tmp_path / "star", "trap")
        assert "did not run" in injected(search(shell, f"{tmp_path}/s?ar:{tmp_path}/st*"))

    def test_a_relative_directory_counts_nowhere(self, shell: str, search: Search, outside: Path) -> None:
        assert "did not run" in injected(search(shell, f"../{outside.name}"))

    def test_one_that_fails_gives_way_to_the_next(
        self, shell: str, search: Search, outside: Path, tmp_path: Path
    ) -> None:
        broken = programs(tmp_path / "broken")
        (broken / "session-gate").write_text("#!/bin/sh\necho half\nexit 3\n")
        plain = programs(tmp_path / "plain")
        (plain / "session-gate").chmod(0o644)
        (tmp_path / "directory" / "session-gate").mkdir(parents=True)
        path = f"{broken}:{plain}:{tmp_path / 'directory'}"
        assert search(shell, f"{path}:{outside}") == GOT
        assert "could not be started" in injected(search(shell, path))

    def test_with_a_home_in_the_project_its_programs_count(self, shell: str, search: Search, repository: Path) -> None:
        home = programs(repository / "home" / "bin")
        programs(repository / "bin", "trap")
        assert search(shell, str(home), HOME=str(repository / "home")) == GOT
        assert search(shell, f"bin:{home}", HOME=str(repository)) == GOT
        assert search(shell, f"home/bin:{home}", HOME=str(repository / "home")) == GOT
        assert "did not run" in injected(search(shell, str(home), HOME=""))

    def test_silence_stays_silence(self, shell: str, search: Search, outside: Path) -> None:
        (outside / "session-gate").write_text("#!/bin/sh\nexit 0\n")
        assert search(shell, str(outside)) == ""

    def test_python_variables_do_not_reach_it(self, shell: str, search: Search, outside: Path) -> None:
        (outside / "session-gate").write_text('#!/bin/sh\necho "[$PYTHONPATH$PYTHONHOME]"\n')
        assert search(shell, str(outside), PYTHONPATH=".", PYTHONHOME="/x") == "[]\n"


def test_the_real_gate_answers_through_both_lines(machine: Machine, project: Path) -> None:
    """On a first look the gate says what stands there; both lines must bring that through."""
    (project / "left.py").write_text("")
    package = Path(next(iter(gate.__path__)))
    script = Path(sys.executable).parent / "session-gate"
    installation = Installation(sys.executable, str(package / "hook.py"), str(script))
    lines = {
        "absolute": absolute_line(installation, "start", "claude", "/s.json", claude.render_start),
        "script": absolute_line(
            Installation(sys.executable, "/nonexistent", str(script)), "start", "claude", "/s.json", claude.render_start
        ),
        "shared": shared_line("start", "claude", "s.json", claude.render_start, "CLAUDE_PROJECT_DIR"),
    }
    for name, line in lines.items():
        state = machine.directory / f"state-{name}"
        payload = json.dumps({"session_id": name, "cwd": str(project), "hook_event_name": "SessionStart"})
        environ = machine.environ | {
            "SESSION_GATE_STATE_DIR": str(state),
            "PATH": f"{script.parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            input=payload,
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), name
        assert "left.py" in injected(done.stdout), name
        machine.state = state
        machine.settle()
