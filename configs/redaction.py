"""Takes secrets out of text that comes from outside, before it is stored, sent, logged or shown.

A server may repeat a request's headers in its error, a program may print its environment, an endpoint may
hold a password. What has the shape of a secret is taken out, and the secrets that this process knows: those
of its environment, of its AWS files, and the credentials that its clients have found. Names of buckets, hosts
and keys stay.

Standard library alone: it also runs inside Lambda. Never called between two readings of a clock.
"""

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus, unquote
from weakref import WeakSet

TAKEN_OUT: Final = "***"
_SHORTEST: Final = 8
"""A shorter secret is no secret, and would be found in the middle of names."""
_MOST_FILE_BYTES: Final = 1 << 20
_REMEMBERED_TEXTS: Final = 1024
"""Most failures of a block say the same."""
_LONGEST_REMEMBERED: Final = 4096

_NAME: Final = (
    r"(?:secret[_-]?(?:access[_-]?)?key|client[_-]?secret|secret|token|password|passwd|api[_-]?key"
    r"|auth[_-]?string)[\w-]{0,20}"
)
_AWS_NAME: Final = (
    r"x-amz-(?:signature|credential|security-token|s3session-token)|aws_?access_?key_?id"
    r"|aws_secret_access_key|aws_session_token|aws_security_token|signatureprovided"
)
_VALUE: Final = r"[^\s&\"'<>,;]+"
_QUOTE: Final = r"""\\?["']?"""
_BYTES: Final = r"""(?:b(?=["']))?"""
_HEADER_PART: Final = r"""[^\s&"'<>,]+"""
_AUTHORIZATION: Final = (
    rf"(authorization{_QUOTE}\s*[:=]\s*{_BYTES}{_QUOTE})"
    rf"(?:(?:AWS4-[\w-]+|AWS|Basic|Bearer|Token)\s+)?{_HEADER_PART}(?:,\s*\w+={_HEADER_PART})*"
)
_NAME_MARKS: Final = (
    "secret",
    "token",
    "passw",
    "api_key",
    "api-key",
    "apikey",
    "auth_string",
    "auth-string",
)
_SHAPES: Final = tuple(
    (marks, re.compile(shape, re.IGNORECASE))
    for marks, shape in (
        (
            ("authorization",),
            _AUTHORIZATION,
        ),
        (("bearer ", "basic "), rf"(\b(?:Bearer|Basic)\s+)[\w+/.=~-]{{{_SHORTEST},}}"),
        (("@",), r"(://)[^\s/\"'<>?#]*(?=@)"),
        (
            ("x-amz-", "access", "aws_se", "signatureprovided"),
            rf"(\b(?:{_AWS_NAME}){_QUOTE}\s*(?:=|%3D|:)\s*{_BYTES}{_QUOTE}){_VALUE}",
        ),
        (("credential", "signature"), rf"(\b(?:Credential|Signature)(?:=|%3D)){_VALUE}"),
        (_NAME_MARKS, rf"({_NAME}\s*(?:=|%3D)\s*{_QUOTE}){_VALUE}"),
        (_NAME_MARKS, rf"({_NAME}\\?[\"']\s*:\s*{_BYTES}\\?[\"']){_VALUE}"),
        (
            (*_NAME_MARKS, "accesskeyid", "signatureprovided"),
            rf"(<(?:AWSAccessKeyId|SignatureProvided|[a-z]{{0,20}}{_NAME})>){_VALUE}",
        ),
        (("akia", "asia"), r"()(?-i:(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9]))"),
        (("iqoj", "fwog", "fqog"), r"()(?-i:\b(?:IQoJ|FwoG|FQoG)[\w+/=%-]{60,})"),
    )
)
"""What secrets look like, the part that stays in parentheses; a text without one of the words, in small
letters, has none of that shape, and looking for words takes a hundredth of the time."""

