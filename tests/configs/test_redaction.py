"""No secret stays in a text, however it is written, and names do."""

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from botocore.credentials import Credentials, DeferredRefreshableCredentials

from configs.errors import UserError
from configs.redaction import errors_without_secrets, forms_of, redacted, redactor, remember
from flows.readable_logs import make_logs_readable
from tasks.doctor.findings import Finding, Group, lines_of
from tasks.kernel.samples import SampleColumns
from tasks.reports.progress import LineReporter
from tasks.venues.wire import BlockOutcome

PLANTED = "pl4nted/+se cret"
KEY_ID = "AKIA" + "ABCDEFGHIJKLMNOP"
SIGNED = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20260101/us-east-1/s3/aws4_request"
TOKEN = "IQoJb3JpZ2luX2Vj" + "Ab1/" * 30

SHAPES = {
    f"Authorization: {SIGNED}, SignedHeaders=host;x-amz-date, Signature={PLANTED[:7]} of b": (
        "Authorization: *** of b"
    ),
    "{'Authorization': b'Bearer pl4nted.x', 'Host': b'h'}": "{'Authorization': b'***', 'Host': b'h'}",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=pl4nted%2F2026&X-Amz-Date=2026&X-Amz-Signature=pl4nted": (
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=***&X-Amz-Date=2026&X-Amz-Signature=***"
    ),
    "k?X-Amz-Security-Token=pl4nted%2B&AWSAccessKeyId=pl4nted&x=1": (
        "k?X-Amz-Security-Token=***&AWSAccessKeyId=***&x=1"
    ),
    "x-amz-security-token:pl4nted\nhost:b": "x-amz-security-token:***\nhost:b",
    "no proxy http://user:pl4@nted@proxy.example:3128/ here": "no proxy http://***@proxy.example:3128/ here",
    "postgresql+asyncpg://u:pl4nted@db.example/p": "postgresql+asyncpg://***@db.example/p",
    "aws_secret_access_key = pl4nted\naws_session_token=pl4nted": (
        "aws_secret_access_key = ***\naws_session_token=***"
    ),
    '{"SecretAccessKey": "pl4nted", "SessionToken": "pl4nted", "Bucket": "b"}': (
        '{"SecretAccessKey": "***", "SessionToken": "***", "Bucket": "b"}'
    ),
    "<SecretAccessKey>pl4nted</SecretAccessKey><BucketName>b</BucketName>": (
        "<SecretAccessKey>***</SecretAccessKey><BucketName>b</BucketName>"
    ),
    "OTHER_API_KEY=pl4nted MY_PASSWORD='pl4nted' PATH=/bin": "OTHER_API_KEY=*** MY_PASSWORD='***' PATH=/bin",
    f"key {KEY_ID} in s3://b/k@2": "key *** in s3://b/k@2",
    f"a token {TOKEN} in b": "a token *** in b",
}
HARMLESS = (
    "An error occurred (InvalidToken) when calling GetObject: The provided token is malformed",
    "ExpiredToken: The provided token has expired, see s3://bucket-of-keys/secret/token@1.json",
    "SignatureDoesNotMatch: set the secret key that belongs to the access key",
    "AuthorizationHeaderMalformed: the region 'us-east-1' is wrong",
    "http://127.0.0.1:9000/b/k?list-type=2&prefix=p",
)


@pytest.mark.parametrize("text", SHAPES)
def test_what_looks_like_a_secret_is_taken_out_and_what_is_around_it_stays(text: str) -> None:
    assert redacted(text) == SHAPES[text]
    assert redacted(SHAPES[text]) == SHAPES[text]


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_only_speak_of_secrets_and_names_of_buckets_stay(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "form",
    [
        PLANTED,
        quote(PLANTED),
        quote(PLANTED, safe=""),
        json.dumps(PLANTED + '"')[1:-1],
        base64.b64encode(PLANTED.encode()).decode(),
    ],
)
def test_a_secret_of_the_environment_is_known_in_every_form(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert form in redacted(f"echo {form} of b")
    monkeypatch.setenv("MY_TOKEN", PLANTED)
    assert form not in redacted(f"echo {form} of b")


def test_a_password_within_an_address_of_the_environment_is_known_on_its_own_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pl4nted%2Fpassword@127.0.0.1:9")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "user:pl4nted-auth")
    said = "pl4nted%2Fpassword, pl4nted/password, pl4nted-auth, 127.0.0.1:9"
    assert redacted(said) == "***, ***, ***, 127.0.0.1:9"


def test_names_of_places_and_short_values_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token-here")
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "the-session-of-x")
    monkeypatch.setenv("MY_TOKEN", "bucket")
    assert redacted("/var/run/token-here the-session-of-x bucket") == (
        "/var/run/token-here the-session-of-x bucket"
    )


