"""The suites that a form can offer, and their configurations.

Those that ship, and those of the operator's own folder, which `S3BENCH_SUITES` names.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

SHIPPED_SUITES: Final = Path(__file__).parent / "suites"


def suite_folders() -> tuple[Path, ...]:
    """Where suites are looked for by name, the operator's own folder first."""
    own = os.environ.get("S3BENCH_SUITES")
    return (Path(own), SHIPPED_SUITES) if own else (SHIPPED_SUITES,)


def known_suites() -> tuple[str, ...]:
    """Names of all suites that can be run by name."""
    return tuple(sorted({path.stem for path in _suite_files()}))


def known_configurations() -> tuple[str, ...]:
    """Ids of the configurations of all those suites; a suite that cannot be read has none."""
    return tuple(sorted({name for path in _suite_files() for name in _configurations(path)}))


def _suite_files() -> Iterator[Path]:
    for folder in suite_folders():
        yield from folder.glob("*.yaml")


def _configurations(path: Path) -> list[str]:
    """What is wrong with a suite is said when it is run: a form is drawn all the same."""
    try:
        content = YAML(typ="safe").load(path)
    except (OSError, UnicodeDecodeError, YAMLError):
        return []
    found = content.get("configurations") if isinstance(content, dict) else None
    return [str(name) for name in found] if isinstance(found, dict) else []