_SECRET_NAME: Final = re.compile(
    r"secret|token|passw|passphrase|(?:api|access|private)_?key|auth_?string|credential|signature"
    r"|webhook$|dsn$|_pwd$",
    re.IGNORECASE,
)
_NAMES_A_PLACE: Final = re.compile(
    r"(?:_file|_path|_dir|_folder|_uri|_url|_name|_command|_process|_expiration|_ttl|_timeout|_source)$",
    re.IGNORECASE,
)
_PASSWORD: Final = re.compile(r"://([^\s/?#]*)@")
_ATTRIBUTES: Final = ("access_key", "secret_key", "token", "_access_key", "_secret_key", "_token")
_FOUND: "Final[WeakSet[object]]" = WeakSet()


def redacted(text: str) -> str:
    """A text without secrets; see `redactor`, for many of them."""
    return redactor()(text)


def redactor() -> Callable[[str], str]:
    """What takes secrets out of many texts, with what this process knows at this moment."""
    return _of(tuple(sorted(_known(os.environ), key=len, reverse=True)))


def remember(credentials: object) -> None:
    """Let the keys and the token of botocore's credentials be known, as long as they live.

    They are read where a text is cleaned, and never renewed for it.
    """
    if credentials is not None:
        _FOUND.add(credentials)


@contextmanager
def errors_without_secrets() -> Iterator[None]:
    """Take secrets out of any error that leaves a block or, as a decorator, a function.

    For what Prefect runs: it stores the words of an error that ends a task or a flow.
    """
    try:
        yield
    except Exception as error:
        one: BaseException | None = error
        while one is not None:
            one.args = tuple(redacted(value) if isinstance(value, str) else value for value in one.args)
            one = one.__cause__ or one.__context__
        raise


@lru_cache(maxsize=4)
def _of(known: tuple[str, ...]) -> Callable[[str], str]:
    def clean(text: str) -> str:
        for value in known:
            if value in text:
                text = text.replace(value, TAKEN_OUT)
        lowered = text.lower()
        for marks, shape in _SHAPES:
            if any(mark in lowered for mark in marks):
                text = shape.sub(rf"\1{TAKEN_OUT}", text)
        return text

    remembered = lru_cache(_REMEMBERED_TEXTS)(clean)
    return lambda text: (remembered if len(text) <= _LONGEST_REMEMBERED else clean)(text)


def _known(environment: Mapping[str, str]) -> set[str]:
    """Each secret as it may be written: as it is, in a URL, in JSON, in Base64."""
    values = {*_of_environment(environment), *_of_files(environment), *_of_clients()}
    return {form for value in values if len(value) >= _SHORTEST for form in forms_of(value)}


def forms_of(secret: str) -> set[str]:
    """The ways in which a secret may stand in a text."""
    return {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        base64.b64encode(secret.encode(errors="surrogateescape")).decode(),
    }


def _of_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _SECRET_NAME.search(name) and not _NAMES_A_PLACE.search(name):
            yield value
            if name.lower().endswith("auth_string"):  # USER:PASSWORD
                yield value.partition(":")[2]
        if "@" in value:
            yield from _passwords(value)


def _passwords(value: str) -> Iterator[str]:
    for held in _PASSWORD.findall(value):
        password = held.partition(":")[2]
        yield from (password, unquote(password))


def _of_files(environment: Mapping[str, str]) -> Iterator[str]:
    """The keys and tokens of every profile; a file that cannot be read has none."""
    home = environment.get("HOME", "")
    for variable, usual in (
        ("AWS_SHARED_CREDENTIALS_FILE", f"{home}/.aws/credentials"),
        ("AWS_CONFIG_FILE", f"{home}/.aws/config"),
    ):
        try:
            with Path(environment.get(variable) or usual).open(encoding="utf-8", errors="replace") as file:
                lines: Iterable[str] = file.read(_MOST_FILE_BYTES).splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            name, _, value = line.partition("=")
            if _SECRET_NAME.search(name) and not _NAMES_A_PLACE.search(name.strip()):
                yield value.strip()
            if "@" in value:
                yield from _passwords(value)


def _of_clients() -> Iterator[str]:
    for credentials in tuple(_FOUND):
        attributes = vars(credentials)  # botocore's properties would renew them
        for value in map(attributes.get, _ATTRIBUTES):
            if isinstance(value, str):
                yield value
