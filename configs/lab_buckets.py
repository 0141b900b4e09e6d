"""What lies in the local lab: its region, its zones, and the names of its buckets."""

from typing import Final

REGION: Final = "ap-northeast-1"
ZONES: Final = ("apne1-az4", "apne1-az1")
"""Where the AWS-shaped lab has directory buckets: the client's own zone first, then another one."""
MAIN: Final = "s3bench-lab"
"""It is mounted, and accelerated in the AWS-shaped lab."""
ALL: Final = (MAIN, f"{MAIN}-plain", *(f"{MAIN}--{zone}--x-s3" for zone in ZONES))
"""What lies in the lab's folder: one for each kind of target, and one that is not accelerated."""
