"""How a process is told that its targets lie in the local lab."""

from typing import Final

LAB_MARKER: Final = "S3BENCH_IN_LAB"
"""A variable that the lab alone puts into the environment of clients, and into no shell of a user.

Nothing else tells a lab: each variable that it sets besides is one that users set as well.
"""
