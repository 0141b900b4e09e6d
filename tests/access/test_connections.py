"""Every thread finds a connection that is open already: none is opened inside a sample."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from configs.access_paths import Boto3Api, Obstore
from configs.targets import AcceleratedBucketTarget
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.registry import access_path
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from conftest import SlowServer

    from tasks.access.protocol import ObjectPath


def test_as_many_connections_as_threads_are_opened_before_the_first_sample(server: "SlowServer") -> None:
    server.before_headers_s = 0.02
    access = Boto3ApiPath(Boto3Api(max_attempts=1), server.target)
    access.connect(4)
    assert server.connections == 4
    with ThreadPoolExecutor(4) as pool:
        answers = [access.answer(native) for _, native in pool.map(access.read, ["k"] * 40)]
    assert server.connections == 4
    assert {answer.connect_ns for answer in answers} == {None}
    assert access.proof()["connections_in_block"] == "4"
    access.close()


def test_an_answer_so_quick_that_two_threads_share_a_connection_is_no_reason_to_have_fewer(
    server: "SlowServer",
) -> None:
    access = Boto3ApiPath(Boto3Api(max_attempts=1), server.target)
    access.connect(3)
    assert server.connections == 3
    access.close()


@pytest.mark.usefixtures("aws_environment")
def test_each_thread_keeps_its_connection_through_a_proxy(aws_shaped_lab: LabState) -> None:
    target = AcceleratedBucketTarget(bucket=aws_shaped_lab.bucket, region=aws_shaped_lab.region)
    access = Boto3ApiPath(Boto3Api(), target)
    access.connect(4)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(access.list_keys, ["s3bench/none/"] * 8))
    assert access.proof()["connections_in_block"] == "4"
    access.close()


@pytest.mark.parametrize("config", [Boto3Api(max_attempts=1), Obstore(max_attempts=1)])
def test_the_first_byte_is_there_before_the_body(server: "SlowServer", config: Boto3Api | Obstore) -> None:
    access = cast("ObjectPath", access_path(config, server.target))
    access.connect(1)
    server.before_headers_s, server.before_body_s = 0.04, 0.0
    slow_headers = access.answer(access.read("k")[1])
    server.before_headers_s, server.before_body_s = 0.0, 0.04
    started_ns = time.perf_counter_ns()
    slow_body = access.answer(access.read("k")[1])
    elapsed_ns = time.perf_counter_ns() - started_ns
    assert (slow_headers.ttfb_ns or 0) > 38e6
    assert (slow_body.ttfb_ns or 0) > 0
    assert elapsed_ns - (slow_body.ttfb_ns or 0) > 38e6
    access.close()
