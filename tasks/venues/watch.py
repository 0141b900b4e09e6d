"""Waits for the end of its input, and then becomes another program, unless it was told that all is done.

Used as a script: `python -I -S watch.py <seconds> <program> <argument>…`. The kernel closes the input with
the process that holds its other end, however that one dies. Until then this one sleeps in the kernel and
holds nothing but the interpreter: whatever the program needs is loaded after it has become the program. That
has the given seconds before the kernel ends it, whatever it waits for.
"""

import os
import signal
import sys

DONE = b"done"
"""What is said at an orderly end."""


def main() -> None:
    """Wait, and become the program."""
    limit_s, program = int(sys.argv[1]), sys.argv[2:]
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what others opened without closing it for their children
    told = b""
    while piece := os.read(0, 64):
        told += piece
    if told == DONE:
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit_s)  # it outlasts `exec`
    os.execv(program[0], program)  # noqa: S606 - becoming the program is the purpose, and no shell is wanted


if __name__ == "__main__":
    main()
