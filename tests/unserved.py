"""Runs a command where directories give no answer: `unserved.py hanging|dead NUMBER DIRECTORY… COMMAND…`.

In a mount namespace of its own, a FUSE file system that nobody serves is mounted over each. Every access to it waits,
as it does on a server that is gone, until the descriptor is closed. Where it is closed before (`dead`), every access is
answered with an error, as on a server that has crashed. The mounts go with the namespace.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

MS_NOSUID, MS_NODEV = 2, 4


def main(how: str, number: str, *words: str) -> int:
    """Mount, run the command, and give its exit code."""
    libc = ctypes.CDLL(None, use_errno=True)
    places, command = words[: int(number)], words[int(number) :]
    for place in places:
        # Nobody reads from this: not even the greeting with which the kernel begins is answered.
        fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if libc.mount(b"nobody", os.fsencode(place), b"fuse", MS_NOSUID | MS_NODEV, options.encode()):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), place)
        if how == "dead":
            os.close(fd)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
