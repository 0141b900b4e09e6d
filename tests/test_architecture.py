"""Imports go one way: only flows and the task wrappers know Prefect, and the kernel knows nobody."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WRAPPERS = {
    f"tasks/{name}.py"
    for name in ("compare", "fan_out", "measure", "patience", "prepare", "publish", "record", "tidy")
}
LAYERS = (
    {"configs", "tasks.kernel"},
    {"tasks.access", "tasks.lab", "tasks.stats"},
    {"tasks.datasets", "tasks.workloads", "tasks.results"},
    {"tasks.reports"},
    {"tasks.venues"},
    {"tasks.doctor", "tasks.stacks"},
    {"tasks"},  # the task wrappers
    {"flows"},
    {"deployments"},
)


def files_of(package: str) -> list[Path]:
    folder = ROOT / package.replace(".", "/")
    return sorted(folder.glob("*.py") if package == "tasks" else folder.rglob("*.py"))


def package_of(module: str) -> str:
    """The package of ours that a module belongs to; empty for all others."""
    top, _, rest = module.partition(".")
    if top not in {"configs", "deployments", "flows", "tasks"}:
        return ""
    second = rest.partition(".")[0]
    return f"tasks.{second}" if top == "tasks" and (ROOT / "tasks" / second).is_dir() else top


def modules(folder: str) -> list[str]:
    files = sorted((ROOT / folder).rglob("*.py"))
    return [
        str(file.relative_to(ROOT).with_suffix("")).replace("/", ".")
        for file in files
        if file.name != "__init__.py" and str(file.relative_to(ROOT)) not in WRAPPERS
    ]


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def loaded_by(names: list[str]) -> set[str]:
    """The modules that are loaded after importing all these, in a process of its own."""
    program = f"import sys, {', '.join(names)}; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in answer.stdout.split()}


@pytest.mark.parametrize("folder", ["configs", "tasks"])
def test_pure_packages_do_not_load_prefect(folder: str) -> None:
    assert "prefect" not in loaded_by(modules(folder))


def test_the_probe_would_see_prefect() -> None:
    assert "prefect" in loaded_by(["tasks.measure"])


def test_what_measures_loads_neither_prefect_nor_parquet() -> None:
    loaded = loaded_by(["tasks.venues.worker", "tasks.access.boto3_api", "tasks.access.mount_io"])
    assert loaded.isdisjoint({"prefect", "pyarrow", "numpy", "scipy", "matplotlib", "rich"})


def test_the_kernel_imports_the_standard_library_alone() -> None:
    for file in (ROOT / "tasks" / "kernel").glob("*.py"):
        for name in imported(file):
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names or name.startswith("tasks.kernel"), f"{file}: {name}"


def test_imports_go_down_the_layers_of_contributing_only() -> None:
    for number, layer in enumerate(LAYERS):
        below = {name for lower in LAYERS[:number] for name in lower}
        for folder in layer:
            for file in files_of(folder):
                ours = {package_of(name) for name in imported(file)} - {"", folder}
                assert ours <= below, f"{file.relative_to(ROOT)} imports {ours - below}"


def test_every_package_has_its_layer() -> None:
    packages = {
        f"tasks.{path.name}" for path in (ROOT / "tasks").iterdir() if (path / "__init__.py").is_file()
    }
    assert packages == {name for layer in LAYERS for name in layer if name.startswith("tasks.")}


def test_no_flow_module_is_named_like_something_that_is_imported_elsewhere() -> None:
    # Prefect puts flows/ first on sys.path, where flows/statistics.py would replace the real one.
    ours = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__"}
    everywhere = {
        name.partition(".")[0]
        for folder in ("configs", "tasks", "flows", "deployments", "tests")
        for file in (ROOT / folder).rglob("*.py")
        for name in imported(file)
    }
    assert not ours & (everywhere | set(sys.stdlib_module_names) | {"tasks", "configs"})
