"""Errors that carry their own explanation."""


class UserError(Exception):
    """Something that the user gave or set up is wrong.

    The message names what was wrong, where, and what would be right; it is shown without a traceback.
    """
