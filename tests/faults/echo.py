"""The fault of a server that repeats what it was sent, secrets included."""

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.faults.fault_proxy import Reply

if TYPE_CHECKING:
    from tests.faults.fault_proxy import FaultHandler


def echo(handler: "FaultHandler") -> None:
    """A refusal that repeats every header of the request, as proxies and gateways do for debugging."""
    sent = escape("; ".join(f"{name}: {value}" for name, value in handler.headers.items()))
    body = f"<Error><Code>AccessDenied</Code><Message>You sent {sent}</Message></Error>".encode()
    handler.pass_back(Reply(403, [("Content-Type", "application/xml")], body))
