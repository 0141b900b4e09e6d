"""The settings of Prefect: each is one of its own, and no secret goes further than it must."""

import pytest

from deployments.catalogue import Operation
from deployments.environment import (
    CLIENT_SETTINGS,
    SERVER_SETTINGS,
    api_url,
    client_environment,
    server_environment,
    serves_own,
)
from tasks.lab.prefect_server import NO_TELEMETRY, PRIVATE_SETTINGS

PLANTED = "operator:planted"


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_URL", "HOME", "API_AUTH_STRING", "SERVER_API_AUTH_STRING"):
        monkeypatch.delenv(f"PREFECT_{name}", raising=False)


def test_every_setting_is_one_that_prefect_knows() -> None:
    from prefect.settings import Settings  # noqa: PLC0415 - takes seconds, and only this test needs it
    from prefect.settings.legacy import _get_settings_fields  # noqa: PLC0415 - as above

    known = set(_get_settings_fields(Settings))
    ours = SERVER_SETTINGS | CLIENT_SETTINGS | PRIVATE_SETTINGS | server_environment(Operation())
    of_prefect = {name for name in ours if name.startswith("PREFECT_")}
    # Not settings: Prefect reads what overrides its logging configuration by itself.
    assert {name for name in of_prefect - known if not name.startswith("PREFECT_LOGGING_HANDLERS_")} == set()


def test_telemetry_stays_off_whatever_the_operator_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "true")
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    for environment in (server_environment(Operation()), client_environment(Operation())):
        assert NO_TELEMETRY.items() <= environment.items()


def test_the_operators_settings_of_the_server_go_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_SERVER_EVENTS_RETENTION_PERIOD", "P99D")
    monkeypatch.setenv("PREFECT_PROFILE", "somebody's")
    environment = server_environment(Operation())
    assert environment["PREFECT_SERVER_EVENTS_RETENTION_PERIOD"] == "P99D"
    assert "PREFECT_PROFILE" not in environment


def test_the_server_does_not_hand_a_browser_the_address_of_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4999/api")
    environment = server_environment(Operation())
    assert "PREFECT_API_URL" not in environment
    assert environment["PREFECT_SERVER_UI_API_URL"] == "/api"


def test_flow_runs_get_the_password_of_the_api_and_no_secret_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", PLANTED)
    monkeypatch.setenv(
        "PREFECT_SERVER_DATABASE_CONNECTION_URL", f"postgresql+asyncpg://{PLANTED}@127.0.0.1/db"
    )
    environment = client_environment(Operation())
    assert [name for name, value in environment.items() if PLANTED in value] == ["PREFECT_API_AUTH_STRING"]


def test_another_server_does_not_get_this_ones_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", PLANTED)
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.com/api")
    assert not serves_own(Operation())
    assert PLANTED not in client_environment(Operation()).values()


def test_deployments_are_served_to_the_server_of_this_host_unless_another_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = "http://127.0.0.1:4321/api"
    assert api_url(Operation(port=4321)) == own
    monkeypatch.setenv("PREFECT_API_URL", own + "/")
    assert serves_own(Operation(port=4321))
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.com/api")
    assert client_environment(Operation())["PREFECT_API_URL"] == "https://prefect.example.com/api"


def test_no_client_asks_a_proxy_for_the_server_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "example.com")
    for environment in (server_environment(Operation()), client_environment(Operation())):
        assert environment["NO_PROXY"] == environment["no_proxy"] == "example.com,127.0.0.1,localhost"
