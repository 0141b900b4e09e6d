"""How an answer that could not be had is told: by the code of the error, in words that help."""

from botocore.exceptions import BotoCoreError, ClientError

from configs.errors import UserError
from tasks.access.bucket_io import explained


def why_not_told(error: ClientError | BotoCoreError, what: str) -> str:
    """One sentence: what could not be asked, what the service said, what to do."""
    try:
        with explained(what):
            raise error
    except UserError as told:
        return str(told)
    raise AssertionError(what)  # `explained` turns both kinds of errors into one of ours
