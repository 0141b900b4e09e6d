"""Credentials for programs of others, looked up in this process, where no clock runs."""

from collections.abc import Mapping
from typing import Final

import boto3

from configs.redaction import remember
from tasks.kernel.errors import LabelError

HANDED_OVER: Final = "handed over in the environment, looked up before each operation"
_REPLACED: Final = ("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION")


class ProgramCredentials:
    """This process's own credentials, in the words that programs know from their environment.

    Left alone, each process looks them up anew and inside the clock: at the metadata service, by single
    sign-on, by assuming a role. Keys in the environment come before all of these, and before what a profile
    says, in the AWS CLI and in s5cmd. boto3's session renews its own a while before they expire; a program
    cannot renew what it was given, so that an operation longer than what is left of a role fails.
    """

    def __init__(self) -> None:
        found = boto3.Session().get_credentials()
        if found is None:
            message = "there are no AWS credentials to hand over: set some up, for example with AWS_PROFILE"
            raise LabelError(message)
        remember(found)
        self._found = found

    def over(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment with the credentials of this moment instead of any that it has."""
        frozen = self._found.get_frozen_credentials()
        kept = {name: value for name, value in environment.items() if name not in _REPLACED}
        token = {"AWS_SESSION_TOKEN": frozen.token} if frozen.token else {}
        keys = {
            "AWS_ACCESS_KEY_ID": str(frozen.access_key),
            "AWS_SECRET_ACCESS_KEY": str(frozen.secret_key),
        }
        return kept | keys | token
