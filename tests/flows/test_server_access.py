"""What a server that does not answer well is called, and that no proxy hears of one on this host."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from configs.errors import UserError
from flows.server_access import is_on_this_host, refuse_dead_server, without_proxy_on_this_host
from tasks.lab.prefect_server import ServerNotReadyError, free_port

Answering = Callable[[int, int], str]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Makes servers that answer their health, and everything else, with a status each."""
    servers: list[ThreadingHTTPServer] = []

    def make(health: int, otherwise: int) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(health if self.path == "/api/health" else otherwise)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
                """Not on the terminal."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/api"

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("health", "otherwise"), [(500, 200), (200, 500), (200, 503), (200, 429), (200, 408)], ids=str
)
def test_a_server_that_is_not_well_may_be_later(answering: Answering, health: int, otherwise: int) -> None:
    with pytest.raises(ServerNotReadyError, match="no Prefect server answers at"):
        refuse_dead_server(answering(health, otherwise))


def test_a_server_that_is_not_there_may_be_later() -> None:
    with pytest.raises(ServerNotReadyError, match="start it, or unset PREFECT_API_URL"):
        refuse_dead_server(f"http://127.0.0.1:{free_port()}/api")


@pytest.mark.parametrize(("health", "otherwise"), [(404, 404), (200, 404), (403, 403)], ids=str)
def test_what_is_no_prefect_server_never_will_be(answering: Answering, health: int, otherwise: int) -> None:
    with pytest.raises(UserError, match="no Prefect server answers at") as refused:
        refuse_dead_server(answering(health, otherwise))
    assert not isinstance(refused.value, ServerNotReadyError)


@pytest.mark.parametrize("address", ["127.0.0.1:4200", "ftp://127.0.0.1/api", "http://:x"])
def test_an_address_that_is_none_never_will_be(address: str) -> None:
    with pytest.raises(UserError, match=f"PREFECT_API_URL={address}: .*: give one such as") as refused:
        refuse_dead_server(address)
    assert not isinstance(refused.value, ServerNotReadyError)


def test_a_server_on_this_host_is_asked_without_the_users_proxy(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, dead)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "operator:planted")
    refuse_dead_server(answering(200, 200))


def test_what_the_user_reaches_without_a_proxy_stays_so() -> None:
    both = "example.com,.internal,127.0.0.1,localhost"
    given = {"no_proxy": "example.com, .internal", "NO_PROXY": "is read after it"}
    assert without_proxy_on_this_host(given) == {"no_proxy": both, "NO_PROXY": both}
    assert without_proxy_on_this_host({"NO_PROXY": "localhost"})["no_proxy"] == "localhost,127.0.0.1"
    assert without_proxy_on_this_host({"no_proxy": "*"}) == {}
    assert without_proxy_on_this_host({}) == dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost")


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:4200/api", True),
        ("http://localhost:4200/api", True),
        ("http://[::1]:4200/api", True),
        ("https://prefect.example.com/api", False),
        ("http://10.0.0.5:4200/api", False),
        ("http://127.0.0.1.example.com/api", False),
        ("nonsense", False),
    ],
)
def test_loopback_alone_is_this_host(address: str, here: bool) -> None:
    assert is_on_this_host(address) is here


@pytest.mark.slow
def test_a_run_behind_a_proxy_asks_it_for_nothing_on_this_host(
    s3bench: Callable[..., "subprocess.CompletedProcess[str]"], suite_file: Path
) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), dead)
    ended = s3bench("run", suite_file.name, "--only", "boto3-lab", **proxies, no_proxy="", NO_PROXY="")
    assert ended.returncode == 0, ended.stderr