def test_the_keys_of_every_profile_of_the_aws_files_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AWS_SHARED_CREDENTIALS_FILE", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[a]\naws_secret_access_key=pl4nted-one\n"
        "[b]\naws_session_token = pl4nted-two\nregion = eu-central-1\n"
    )
    (tmp_path / "config").write_text("[profile c]\ncredential_process = tool --key pl4nted-three\n")
    said = redacted("pl4nted-one, pl4nted-two, eu-central-1, tool --key pl4nted-three")
    assert said.startswith("***, ***, eu-central-1")


def test_credentials_that_a_client_found_are_known_as_long_as_they_live() -> None:
    found = Credentials("pl4nted-id", "pl4nted-key", "pl4nted-token")
    remember(found)
    assert redacted("pl4nted-id pl4nted-key pl4nted-token") == "*** *** ***"
    del found
    assert redacted("pl4nted-key") == "pl4nted-key"


def test_no_credentials_are_renewed_because_a_text_is_cleaned() -> None:
    def never() -> dict[str, str]:
        pytest.fail("it asked for credentials")

    found = DeferredRefreshableCredentials(never, "never")
    remember(found)
    assert redacted("b") == "b"


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("MY_TOKEN", PLANTED)
    factory = logging.getLogRecordFactory()
    yield PLANTED
    logging.setLogRecordFactory(factory)


def test_no_secret_is_in_an_error_for_the_user_an_outcome_a_note_or_a_finding(planted: str) -> None:
    noted: list[str] = []
    LineReporter(noted.append).note(f"a note of {planted}")
    outcome = BlockOutcome("failed", SampleColumns(), f"died of {planted}", {"venue": planted})
    found = lines_of((Group("g", (Finding("wrong", "check", f"found {planted}", f"not {planted}"),)),))
    told = [str(UserError(f"not {planted}")), *noted, outcome.reason, str(outcome.proof), *found]
    assert planted not in "".join(told)
    assert "".join(told).count("***") == 6


def test_no_line_of_a_log_holds_a_secret_nor_does_its_traceback(
    planted: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_logs_readable()
    logger = logging.getLogger("s3bench.test")
    try:
        int(planted)
    except ValueError:
        logger.exception("it failed with %s", planted)
    assert planted not in caplog.text
    assert caplog.text.count("***") == 2
    assert "ValueError" in caplog.text


def test_no_error_that_leaves_what_prefect_runs_holds_a_secret_nor_does_its_cause(planted: str) -> None:
    @errors_without_secrets()
    def fails() -> None:
        try:
            int(planted)
        except ValueError as error:
            raise ValueError(f"a task ended: {planted}") from error

    with pytest.raises(ValueError, match=r"^a task ended: \*\*\*$") as raised:
        fails()
    assert str(raised.value.__cause__) == "invalid literal for int() with base 10: '***'"


@pytest.mark.timeout(20)  # with an expression that goes back and forth it would be minutes
def test_texts_as_large_as_a_hostile_server_makes_them_are_cleaned_in_time() -> None:
    clean = redactor()
    for piece in ("-token", "authorization", "://", "<aaaaaaaaaaaaaaaaaaaa", "token ", "a=b,", "Bearer "):
        assert len(clean(piece * (100_000 // len(piece)))) > 1_000


def test_all_forms_of_a_secret_are_other_words_for_the_same() -> None:
    assert forms_of("plain") == {"plain", base64.b64encode(b"plain").decode()}
