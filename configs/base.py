"""What every configuration model shares: frozen, typed, and closed to unknown keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

IDENTIFIER_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"
"""Ids become partition values, object keys and file names: these characters are never percent-encoded."""

Identifier = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]


class Model(BaseModel):
    """A frozen model that refuses unknown keys, so that a misspelt setting is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
