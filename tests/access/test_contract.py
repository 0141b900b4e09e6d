"""What every access path must do; a new one is covered as soon as it stands in the registry."""

import typing
from collections.abc import Iterator

import pytest

from configs.access_paths import AccessPathConfig
from configs.targets import BucketTarget, MountTarget, TargetConfig
from tasks.access.protocol import AccessPath, Upload
from tasks.access.registry import ADAPTERS, access_path
from tasks.lab.state import LabState

VARIANTS = typing.get_args(typing.get_args(AccessPathConfig)[0])
PREFIX = "s3bench/contract/"
PAYLOAD = bytes(range(256)) * 300


def target_for(config: AccessPathConfig, lab: LabState) -> TargetConfig:
    if config.serves == "bucket":
        return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    return MountTarget(shows="bucket", path=lab.mount_path)


@pytest.fixture(params=VARIANTS, ids=lambda variant: variant.model_fields["kind"].default)
def access(
    request: pytest.FixtureRequest, lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AccessPath]:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    config = request.param()
    path = access_path(config, target_for(config, lab))
    path.connect(1)
    yield path
    path.delete(path.list_keys(PREFIX))
    path.close()


def test_every_configuration_variant_has_an_adapter_and_no_adapter_is_left_over() -> None:
    assert {variant.model_fields["kind"].default for variant in VARIANTS} == set(ADAPTERS)


def test_what_is_written_can_be_read_listed_and_deleted(access: AccessPath) -> None:
    keys = [f"{PREFIX}a.bin", f"{PREFIX}deep/er/b c+%é.bin"]
    for key in keys:
        access.ready_for_writes(key.rpartition("/")[0] + "/")
        access.answer(access.write(Upload(key, PAYLOAD)))
    assert sorted(access.list_keys(PREFIX)) == keys
    for key in keys:
        body, native = access.read(key)
        assert body == PAYLOAD
        assert access.answer(native).http_status in {200, None}
        assert access.size_of(key) == len(PAYLOAD)
    access.delete(keys)
    assert access.list_keys(PREFIX) == []


def test_an_overwritten_object_is_read_anew(access: AccessPath) -> None:
    key = f"{PREFIX}again.bin"
    access.ready_for_writes(PREFIX)
    for payload in (PAYLOAD, PAYLOAD[::-1] + b"longer"):
        access.write(Upload(key, payload))
        assert access.read(key)[0] == payload


def test_it_proves_what_ran_and_names_its_cache_states(access: AccessPath) -> None:
    assert access.proof()["client"]
    assert all(isinstance(value, str) for value in access.proof().values())
    assert access.cache_states.single
    assert access.cache_states.unique


def test_a_missing_object_is_explained_by_kind(access: AccessPath) -> None:
    if access.proof()["client"] == "none":
        pytest.skip("the no-op path has no missing objects")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each client has an exception of its own
        access.read(f"{PREFIX}nowhere.bin")
    assert access.failure(raised.value).error in {"NoSuchKey", "ENOENT"}
