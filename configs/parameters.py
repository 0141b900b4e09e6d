"""The parameters of the flows: what the Prefect form shows and what the command line fills in."""

from typing import Annotated

from pydantic import Field

from configs.base import Model, Seed


class BenchmarkParameters(Model):
    """Everything that one benchmark run needs."""

    suite: Annotated[
        str,
        Field(
            min_length=1,
            title="Suite",
            description="Name of a suite that ships, or the path of a YAML file",
            json_schema_extra={"position": 0},
        ),
    ] = "lab"
    in_lab: Annotated[
        bool,
        Field(
            title="In the local lab",
            description="Lay the suite's lab overlay over it: its targets in the lab, its work scaled down",
            json_schema_extra={"position": 1},
        ),
    ] = False
    targets_file: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Field(
            title="Targets file",
            description="YAML file with the one key `targets`, laid over the suite's own targets",
            json_schema_extra={"position": 2},
        ),
    ] = None
    settings: Annotated[
        list[str],
        Field(
            title="Settings",
            description="Single values laid over the suite, such as targets.bucket.bucket=my-bucket",
            json_schema_extra={"position": 3},
        ),
    ] = []
    results: Annotated[
        str,
        Field(
            min_length=1,
            title="Results",
            description="Folder or s3://BUCKET/PREFIX that the Parquet files go to",
            json_schema_extra={"position": 4},
        ),
    ] = "results"
    only: Annotated[
        list[str],
        Field(
            title="Only these configurations",
            description="Ids of configurations of the suite; empty runs all of them",
            json_schema_extra={"position": 5},
        ),
    ] = []
    logs_from: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Field(
            title="CloudTrail logs from",
            description="Folder or s3://BUCKET/PREFIX to copy the logs from; empty uses the suite's own",
            json_schema_extra={"position": 6},
        ),
    ] = None
    seed: Annotated[
        Seed | None,
        Field(
            title="Seed",
            description="Seed of the order of blocks; empty draws a fresh one, which the run stores",
            json_schema_extra={"position": 7},
        ),
    ] = None
    lab_folder: Annotated[
        str,
        Field(
            min_length=1,
            title="Lab folder",
            description="Where the local lab lives, for suites that use it",
            json_schema_extra={"position": 8},
        ),
    ] = ".lab"
