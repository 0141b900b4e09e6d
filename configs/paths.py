"""Paths that settings name."""

from pathlib import Path


def expanded(text: str) -> Path:
    """The path that a setting names. No shell has looked at it, as with an EnvironmentFile of systemd.

    A `~` of which nobody knows the home stays as it is.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:  # what pathlib raises for a home that it cannot find
        return Path(text)
