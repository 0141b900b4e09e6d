"""What lies below `deployments/athena/`, made of the schema, the views, the queries and the shipped suites.

`python -m deployments.athena_files` writes it anew; a test holds it equal. The bucket and the parameters
there are examples: `s3bench athena` prints the same for a store of one's own.
"""

import os
from pathlib import Path
from typing import Final

from configs.choices import known_configurations
from tasks.results.athena import ddl
from tasks.results.sql_queries import Asked, queries

FOLDER: Final = Path(__file__).with_name("athena")
LOCATION: Final = "s3://amzn-s3-demo-bucket/s3bench"
"""Amazon's own name for a bucket in examples, which nobody can have."""

_ASKED: Final = Asked(schedule="nightly", since="2026-11-01", until="2026-11-30")
_OF_TWO: Final = Asked(
    schedule="nightly", since="2026-11-01", until="2026-11-30", config_a="express-boto3", config_b="boto3"
)
"""Two configurations of the suite `nightly`."""


def athena_files() -> dict[str, str]:
    """The content of each file by its name below the folder."""
    made = ddl(LOCATION, known_configurations())
    files = {
        f"ddl/{number:02}_{statement.name}.sql": f"{statement.sql};\n"
        for number, statement in enumerate(made, start=1)
    }
    for query in queries():
        asked = _OF_TWO if "config_a" in query.parameters else _ASKED
        files[f"queries/{query.name}.sql"] = f"{query.filled(asked)};\n"
    return files


def main() -> None:
    """Write them, and remove what is none of them."""
    os.environ.pop("S3BENCH_SUITES", None)  # suites of one's own do not ship
    files = athena_files()
    for path in FOLDER.rglob("*.sql"):
        if str(path.relative_to(FOLDER)) not in files:
            path.unlink()
    for name, content in files.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
