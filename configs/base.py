"""What every configuration model shares: frozen, typed, and closed to unknown keys."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field
from pydantic_core import PydanticCustomError

IDENTIFIER_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"
"""Ids become partition values, object keys and file names: these characters are never percent-encoded."""

Identifier = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""A seed as it is stored: a signed integer of 64 bits."""


def _whole_size(given: Any) -> Any:
    # ByteSize reads a number and a unit and silently drops whatever follows them.
    if isinstance(given, str) and re.fullmatch(r"\s*\d*\.?\d+\s*[A-Za-z]*\s*", given) is None:
        raise PydanticCustomError("byte_size", "this is no size")
    return given


Size = Annotated[ByteSize, BeforeValidator(_whole_size), Field(gt=0, le=5 * 1024**3)]
"""A number of bytes, written as such or with a unit: `65536`, `64 KiB`, `16 MiB`.

At most 5 GiB, the largest object that one PutObject takes (Amazon S3 User Guide).
"""


class Model(BaseModel):
    """A frozen model that refuses unknown keys, so that a misspelt setting is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
