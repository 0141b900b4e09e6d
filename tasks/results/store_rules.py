"""What every kind of result store holds to."""

from configs.errors import UserError


def is_hidden(name: str) -> bool:
    """Whether Athena hides the file: its name, or that of a folder above it, starts with `.` or `_`."""
    return any(part.startswith((".", "_")) for part in name.split("/"))


def refuse_unlike(where: str, existing: bytes, content: bytes) -> None:
    """Accept the same bytes again, and nothing else.

    Raises:
        UserError: if the file at `where` holds other bytes.
    """
    if existing != content:
        raise UserError(f"{where} exists with other content: it was kept; move it away to write this one")
