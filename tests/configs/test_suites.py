"""The suites that ship: each experiment with its own parameters, ready for AWS and runnable in the lab."""

import pytest

from configs.choices import SHIPPED_SUITES, known_suites
from configs.errors import UserError
from configs.loading import load_suite
from configs.suite import Suite
from configs.targets import MountTarget

NAMES_TO_GIVE = {
    "e1-cloudtrail-s3-files": ["targets.bucket.bucket", "targets.mount.file_system_id", "targets.mount.path"],
    "e2-lambda-s3-files": [
        "targets.bucket.bucket",
        "targets.efs.path",
        "targets.mount.file_system_id",
        "targets.mount.path",
        "venues.in_vpc.function",
        "venues.outside.function",
        "venues.with_efs.function",
        "venues.with_mount.function",
    ],
    "e3-express-cli-sync": [
        "targets.express_other_az.bucket",
        "targets.express_same_az.bucket",
        "targets.standard.bucket",
    ],
    "e4-transfer-acceleration": ["targets.accelerated.bucket", "targets.ordinary.bucket"],
    "e5-express-boto3": [
        "targets.express.bucket",
        "targets.standard.bucket",
        "venues.one_cpu.function",
        "venues.small.function",
    ],
    "nightly": [
        "targets.bucket.bucket",
        "targets.express.bucket",
        "targets.express.region",
        "targets.mount.file_system_id",
        "targets.mount.path",
    ],
}
VALUES = {
    "path": "/mnt/s3files",
    "file_system_id": "fs-0123456789abcdef0",
    "bucket": "logs",
    "region": "ap-northeast-1",
    "function": "s3bench",
}


def value_of(name: str) -> str:
    _, target, key = name.split(".")
    return "logs--apne1-az4--x-s3" if target.startswith("express") and key == "bucket" else VALUES[key]


def filled_in(name: str) -> Suite:
    return load_suite(name, settings=[f"{one}={value_of(one)}" for one in NAMES_TO_GIVE[name]])


def test_every_experiment_has_its_suite_and_overlays_are_no_suites() -> None:
    experiments = [name for name in known_suites() if name.startswith("e")]
    assert [*experiments, "nightly"] == sorted(NAMES_TO_GIVE)
    overlays = {path.stem for path in (SHIPPED_SUITES / "lab").glob("*.yaml")}
    assert overlays == set(NAMES_TO_GIVE)
    assert all(load_suite(name).lab for name in known_suites() if name not in NAMES_TO_GIVE)


@pytest.mark.parametrize("name", NAMES_TO_GIVE)
def test_an_experiment_without_names_is_refused_naming_every_one(name: str) -> None:
    with pytest.raises(UserError) as raised:
        load_suite(name)
    lines = str(raised.value).splitlines()
    assert sorted(line.split(": ")[1] for line in lines) == NAMES_TO_GIVE[name]
    assert all(f"--set {line.split(': ')[1]}=" in line and "--in-lab" in line for line in lines)


@pytest.mark.parametrize("name", NAMES_TO_GIVE)
def test_an_experiment_with_its_names_is_ready_for_aws(name: str) -> None:
    suite = filled_in(name)
    assert not suite.lab
    assert suite.cells()


@pytest.mark.parametrize("name", NAMES_TO_GIVE)
def test_an_experiment_runs_in_the_lab_with_every_configuration_that_it_has(name: str) -> None:
    suite = load_suite(name, in_lab=True)
    assert suite.lab
    assert set(suite.configurations) == set(filled_in(name).configurations)
    assert {cell.config_id for cell in suite.cells()} == set(suite.configurations)
    for target in suite.targets.values():
        assert isinstance(target, MountTarget) or target.bucket.startswith("s3bench-lab")


def test_experiment_e1_has_its_parameters() -> None:
    suite = filled_in("e1-cloudtrail-s3-files")
    logs = suite.datasets["logs"].model_dump()
    assert (logs["files"], logs["records"]) == (302, 11_395)
    for name in ("scan-simple", "scan-staged"):
        scan = suite.workloads[name]
        assert scan.iterations - scan.warmup == 10
    assert sorted(each.concurrency for name, each in suite.workloads.items() if name.startswith("read")) == [
        1,
        4,
        16,
        64,
    ]


def test_experiment_e2_has_its_parameters() -> None:
    suite = filled_in("e2-lambda-s3-files")
    own = [name for name in suite.workloads if name.startswith(("read", "write"))]
    assert len(own) == 6
    assert {(suite.workloads[name].iterations, suite.workloads[name].warmup) for name in own} == {(105, 5)}
    client = suite.configurations["a_s3_sdk"].access_path.model_dump()
    assert (client["connect_timeout_s"], client["read_timeout_s"]) == (3, 60)
    assert (client["max_attempts"], client["retry_mode"]) == (3, "standard")
    venues = {cell.config_id: cell.venue for cell in suite.cells() if cell.workload_id in own}
    assert {venue and (venue.memory_mb, venue.architecture) for venue in venues.values()} == {(512, "arm64")}


def test_experiment_e2_has_the_control_that_it_lacked() -> None:
    configurations = filled_in("e2-lambda-s3-files").configurations
    outside, control, mount = (configurations[name] for name in ("a_s3_sdk", "a_s3_sdk_in_vpc", "b_s3_files"))
    assert control.model_copy(update={"venue": outside.venue}) == outside
    venues = filled_in("e2-lambda-s3-files").venues
    assert [venues[one.venue].vpc for one in (outside, control, mount)] == [False, True, True]


def test_experiment_e3_has_its_parameters_and_a_control_in_which_only_the_target_differs() -> None:
    suite = filled_in("e3-express-cli-sync")
    tree = suite.datasets["logs"].model_dump()
    assert (tree["files"], int(tree["mean_size"]), tree["scale"]) == (12_086, 354_541, 1)
    control = suite.configurations[suite.baseline_config_id]
    assert control.access_path == suite.configurations["express_same_az"].access_path
    assert {each.iterations for each in suite.workloads.values()} == {5}


def test_experiments_e4_and_e5_move_decimal_sizes_as_often_as_their_authors() -> None:
    e4 = filled_in("e4-transfer-acceleration")
    sizes = [int(each.model_dump()["size"]) for name, each in e4.workloads.items() if name.startswith("up")]
    assert sizes == [1_000_000, 10_000_000, 100_000_000]
    assert {each.iterations for each in e4.workloads.values()} == {3}
    e5 = filled_in("e5-express-boto3")
    own = [name for name in e5.workloads if name.startswith(("up", "down"))]
    counts = [e5.workloads[name].iterations - e5.workloads[name].warmup for name in own]
    assert counts == [1000, 1000, 3000] * 2
    ups = [int(e5.workloads[name].model_dump()["size"]) for name in own if name.startswith("up")]
    assert ups == [1400, 30_200, 2_300_000]
