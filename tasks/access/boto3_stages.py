"""Where the time of a boto3 request goes: connection, TLS, session, first byte.

botocore's own connections are used, with the clock read around the parts that open one. A request on a
connection that is open already runs none of this code, so a steady state is measured as it would be without.

What the stages hold, in the order in which they happen within one operation:

    connect_ns   name look-up and TCP; through a proxy its CONNECT as well
    tls_ns       handshake and check of the certificate, with loading the trusted ones, as a new client does
    session_ns   CreateSession of a directory bucket, without the connection that it opened
    ttfb_ns      from the start of a read to its response's headers; holds all of the above
"""

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

from tasks.kernel.samples import NULL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_boto3_s3 import S3Client
    from urllib3 import HTTPConnectionPool, PoolManager

_USUAL_PORTS: Final = {"http": 80, "https": 443}
_clock = time.perf_counter_ns


@dataclass(slots=True)
class Stages:
    """One operation of one thread; 0 where something did not happen."""

    started_ns: int = 0
    """A reading of the clock."""
    headers_ns: int = 0
    """A reading of the clock, when a read's response headers were there."""
    connect_ns: int = 0
    tls_ns: int = 0
    session_ns: int = 0
    session_started_ns: int = 0
    """A reading of the clock, moved on by whatever the session's own connection took."""
    response: Any = None
    """Of a read, once its headers are there: what is known of one whose body then breaks off."""
    retries: int = NULL
    """The SDK's own, of requests that ended without any answer; it tells those of answers with them."""

    def opened(self, connect_ns: int, tls_ns: int) -> None:
        """Add a connection that was opened within this operation."""
        self.connect_ns += connect_ns
        self.tls_ns += tls_ns
        if self.session_started_ns:
            self.session_started_ns += connect_ns + tls_ns


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a client has sent since it was made."""

    requests_by_host: dict[str, int]
    """Requests by host, with its port where that is no usual one; an SDK's own retries are requests too."""
    connections: int
    """How many were opened for them."""

    def __add__(self, other: "Traffic") -> "Traffic":
        hosts = self.requests_by_host.keys() | other.requests_by_host.keys()
        return Traffic(
            {
                host: self.requests_by_host.get(host, 0) + other.requests_by_host.get(host, 0)
                for host in sorted(hosts)
            },
            self.connections + other.connections,
        )


class StageWatch:
    """Watches what clients do, each thread for itself, since several share one client."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._pool_classes = _watched_pools(self)

    def begin(self) -> Stages:
        """Start an operation of this thread: what is opened from now on belongs to it."""
        stages = Stages()
        self._of_thread.current = stages
        stages.started_ns = _clock()
        return stages

    @property
    def current(self) -> Stages:
        """The operation of this thread; one that nobody looks at where none was begun."""
        found: Stages = getattr(self._of_thread, "current", None) or self.begin()
        return found

    def attach(self, client: "S3Client") -> None:
        """Watch a client that has sent nothing yet."""
        # botocore has no public way to its connections: it looks classes up in this dictionary by scheme.
        _http_session(client)._pool_classes_by_scheme.update(self._pool_classes)  # noqa: SLF001
        events = client.meta.events
        events.register("after-call-error.s3", self._no_answer)
        events.register("before-call.s3.CreateSession", self._session_begins)
        events.register("after-call.s3.CreateSession", self._session_ends)
        events.register("after-call-error.s3.CreateSession", self._session_ends)

    def _no_answer(self, context: dict[str, Any], **_: object) -> None:
        """Called by botocore where a request ended in an exception of the client, and never else."""
        stages = self.current
        stages.retries = max(stages.retries, 0) + retries_without_answer(context)

    def _session_begins(self, **_: object) -> None:
        self.current.session_started_ns = _clock()

    def _session_ends(self, **_: object) -> None:
        stages = self.current
        stages.session_ns += _clock() - stages.session_started_ns
        stages.session_started_ns = 0


def retries_without_answer(context: dict[str, Any]) -> int:
    """How often botocore tried again before it gave a request up, from the context of its event."""
    attempts: int = context.get("retries", {}).get("attempt", 1)
    return attempts - 1


def traffic_of(client: "S3Client") -> Traffic:
    """Count from urllib3's own counters, which cost a request nothing."""
    session = _http_session(client)
    managers = (session._manager, *session._proxy_managers.values())  # noqa: SLF001 - as in `attach`
    pools = [pool for manager in managers for pool in _pools_of(manager)]
    return sum(
        (Traffic({_host(pool): pool.num_requests}, pool.num_connections) for pool in pools), Traffic({}, 0)
    )


def _http_session(client: "S3Client") -> Any:
    return cast("Any", client)._endpoint.http_session  # noqa: SLF001 - no public way to it


def _pools_of(manager: "PoolManager") -> "Iterable[HTTPConnectionPool]":
    return [manager.pools[key] for key in manager.pools.keys()]  # noqa: SIM118 - it cannot be iterated over


def _host(pool: "HTTPConnectionPool") -> str:
    usual = pool.port in {None, _USUAL_PORTS.get(pool.scheme)}
    return str(pool.host) if usual else f"{pool.host}:{pool.port}"


def _watched_pools(watch: StageWatch) -> dict[str, type]:
    """Pools of botocore by scheme, with connections that read the clock while they are opened."""

    class WatchedConnection(AWSHTTPConnection):
        def connect(self) -> None:
            before_ns = _clock()
            super().connect()
            watch.current.opened(_clock() - before_ns, 0)

    class WatchedTlsConnection(AWSHTTPSConnection):
        _has_path_ns = 0

        def _new_conn(self) -> Any:
            found = super()._new_conn()
            self._has_path_ns = _clock()
            return found

        def _tunnel(self) -> None:
            super()._tunnel()
            self._has_path_ns = _clock()

        def connect(self) -> None:
            before_ns = _clock()
            super().connect()
            watch.current.opened(self._has_path_ns - before_ns, _clock() - self._has_path_ns)

    class WatchedPool(AWSHTTPConnectionPool):
        ConnectionCls = WatchedConnection

    class WatchedTlsPool(AWSHTTPSConnectionPool):
        ConnectionCls = WatchedTlsConnection

    return {"http": WatchedPool, "https": WatchedTlsPool}
