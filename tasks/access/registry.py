"""Which adapter serves which access path: one line each.

Adapters are named, not imported, so that a worker loads only the client that it measures (boto3 alone
takes longer to import than a whole block of small reads).
"""

import pkgutil
from typing import Final

from configs.access_paths import AccessPathConfig
from configs.targets import TargetConfig
from tasks.access.protocol import AccessPath

ADAPTERS: Final = {
    "boto3_api": "tasks.access.boto3_api:Boto3ApiPath",
    "mount_io": "tasks.access.mount_io:MountIoPath",
    "obstore": "tasks.access.obstore_api:ObstorePath",
    "boto3_transfer": "tasks.access.boto3_transfer:TransferManagerPath",
    "aws_cli": "tasks.access.aws_cli:AwsCliPath",
    "s5cmd": "tasks.access.s5cmd_cli:S5cmdPath",
    "noop": "tasks.access.noop:NoOpPath",
}


def access_path(config: AccessPathConfig, target: TargetConfig) -> AccessPath:
    """The adapter for a configuration; it is not connected yet."""
    adapter: AccessPath = pkgutil.resolve_name(ADAPTERS[config.kind])(config, target)
    return adapter
