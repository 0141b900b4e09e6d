"""Errors that carry their own explanation."""

from configs.redaction import redacted


class UserError(Exception):
    """Something that the user gave or set up is wrong.

    The message names what was wrong, where, and what would be right; it is shown without a traceback. It
    holds no secret, whatever it repeats of what others said.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(redacted(message))
