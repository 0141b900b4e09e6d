"""What every configuration model shares: frozen, typed, and closed to unknown keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

IDENTIFIER_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"
"""Ids become partition values, object keys and file names: these characters are never percent-encoded."""

Identifier = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""A seed as it is stored: a signed integer of 64 bits."""


class Model(BaseModel):
    """A frozen model that refuses unknown keys, so that a misspelt setting is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
