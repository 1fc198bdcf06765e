"""The base of every stage's ``Options``: frozen, unknown keys rejected."""

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """Frozen settings; an unknown key or a wrong type is an error that names its path."""

    model_config = ConfigDict(frozen=True, extra="forbid")
