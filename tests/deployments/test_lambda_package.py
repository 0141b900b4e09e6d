"""The zip of the Lambda functions: what must be in it, and that it measures with nothing else."""

import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from configs.access_paths import AccessPathConfig, Boto3Api, MountIo, NoOp, Obstore, TransferManager
from configs.block import BlockSpec
from configs.targets import MountTarget
from configs.venues import LambdaVenueConfig
from configs.workloads import FileUpload
from deployments.lambda_modules import names_in, needed_modules
from deployments.lambda_package import (
    HANDLER,
    REQUIREMENTS,
    SERVICES,
    Contents,
    Python,
    _pack,
    app,
    build,
    lines_about,
)
from deployments.locked import locked_packages
from tasks.access.registry import ADAPTERS
from tasks.lab.state import LabState
from tasks.venues.lambda_handler import ARCHITECTURES
from tasks.venues.lambda_wire import BlockAnswer, BlockEvent, from_text, unpacked
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.lambda_blocks import a_block, bucket_of
from tests.lambda_emulator import WRAPPER, client_of, make_function, running_emulator

ROOT = Path(__file__).resolve().parents[2]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
MOST_BYTES = 15_000_000
pytestmark = pytest.mark.timeout(400)  # a first build fetches 30 MB
NEVER = ("prefect", "pyarrow", "numpy", "scipy", "matplotlib", "rich", "awscrt", "mypy_boto3_s3")
VENUE = LambdaVenueConfig(function="f", region="us-east-1")

ALONE = """\
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from tasks.venues.lambda_handler import handler
class Context:
    function_name, function_version, memory_limit_in_mb, aws_request_id = "f", "1", 512, "r"
    def get_remaining_time_in_millis(self):
        return 60_000
answers = [handler(event, Context()) for event in json.load(sys.stdin)]
places = [getattr(module, "__file__", None) for module in sys.modules.values()]
pathlib.Path(sys.argv[2]).write_text(json.dumps([answers, [place for place in places if place]]))
"""
"""Answers events with the zip's modules and Python's own; `-I -S` keeps all others away."""


@pytest.fixture(scope="module")
def modules() -> dict[str, Path]:
    return needed_modules(HANDLER.rpartition(".")[0], ROOT)


@lru_cache
def skip_without_index() -> None:
    """Where pip cannot get even a small package, and only there."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--no-cache-dir", "--no-deps", "--dest", folder]
        ended = subprocess.run([*pip, "six"], capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"no package index can be reached: {ended.stderr.strip().splitlines()[-1]}")


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip for this machine and this Python."""
    if HERE not in get_args(Python):
        pytest.skip(f"Lambda has no runtime python{HERE}")
    skip_without_index()
    return built(tmp_path_factory.mktemp("here") / "here.zip")[0]


