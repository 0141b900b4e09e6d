"""Runs a program that the kernel kills when the process that started it dies, even by kill -9.

Used as a script: `python -I -S leash.py <parent pid> <program> <argument>…`. It asks the kernel for the
signal (`PR_SET_PDEATHSIG` in prctl(2), on Linux alone), which `exec` keeps, and then becomes the program. A
script of its own rather than a `preexec_fn`, because that runs Python code between fork and exec, which can
deadlock where the parent has threads. The kernel watches the *thread* that started the program: it must live
as long.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""


def leashed(command: Sequence[str]) -> list[str]:
    """The command that runs another one so that it ends with the process that starts it."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main() -> None:
    """Ties this process to its parent and becomes the program."""
    parent_pid, program = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        sys.exit("the parent died before the leash was on")
    os.execv(program[0], program)  # noqa: S606 - becoming the program is the purpose, and no shell is wanted


if __name__ == "__main__":
    main()
