"""git, hardened: it runs in repositories that other people made, unasked, at every session's start.

It takes no locks, runs nothing that a repository's configuration names, asks nobody, and is ended gently. GitPython's
own time limit kills hard, and its import costs 150 ms: docs/decisions.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from gate import foreign
from gate.errors import UnknownError
from gate.project import Project, find_project, is_within
from gate.quote import short
from gate.world.child import ANSWER_LIMIT, TooLongError, end_group, listen, start

MOST_CONFIGURATION = 8 << 20
"""Bytes of a configuration that are looked at; of 20,000 branches it has some 2 MB."""

_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")

_CREDENTIALS = r"://[^/@\s]{1,1000}@"
"""In an address, of which git repeats the whole."""

_SETTINGS = (
    "core.fsmonitor=false",
    "core.untrackedCache=keep",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=none",
    "diff.orderFile=/dev/null",
    "gc.auto=0",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "status.renames=true",
    "status.renameLimit=1000",
    "submodule.recurse=false",
)


class GitFailedError(UnknownError):
    """git answered that it cannot: `said` is its word for it, which can hold whatever the repository does (values of a
    configuration, names), so it is quoted in the reason.
    """

    def __init__(self, said: str) -> None:
        said = re.sub(_CREDENTIALS, "://…@", said)
        super().__init__(f"git failed: {short(said, 250)}")
        self.said = said


class Git:
    """Runs read-only git commands. `environ` is the environment to clean and pass on. Thread-safe."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = clean_environ(environ)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._filters: dict[str, tuple[str, ...]] = {}
        self._programs: dict[str, str | None] = {}
        self._projects: dict[str, Project] = {}

    def project(self, directory: str) -> Project:
        """The project of a directory, looked for once."""
        if directory not in self._projects:
            self._projects[directory] = find_project(directory)
        return self._projects[directory]

    def run(self, directory: str, *arguments: str, timeout: float, ok: Sequence[int] = (0,)) -> bytes:
        """The output of `git -C directory arguments…`.

        Raises UnknownError, with the reason, where git is missing, fails or takes longer than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        project = self.project(directory)
        settings = [*_SETTINGS, *self._disarmed_filters(directory, project, deadline)]
        return self._run(directory, project, settings, arguments, deadline, ok)

    def _run(
        self,
        directory: str,
        project: Project,
        settings: Sequence[str],
        arguments: Sequence[str],
        deadline: float,
        ok: Sequence[int],
    ) -> bytes:
        if project.here not in self._programs:
            self._programs[project.here] = find_program("git", self._environ, project)
        program = self._programs[project.here]
        if program is None:
            raise UnknownError("git was not found in PATH", "install git, or put its directory into PATH")
        options = [word for setting in settings for word in ("-c", setting)]
        command = [program, "--no-optional-locks", *options, "-C", directory, *arguments]
        # What was looked at (its configuration) must be what git finds: it climbs past a `.git` that it does not like.
        environ = {**self._environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(project.here)}
        patience = deadline - time.monotonic()
        process = self._start(command, environ, patience)
        try:
            output, errors = listen(process, patience)
        except subprocess.TimeoutExpired:
            end_group(process)
            raise UnknownError(f"git gave no answer in {max(0.1, round(patience, 1)):g} s") from None
        except TooLongError:
            end_group(process)
            raise UnknownError(f"git's answer had more than {ANSWER_LIMIT >> 20} MiB") from None
        except BaseException:
            end_group(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if process.returncode not in ok:
            if self._closed:
                raise UnknownError("the time for git was over")
            said = _first_line(errors)
            raise GitFailedError(said) if said else UnknownError(f"git failed: exit status {process.returncode}")
        return output

    def _start(self, command: Sequence[str], environ: Mapping[str, str], patience: float) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed or patience <= 0:
                raise UnknownError("the time for git was over")
            try:
                process = start(command, environ)
            except (OSError, ValueError) as error:
                raise UnknownError(f"git could not be started: {short(str(error), 250)}") from None
            self._running.add(process)
        return process

    def _disarmed_filters(self, directory: str, project: Project, deadline: float) -> tuple[str, ...]:
        """Settings that take the programs away which the repository's own configuration names as content filters.

        `git status` runs a filter to compare contents. The user's own, from the global configuration, stay: they are
        the user's programs, and without them every filtered file would look changed.
        """
        if not _may_name_filters(directory, project):
            return ()
        if directory not in self._filters:
            arguments = ("config", "--show-scope", "-z", "--list")
            listed = self._run(directory, project, _SETTINGS, arguments, deadline, (0, 1))
            self._filters[directory] = disarmed(listed.decode("utf-8", "surrogateescape"))
        return self._filters[directory]

    def close(self) -> None:
        """End whatever still runs, gently, with all it started; later calls are refused."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            end_group(process)


