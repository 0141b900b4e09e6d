"""`python -m deployments.lambda_package --output FILE`: makes the zip of functions that measure in Lambda.

One zip serves all of them; its handler is `tasks.venues.lambda_handler.handler`. The packages in it are
those of `requirements/lambda.txt`, as pip installs them for Lambda's machines, less what no function reads.
The same commit gives the same bytes, wherever Python has the same zlib.
"""

import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

import typer

from configs.errors import UserError
from deployments.commands import say, told
from deployments.lambda_modules import needed_modules
from tasks.venues.lambda_handler import ARCHITECTURES

Architecture = Literal["arm64", "x86_64"]
Python = Literal["3.11", "3.12", "3.13", "3.14"]

HANDLER: Final = "tasks.venues.lambda_handler.handler"
REQUIREMENTS: Final = "requirements/lambda.txt"
SERVICES: Final = frozenset({"s3", "sts"})
"""The services of AWS that a function asks; botocore describes 400 more, in 30 MB."""

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_ROOT: Final = Path(__file__).resolve().parents[1]
_OLDEST_GLIBC: Final = 17  # of manylinux2014: 2.17
_GLIBC: Final[dict[Python, int]] = {"3.11": 26, "3.12": 34, "3.13": 34, "3.14": 34}
"""The glibc, 2.x, of the Linux below each runtime: 3.11 runs on Amazon Linux 2, later ones on AL2023."""
_OF_THE_INSTALLER: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
_ENDS_OF_ERRORS: Final = 3
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can tell
_READABLE_FILE: Final = 0o100644


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution in the zip."""

    name: str
    version: str
    size_bytes: int
    """Compressed, of all its files."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a zip."""

    size_bytes: int
    sha256: bytes
    packages: tuple[Package, ...]
    modules: tuple[str, ...]
    """This project's own."""
    modules_bytes: int
    """Compressed."""


def build(architecture: Architecture, python: Python, output: Path) -> Contents:
    """Write the zip.

    Raises:
        UserError: if the packages cannot be had, or the file cannot be written.
    """
    if output.is_dir():
        raise UserError(f"--output {output} is a folder: name a file in it")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # Beside the zip: what cannot be written there is told at once, and the zip appears when it is whole.
        with tempfile.TemporaryDirectory(prefix=".s3bench-lambda-", dir=output.parent) as scratch:
            return _built(architecture, python, output, Path(scratch))
    except OSError as error:
        raise UserError(
            f"--output {output} cannot be written ({error.filename}: {error.strerror}): "
            "name a file in a folder of your own"
        ) from error


def _built(architecture: Architecture, python: Python, output: Path, scratch: Path) -> Contents:
    modules = needed_modules(HANDLER.rpartition(".")[0], _ROOT)
    ours = {file.relative_to(_ROOT).as_posix(): file for file in modules.values()}
    installed = scratch / "installed"
    _install(architecture, python, installed)
    whole = scratch / "whole.zip"
    packed_bytes = _pack(whole, ours | _kept_files(installed))
    content = whole.read_bytes()
    whole.replace(output)
    return Contents(
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest(),
        packages=tuple(_packages(installed, packed_bytes)),
        modules=tuple(sorted(modules)),
        modules_bytes=sum(packed_bytes[name] for name in ours),
    )


def _install(architecture: Architecture, python: Python, folder: Path) -> None:
    """Let pip install the locked packages as that runtime has them.

    Raises:
        UserError: if it cannot.
    """
    options = ["--target", str(folder), "--require-hashes", "--requirement", str(_ROOT / REQUIREMENTS)]
    exactly = ["--no-deps", "--no-compile", "--only-binary=:all:", "--implementation=cp"]
    runtime = [f"--python-version={python}", f"--abi=cp{python.replace('.', '')}"]
    machines = [f"--platform={name}" for name in _platforms(architecture, python)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ended = subprocess.run(
        [*pip, *options, *exactly, *runtime, *machines], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        last = "; ".join(ended.stderr.strip().splitlines()[-_ENDS_OF_ERRORS:])
        raise UserError(
            f"pip cannot install {REQUIREMENTS} for Python {python} on {architecture}: {last}: "
            "look whether this host reaches the package index (python -m pip config list)"
        )


def _platforms(architecture: Architecture, python: Python) -> list[str]:
    """The tags of wheels that run there, the newest first, as pip prefers them."""
    (machine,) = (name for name, of_lambda in ARCHITECTURES.items() if of_lambda == architecture)
    glibc = range(_GLIBC[python], _OLDEST_GLIBC - 1, -1)
    return [*(f"manylinux_2_{minor}_{machine}" for minor in glibc), f"manylinux2014_{machine}"]


def _kept_files(folder: Path) -> dict[str, Path]:
    """The installed files that go into the zip, by their names there."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: file for name, file in files.items() if _is_kept(PurePosixPath(name))}


def _is_kept(name: PurePosixPath) -> bool:
    match name.parts:
        case ("bin", *_):  # programs that begin with the path of this host's Python
            return False
        case ("boto3" | "botocore", "data", service, _, *_):
            return service in SERVICES
        case ("boto3", "examples", *_):
            return False
    return not (name.parent.suffix == ".dist-info" and name.name in _OF_THE_INSTALLER)


def _pack(whole: Path, sources: Mapping[str, Path]) -> dict[str, int]:
    """Write a zip that tells nothing of when and where it was made; the compressed size of each entry."""
    with zipfile.ZipFile(whole, "w") as packed:
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.external_attr = _READABLE_FILE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, sources[name].read_bytes(), compresslevel=9)
        return {entry.filename: entry.compress_size for entry in packed.infolist()}


def _packages(folder: Path, packed_bytes: Mapping[str, int]) -> Iterator[Package]:
    found = metadata.distributions(path=[str(folder)])
    for distribution in sorted(found, key=lambda one: one.name.lower()):
        size_bytes = sum(packed_bytes.get(file.as_posix(), 0) for file in distribution.files or ())
        yield Package(distribution.name, distribution.version, size_bytes)


def lines_about(contents: Contents, output: Path) -> Iterator[str]:
    """What the command says of a zip."""
    yield f"{output}: {contents.size_bytes / 1e6:.1f} MB, handler {HANDLER}"
    yield f"packages of {REQUIREMENTS}, with what they take compressed:"
    for package in contents.packages:
        yield f"  {package.name:20} {package.version:14} {package.size_bytes / 1e3:8,.0f} kB"
    size_kb = contents.modules_bytes / 1e3
    yield f"{len(contents.modules)} modules of this project, {size_kb:,.0f} kB compressed:"
    yield from (f"  {name}" for name in contents.modules)
    yield f"sha256 {contents.sha256.hex()}"
    yield f"as Lambda tells it (CodeSha256) {base64.b64encode(contents.sha256).decode()}"


@app.command()
def make(
    output: Annotated[Path, typer.Option("--output", help="The zip to write.")],
    architecture: Annotated[
        Architecture, typer.Option("--architecture", help="Of the functions' processors.")
    ] = "arm64",
    python: Annotated[Python, typer.Option("--python", help="Of the functions' runtime.")] = "3.13",
) -> None:
    """Make the zip of the Lambda functions, and say what is in it."""
    with told():
        contents = build(architecture, python, output)
        say(f"for the runtime python{python} on {architecture}")
        for line in lines_about(contents, output):
            say(line)


if __name__ == "__main__":
    app()
