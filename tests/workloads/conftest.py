"""What the tests of moved files share: the lab's bucket, and a process that has the lab's environment."""

import os
from collections.abc import Iterator

import pytest

from configs.targets import BucketTarget
from tasks.lab.state import LabState


@pytest.fixture(scope="module")
def target(lab: LabState) -> Iterator[BucketTarget]:
    """The lab's bucket; this process has its environment until the last test of a file."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in lab.environment().items():
            patch.setenv(name, value)
        yield BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