def _may_name_filters(directory: str, project: Project) -> bool:
    """Whether a repository's own configuration could name a filter: a look at its text costs less than a git, and most
    name none. Where it cannot be read, or git could find another repository than was found here (below its root; or
    above it, when the path holds the separator of ceilings), git has to be asked.
    """
    if project.common_dir is None or project.git_dir is None or os.pathsep in project.here:
        return True
    if directory != project.here and os.path.realpath(directory) != project.here:
        return True
    text = own_configuration(project)
    return text is None or b"filter" in text.lower() or b"include" in text.lower()


def own_configuration(project: Project) -> bytes | None:
    """The text of a repository's own configuration, and of the worktree's; None where it could not be read, or is too
    large to be looked at.
    """
    texts = []
    for directory, name in ((project.common_dir, "config"), (project.git_dir, "config.worktree")):
        path = os.path.join(directory or "", name)
        if not os.path.lexists(path):
            continue
        try:
            text = foreign.read(path, MOST_CONFIGURATION + 1)
        except OSError:
            return None
        if text is None or len(text) > MOST_CONFIGURATION:
            return None
        texts.append(text)
    return b"\n".join(texts)


def disarmed(listed: str) -> tuple[str, ...]:
    """From `git config --show-scope -z --list`: for each filter that the repository names, the user's own settings of
    it, and where there are none, nothing.
    """
    fields = listed.split("\0")
    users: dict[str, str] = {}
    drivers = set()
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name.startswith("filter."):
            if scope in ("system", "global"):
                users[name] = value
            elif scope != "command":
                drivers.add(name.rpartition(".")[0])
    if any("=" in driver for driver in drivers):  # `-c` ends a name at its first "="
        raise UnknownError("the repository's configuration names a filter that cannot be switched off")
    keys = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return tuple(
        f"{driver}.{key}={users.get(f'{driver}.{key}', nothing)}" for driver in sorted(drivers) for key, nothing in keys
    )


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: nothing that says where the repository is (a surrounding git hook sets it, see
    `git rev-parse --local-env-vars`), that traces, or that names a program; no prompt, no locks, English messages.

    Commits are what they are, and not what the repository has in their place (git-replace(1), info/grafts): a commit
    that is shown as merged that way is still lost with its branch.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    for name in ("SSH_ASKPASS", "PAGER", "LESSOPEN", "EDITOR", "VISUAL"):
        kept.pop(name, None)
    if "PATH" in kept:
        kept["PATH"] = _absolute(kept["PATH"])
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.path.join(os.devnull, "none"),
        "LC_ALL": "C",
    }


def find_program(name: str, environ: Mapping[str, str], project: Project | None = None) -> str | None:
    """A program by PATH, its absolute directories only, and none of them the project's: nothing is ever run from the
    working directory, nor from any worktree of the project or of a repository around it, whatever PATH says there.
    (Where the home directory lies in one around it, that is the user's own.)
    """
    entries = _absolute(environ.get("PATH", os.defpath)).split(os.pathsep)
    strangers = [] if project is None else _with_those_around(project, os.path.realpath(environ.get("HOME") or "/"))
    kept = [entry for entry in entries if not strangers or not _is_of(os.path.realpath(entry), strangers)]
    return shutil.which(name, path=os.pathsep.join(kept)) if any(kept) else None


def _with_those_around(project: Project, home: str) -> list[Project]:
    """A project, and each repository that it lies in and the home directory does not."""
    found, above = [project], os.path.dirname(project.here)
    while (around := find_project(above)).common_dir is not None:
        if not is_within(home, around.here):
            found.append(around)
        above = os.path.dirname(around.here)
        if above == around.here:
            break
    return found


def _is_of(path: str, projects: Sequence[Project]) -> bool:
    if any(is_within(path, place) for each in projects for place in (each.root, each.here) if place != "/"):
        return True
    found = find_project(path)
    return found.common_dir is not None and any(found.key == each.key for each in projects)


def _absolute(path: str) -> str:
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def _first_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
