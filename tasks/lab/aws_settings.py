"""What the AWS-shaped lab tells its proxy."""

from pathlib import Path

from configs.base import Model
from configs.lab_delays import Delays


class ProxySettings(Model):
    """One JSON file, for its owner's eyes: it holds the lab's secret key."""

    server_port: int
    """Of the lab's S3 server, on loopback."""
    access_key_id: str
    secret_access_key: str
    accelerated: frozenset[str]
    """Buckets for which Transfer Acceleration is enabled."""
    delays: Delays
    ca_file: Path
    """Where the proxy writes the certificate of its authority, whose key it never writes anywhere."""
