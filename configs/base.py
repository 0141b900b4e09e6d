"""What every configuration model shares: frozen, typed, and closed to unknown keys."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ByteSize, ConfigDict, Field
from pydantic_core import PydanticCustomError

IDENTIFIER_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"
"""Ids become partition values, object keys and file names: these characters are never percent-encoded."""

Identifier = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]

PREFIX_PATTERN = r"^[A-Za-z0-9!_.()=+@,:-]+(/[A-Za-z0-9!_.()=+@,:-]+)*$"
"""Prefixes of keys, joined by single slashes: no `*`, `?` or `[`, which s5cmd and DuckDB take for patterns,
and nothing that a URL, SQL or a terminal reads as its own. That no part is `.` or `..` is checked besides.
"""
_LONGEST_PREFIX = 512
"""Of the 1,024 bytes of a key, so that what we put below it has room."""


def is_prefix(text: str) -> bool:
    """Whether keys of ours may begin with it and a slash."""
    return (
        len(text) <= _LONGEST_PREFIX
        and re.fullmatch(PREFIX_PATTERN, text) is not None
        and not {".", ".."} & set(text.split("/"))
    )


def is_path_below(text: str) -> bool:
    """Whether a folder that it is joined to holds what it names, as a key that others chose may not.

    Also that no two of them name the same file, as `a/b` and `a//b` would.
    """
    return "\0" not in text and not {"", ".", ".."} & set(text.split("/"))


def _of_one_line(given: str | Path) -> str | Path:
    # The operating system takes no NUL, and lines and columns of a terminal are what messages are made of.
    if not str(given).isprintable():
        message = "it has a character that cannot be printed, such as the end of a line"
        raise ValueError(message)
    return given


Line = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_of_one_line)]
"""Text that names something outside: a path, a program, an address."""

LocalPath = Annotated[Path, AfterValidator(_of_one_line)]
"""A path that the operating system can take."""

Seconds = Annotated[float, Field(gt=0, le=604_800, allow_inf_nan=False)]
"""A time that ends: at most a week."""

Count = Annotated[int, Field(ge=1, le=10_000_000)]
"""As many as a plan can hold."""

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""A seed as it is stored: a signed integer of 64 bits."""


def _whole_size(given: Any) -> Any:
    # ByteSize reads a number and a unit and silently drops whatever follows them.
    if isinstance(given, str) and re.fullmatch(r"\s*[0-9]*\.?[0-9]+\s*[A-Za-z]*\s*", given) is None:
        raise PydanticCustomError("byte_size", "this is no size")
    return given


Size = Annotated[ByteSize, BeforeValidator(_whole_size), Field(gt=0, le=5 * 1024**3)]
"""A number of bytes, written as such or with a unit: `65536`, `64 KiB`, `16 MiB`.

At most 5 GiB, the largest object that one PutObject takes (Amazon S3 User Guide).
"""


class Model(BaseModel):
    """A frozen model that refuses unknown keys, so that a misspelt setting is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
