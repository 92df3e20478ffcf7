"""The real clients that tests/clients drives: pinned npm packages in a cache directory outside the repository.

`python tests/clients/install_clients.py [NAME…]` installs what is missing (all of them by default). The directory is
$SESSION_GATE_TEST_CLIENTS, else `session-gate-clients` in the user's cache directory.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

_CACHE = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
DIRECTORY = Path(os.environ.get("SESSION_GATE_TEST_CLIENTS") or Path(_CACHE) / "session-gate-clients")
"""Read at import: the tests themselves run without the user's environment."""

_CLAUDE = "node_modules/@anthropic-ai/claude-code-linux-{arch}/claude"
CLIENTS = {
    "claude": ("@anthropic-ai/claude-code@2.1.332", _CLAUDE),
    "claude-2.1.197": ("@anthropic-ai/claude-code@2.1.197", _CLAUDE),
    "codex": (
        "@openai/codex@0.171.0",
        "node_modules/@openai/codex-linux-{arch}/vendor/{machine}-unknown-linux-musl/bin/codex",
    ),
    "copilot": ("@github/copilot@1.0.102", "node_modules/@github/copilot-linux-{arch}/copilot"),
    "opencode": ("opencode-ai@1.18.33", "node_modules/opencode-linux-{arch}/bin/opencode"),
    "gemini": ("@google/gemini-cli@0.61.0", "node_modules/@google/gemini-cli/bundle/gemini.js"),
    "qwen": ("@qwen-code/qwen-code@0.24.4", "node_modules/@qwen-code/qwen-code/cli-entry.js"),
}
"""By name: the package with its version, and the program in it. Without a version, npm quietly takes one that the
Node at hand can run. Claude Code's, Codex's, Copilot's and OpenCode's programs are native ones (380, 420, 190 and
355 MB), Gemini CLI's and Qwen Code's scripts for Node (100 and 145 MB)."""


def program(name: str) -> Path:
    """Where a client's program is, or will be when it is installed."""
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package, path = CLIENTS[name]
    return DIRECTORY / package.strip("@").replace("/", "-") / path.format(arch=arch, machine=platform.machine())


def cure(name: str) -> str:
    """What to do where a client is missing."""
    return f"{program(name)} is missing: run `{sys.executable} {Path(__file__).resolve()} {name}` (needs npm)"


def install(name: str) -> None:
    """Install a client unless it is there. Raises SystemExit with the reason."""
    if program(name).exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is missing: install Node.js with npm first")
    package = CLIENTS[name][0]
    target = DIRECTORY / package.strip("@").replace("/", "-")
    made = target.with_name(f"{target.name}.{os.getpid()}")
    made.mkdir(parents=True)
    try:
        command = [npm, "install", "--prefix", str(made), "--no-audit", "--no-fund", "--loglevel=error", package]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise SystemExit(f"npm could not install {package}")
        shutil.rmtree(target, ignore_errors=True)  # an installation that was cut off
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    if not program(name).exists():
        raise SystemExit(f"{package} has no {program(name).name} for this machine: expected {program(name)}")


def main(names: list[str]) -> None:
    """Install the named clients, all of them by default, and say where they are."""
    for name in names or CLIENTS:
        if name not in CLIENTS:
            raise SystemExit(f"no such client: {name}; there are: {', '.join(CLIENTS)}")
        install(name)
        sys.stdout.write(f"{name} {program(name)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
