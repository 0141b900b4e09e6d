"""What Prefect sends along with a client: nothing of the flow and the task that start it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cloudpickle
from prefect import flow, task
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext, TaskRunContext, serialize_context
from prefect.results import ResultStore
from prefect.task_runners import ThreadPoolTaskRunner

from configs.suite import Configuration, Suite
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks import fan_out
from tasks.fan_out import measure_client
from tasks.venues.local import LocalVenue

PROJECT_ROOT = Path(__file__).resolve().parents[2]


@flow(name="benchmark")
def a_flow(parameters: str) -> None:
    """Its parameters are for this host alone."""


@task
def a_task(place: dict[str, str]) -> None:
    """Its parameters hold credentials."""


def sent(submit: Callable[[], dict[str, object]]) -> bytes:
    """What goes to a worker where a task submits another one."""
    flow_context = FlowRunContext.model_construct(
        flow=a_flow,
        flow_run=FlowRun(flow_id="00000000-0000-0000-0000-000000000001", name="of-this-run"),
        task_runner=ThreadPoolTaskRunner(),
        parameters={"parameters": "the-bucket-of-somebody"},
        result_store=ResultStore(),
    )
    task_context = TaskRunContext.model_construct(
        task=a_task, parameters={"place": {"AWS_SECRET_ACCESS_KEY": "a-secret"}}, result_store=None
    )
    with flow_context, task_context:
        return cloudpickle.dumps(submit())


def test_clients_are_told_which_run_they_belong_to_and_neither_credentials_nor_parameters() -> None:
    by_default = sent(serialize_context)
    assert b"a-secret" in by_default, "Prefect sends the parameters of the task that submits another one"
    assert b"the-bucket-of-somebody" in by_default
    ours = sent(lambda: fan_out._telling_nothing(serialize_context))
    assert b"a-secret" not in ours
    assert b"the-bucket-of-somebody" not in ours
    assert b"of-this-run" in ours


def test_a_client_is_never_tried_again_and_leaves_nothing_with_prefect() -> None:
    assert (measure_client.retries, measure_client.persist_result) == (0, False)


def test_a_run_without_cells_of_several_clients_is_measured_here_and_never_loads_dask() -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from types import SimpleNamespace\n"
        "from configs.loading import load_suite\n"
        "from tasks.fan_out import venue_of\n"
        "from tasks.venues.launch import Launch\n"
        "from tasks.venues.places import Place\n"
        "import tasks.measure\n"
        "suite = load_suite('lab')\n"
        "plan = SimpleNamespace(suite=suite, obstacles={}, dask_scheduler='tcp://127.0.0.1:9')\n"
        "with venue_of(plan, Place(suite, {}, {}, Path('unused')), Launch()) as venue:\n"
        "    print(type(venue).__name__, *sys.modules)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
    )
    venue, *loaded = answer.stdout.split()
    assert venue == LocalVenue.__name__
    assert not {"dask", "distributed", "prefect_dask"} & set(loaded)
    assert "prefect" in loaded


def test_cells_that_are_not_measured_anyway_need_no_cluster() -> None:
    target, own = BucketTarget(bucket="unused"), {"target": "t", "access_path": {"kind": "noop"}}
    suite = Suite(
        name="s",
        targets={"t": target},
        configurations={
            "one": Configuration.model_validate(own),
            "two": Configuration.model_validate(own | {"clients": 2}),
        },
        workloads={"w": BlobWrite(size=64)},
    )
    assert fan_out._most_clients(suite, {}) == 2
    assert fan_out._most_clients(suite, {"two/w": None}) == 1
