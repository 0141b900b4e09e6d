from datetime import UTC, datetime, timedelta

from configs.run_record import CellRecord, Environment
from tasks.results.marks import EnvironmentMark, NightEnvironment, environment_marks

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
ENVIRONMENT = Environment(
    python="CPython 3.11.7",
    kernel="Linux 6.1",
    machine="x86_64",
    cpu_model="test",
    cpu_count=2,
    memory_bytes=2**33,
    packages={"boto3": "1.43.1", "botocore": "1.43.1"},
    git_commit="0123456789abcdef",
)


def night(
    day: int, client: str = "boto3 1.43.1, botocore 1.43.1", suite_sha256: str = "ab" * 32, **changed: object
) -> NightEnvironment:
    cells = [
        CellRecord(config_id="sdk", workload_id="read", status="measured", proof={"client": client}),
        CellRecord(config_id="noop", workload_id="write", status="measured", proof={"client": "none"}),
    ]
    return NightEnvironment(
        FIRST + timedelta(days=day),
        "nightly",
        suite_sha256,
        lab=False,
        environment=ENVIRONMENT.model_copy(update=changed),
        cells={(cell.config_id, cell.workload_id): cell for cell in cells},
    )


def told(*nights: NightEnvironment) -> list[tuple[str, str, frozenset[str] | None]]:
    return [(f"{mark.since_at:%d}", mark.what, mark.cells) for mark in environment_marks(nights)]


def test_nights_alike_have_no_mark() -> None:
    assert told() == told(night(0)) == told(night(0), night(1)) == []


def test_a_package_is_marked_once_also_where_proofs_name_it_too() -> None:
    newer = {"boto3": "1.44.8", "botocore": "1.44.8", "obstore": "0.8"}
    found = told(night(0), night(2, client="boto3 1.44.8, botocore 1.44.8", packages=newer))
    assert found == [
        ("03", "boto3 1.43.1 → 1.44.8", None),
        ("03", "botocore 1.43.1 → 1.44.8", None),
        ("03", "obstore none → 0.8", None),
    ]


def test_a_program_that_only_its_proof_names_is_marked_for_its_cells() -> None:
    before = night(0, client="aws-cli/2.15.0 Python/3.11.6 Linux/6.1 exe/x86_64")
    after = night(1, client="aws-cli/2.16.0 Python/3.11.8 Linux/6.1 exe/x86_64")
    assert told(before, after) == [("02", "aws-cli 2.15.0 → 2.16.0", frozenset({"sdk/read"}))]


def test_a_cell_that_proved_nothing_one_night_is_no_mark() -> None:
    assert told(night(0), night(1, client=""), night(2)) == []


def test_the_machine_the_harness_and_the_suite_are_marked() -> None:
    other = night(
        1,
        suite_sha256="cd" * 32,
        kernel="Linux 6.9",
        python="CPython 3.12.1",
        cpu_model="faster",
        git_commit="fedcba9876543210+dirty",
    )
    assert [what for _, what, _ in told(night(0), other)] == [
        "Python CPython 3.11.7 → CPython 3.12.1",
        "kernel Linux 6.1 → Linux 6.9",
        "processor test → faster",
        "harness 01234567 → fedcba98+dirty",
        "suite nightly abababab → nightly cdcdcdcd",
    ]


def test_a_mark_may_explain_only_what_it_was_seen_in() -> None:
    everywhere = EnvironmentMark(FIRST, "kernel", None)
    of_one = EnvironmentMark(FIRST, "aws-cli", frozenset({"cli/read"}))
    assert [everywhere.is_of(cell) for cell in ("cli/read", None)] == [True, True]
    assert [of_one.is_of(cell) for cell in ("cli/read", "sdk/read", None)] == [True, False, False]