@pytest.fixture(scope="session")
def unpacked_here(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is in it, as Lambda unpacks it: no program can be loaded out of a zip."""
    folder = tmp_path_factory.mktemp("task")
    with zipfile.ZipFile(here) as packed:
        packed.extractall(folder)
    return folder


def built(output: Path) -> tuple[Path, Contents]:
    return output, build(ARCHITECTURES[platform.machine()], HERE, output)  # type: ignore[arg-type] # as checked


def locked(name: str) -> dict[str, str]:
    return {one.name: one.version for one in locked_packages(ROOT / name)}


def test_modules_are_found_by_imports_anywhere_and_by_name_but_not_for_type_checkers(tmp_path: Path) -> None:
    for package in ("tasks", "tasks/a"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("inside", "named", "other", "types", "unused"):
        (tmp_path / f"tasks/a/{name}.py").touch()
    (tmp_path / "tasks/a/entry.py").write_text(
        "import json\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from tasks.a import types\n"
        "from tasks.a import other\n"
        "TABLE = {'x': 'tasks.a.named:Thing', 'y': 'tasks.a.nowhere:Thing'}\n"
        "def load():\n"
        "    import tasks.a.inside\n"
    )
    found = needed_modules("tasks.a.entry", tmp_path)
    assert sorted(found) == [
        "tasks",
        "tasks.a",
        *(f"tasks.a.{n}" for n in ("entry", "inside", "named", "other")),
    ]
    assert found["tasks.a"] == tmp_path / "tasks/a/__init__.py"


def test_every_adapter_is_among_the_modules_and_nothing_of_reports_results_or_the_lab(
    modules: dict[str, Path],
) -> None:
    assert {name.partition(":")[0] for name in ADAPTERS.values()} <= modules.keys()
    assert not re.search(r"^tasks\.(reports|results|lab|datasets|doctor)\b", "\n".join(modules), re.MULTILINE)


def test_every_package_that_they_import_is_locked_for_them(modules: dict[str, Path]) -> None:
    tops = {name.partition(".")[0] for file in modules.values() for name in names_in(file)}
    foreign = tops - {"configs", "tasks"} - sys.stdlib_module_names
    assert {"boto3", "obstore", "psutil", "pydantic"} <= foreign
    distributions = metadata.packages_distributions()
    of_whom = {distributions[top][0].lower().replace("_", "-") for top in foreign}
    assert of_whom <= locked(REQUIREMENTS).keys()


def test_botocore_knows_every_service_that_they_ask(modules: dict[str, Path]) -> None:
    code = "\n".join(file.read_text(encoding="utf-8") for file in modules.values())
    assert set(re.findall(r"\.client\(\s*\"([a-z0-9-]+)\"", code)) <= SERVICES


def test_their_lock_has_no_conditions_and_nothing_that_no_function_needs() -> None:
    assert ";" not in (ROOT / REQUIREMENTS).read_text(encoding="utf-8")  # pip would ask its own Python
    assert not locked(REQUIREMENTS).keys() & set(NEVER)


def test_when_and_with_which_rights_a_file_was_written_does_not_change_the_zip(tmp_path: Path) -> None:
    made = []
    for moment, mode in ((1_000_000_000, 0o600), (1_700_000_000, 0o755)):
        file = tmp_path / "file.py"
        file.write_bytes(b"x = 1\n" * 100)
        file.chmod(mode)
        os.utime(file, (moment, moment))
        sizes = _pack(tmp_path / "a.zip", {"b/file.py": file, "a.py": file})
        made.append((tmp_path / "a.zip").read_bytes())
        assert sizes["a.py"] < 100
    assert made[0] == made[1]
    with zipfile.ZipFile(io.BytesIO(made[0])) as packed:
        assert packed.namelist() == ["a.py", "b/file.py"]
        assert {entry.external_attr >> 16 for entry in packed.infolist()} == {0o100644}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--architecture", "riscv"], "'riscv' is not one of 'arm64', 'x86_64'"),
        (["--python", "2.7"], "'2.7' is not one of '3.11', '3.12', '3.13', '3.14'"),
        (["--output", "{tmp}"], "--output {tmp} is a folder: name a file in it"),
        (
            ["--output", "{tmp}/file/a.zip"],
            "--output {tmp}/file/a.zip cannot be written ({tmp}/file: File exists)",
        ),
        ([], "s3bench: pip cannot install requirements/lambda.txt for Python 3.13 on arm64: "),
    ],
)
def test_what_cannot_be_made_is_told_in_one_message_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # where nothing answers
    for name, value in (("CONFIG_FILE", os.devnull), ("RETRIES", "0"), ("NO_CACHE_DIR", "1")):
        monkeypatch.setenv(f"PIP_{name}", value)
    given = ["--output", f"{tmp_path}/a.zip", *(option.format(tmp=tmp_path) for option in options)]
    ended = CliRunner().invoke(app, given, terminal_width=200)
    assert ended.exit_code == 2
    assert says.format(tmp=tmp_path) in " ".join(ended.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "python"), [("arm64", "3.14"), ("x86_64", "3.13")])
def test_the_zip_is_small_for_both_architectures_and_what_is_in_it_is_told(
    tmp_path: Path, architecture: str, python: str
) -> None:
    skip_without_index()
    output = tmp_path / "new" / "a.zip"
    ended = CliRunner().invoke(
        app, ["--output", str(output), "--architecture", architecture, "--python", python]
    )
    assert (ended.exit_code, list(output.parent.iterdir())) == (0, [output]), ended.output
    assert output.stat().st_size < MOST_BYTES
    told = re.findall(r"^  ([a-z0-9_-]+) +(\S+) +[1-9][0-9,]* kB$", ended.output, re.MULTILINE)
    assert {name.replace("_", "-"): version for name, version in told} == locked(REQUIREMENTS)
    assert re.search(r"^  tasks\.venues\.lambda_handler$", ended.output, re.MULTILINE)
    with zipfile.ZipFile(output) as packed:
        names = packed.namelist()
        machines = {read_machine(packed.read(name)) for name in names if name.endswith(".so")}
    assert names == sorted(names)
    assert machines == {{"arm64": 0xB7, "x86_64": 0x3E}[architecture]}
    assert not {name.split("/")[0] for name in names} & {*NEVER, "bin"}
    services = {name.split("/")[2] for name in names if re.match(r"boto(core|3)/data/.+/", name)}
    assert services == SERVICES


def read_machine(program: bytes) -> int:
    """The processor that a program is for, by its ELF header."""
    assert program[:4] == b"\x7fELF"
    return int.from_bytes(program[18:20], "little")


@pytest.mark.slow
def test_the_same_tree_gives_the_same_bytes_again(here: Path, tmp_path: Path) -> None:
    again, contents = built(tmp_path / "again.zip")
    assert again.read_bytes() == here.read_bytes()
    assert contents.size_bytes == here.stat().st_size


@pytest.mark.slow
def test_blocks_and_events_are_measured_with_the_zip_alone(
    lab: LabState, unpacked_here: Path, tmp_path: Path
) -> None:
    bucket = bucket_of(lab)
    paths: list[AccessPathConfig] = [Boto3Api(), Obstore()]
    blocks = [a_block(VENUE, bucket, access_path=path) for path in paths]
    upload = FileUpload(size=1000, iterations=5, warmup=1)
    blocks.append(
        a_block(VENUE, bucket, access_path=TransferManager(), workload=upload, scratch_folder=tmp_path)
    )
    if lab.mount_path:
        blocks.append(on_mount(lab))
    events = [BlockEvent(block=block).model_dump(mode="json") for block in blocks]
    answers, places = alone(lab, unpacked_here, [*events, {"op": "setup"}, {"op": "read", "iterations": 9}])
    for answer in answers[: len(blocks)]:
        told = BlockAnswer.model_validate(answer)
        outcome = outcome_of(told)
        assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 5)
        assert not outcome.samples.failures
        assert told.venue["boto3"] == locked(REQUIREMENTS)["boto3"]
    assert (answers[-1]["status"], answers[-1]["errors"]) == ("measured", 0)
    foreign = [place for place in places if "site-packages" in place or place.startswith(str(ROOT / "tasks"))]
    assert not foreign


def alone(
    lab: LabState, folder: Path, events: list[dict[str, object]]
) -> tuple[list[dict[str, object]], list[str]]:
    """The answers to events, and where all modules came from."""
    of_function = {
        "S3BENCH_CONFIG": "A_s3_sdk",
        "S3BENCH_BUCKET": lab.bucket,
        "S3BENCH_ENDPOINT_URL": lab.endpoint_url,
    }
    answered = folder.with_name("answers.json")
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, str(folder), str(answered)],
        input=json.dumps(events),
        cwd=folder,
        env=lab_environment(lab) | of_function,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers, places = json.loads(answered.read_text())
    return answers, places


def on_mount(lab: LabState) -> BlockSpec:
    mount = MountTarget(shows="b", path=lab.mount_path, fstype="fuse.rclone")
    return a_block(VENUE, bucket_of(lab), access_path=MountIo(), target=mount)


def outcome_of(answer: BlockAnswer) -> BlockOutcome:
    return unpacked(from_text(answer.wire or ""))


@pytest.fixture(scope="module")
def lambda_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_emulator(tmp_path_factory.mktemp("ministack")) as url:
        yield url


@pytest.mark.slow
def test_a_function_is_made_of_the_zip_as_it_is_and_measures_in_lambda(
    lab: LabState, here: Path, lambda_url: str
) -> None:
    code = here.read_bytes()
    with_credentials = io.BytesIO(code)  # of the lab, which ministack lets no function have
    with zipfile.ZipFile(with_credentials, "a") as packed:
        packed.writestr("lab_function.py", WRAPPER)
    client = client_of(lambda_url)
    make_function(client, "as-it-is", lab, handler=HANDLER, code=code)
    make_function(client, "with-credentials", lab, code=with_credentials.getvalue())
    contents = Contents(len(code), hashlib.sha256(code).digest(), (), (), 0)
    told = client.get_function_configuration(FunctionName="as-it-is")["CodeSha256"]
    assert f"as Lambda tells it (CodeSha256) {told}" in lines_about(contents, here)
    asked = [
        ("as-it-is", a_block(VENUE, bucket_of(lab), access_path=NoOp())),
        ("with-credentials", a_block(VENUE, bucket_of(lab))),
    ]
    if lab.mount_path:
        asked.append(("as-it-is", on_mount(lab)))
    for name, block in asked:
        event = BlockEvent(block=block).model_dump_json().encode()
        answer = client.invoke(FunctionName=name, Payload=event)
        outcome = outcome_of(BlockAnswer.model_validate_json(answer["Payload"].read()))
        assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 5)
        assert not outcome.samples.failures


def test_the_command_that_the_readme_shows_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "deployments/lambda/README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^python -m deployments\.lambda_package (.+)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".lambda").touch()  # a file, so that it goes no farther than to its output
    ended = CliRunner().invoke(app, shown.split())
    assert "cannot be written" in ended.output
    assert HANDLER in text
