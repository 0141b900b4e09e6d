"""The ways out of a VPC: whether its route tables lead to S3, S3 Express and the accelerate hosts.

A function in a VPC has no public address: an internet gateway alone leads it nowhere. The gateway endpoint
of S3 does not serve directory buckets, which have one of their own, and none carries Transfer Acceleration
(Amazon S3 User Guide; AWS Lambda Developer Guide, internet access for functions in a VPC).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, Field

from configs.lab_marker import LAB_MARKER
from configs.venues import LambdaVenueConfig
from tasks.access.s3_client import lab_session
from tasks.doctor.findings import Finding
from tasks.doctor.requests import why_not_told

_EVERYWHERE: Final = "0.0.0.0/0"
_ACCELERATE: Final = "s3-accelerate"
_CONFIG: Final = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})


@dataclass(frozen=True, slots=True)
class Network:
    """Where a function runs."""

    vpc_id: str
    subnet_ids: tuple[str, ...]
    region: str


class _Association(BaseModel):
    main: bool = Field(default=False, alias="Main")
    subnet_id: str = Field(default="", alias="SubnetId")


class _Route(BaseModel):
    destination: str = Field(default="", alias="DestinationCidrBlock")
    gateway_id: str = Field(default="", alias="GatewayId")
    state: str = Field(default="active", alias="State")

    @property
    def leads_out(self) -> bool:
        """By a NAT gateway or whatever else is no internet gateway, which serves public addresses alone."""
        is_default = self.destination == _EVERYWHERE and self.state == "active"
        return is_default and not self.gateway_id.startswith("igw-")


class _RouteTable(BaseModel):
    table_id: str = Field(alias="RouteTableId")
    associations: list[_Association] = Field(default_factory=list, alias="Associations")
    routes: list[_Route] = Field(default_factory=list, alias="Routes")


class _Endpoint(BaseModel):
    service: str = Field(alias="ServiceName")
    kind: str = Field(default="Gateway", alias="VpcEndpointType")
    state: str = Field(default="available", alias="State")
    table_ids: list[str] = Field(default_factory=list, alias="RouteTableIds")
    private_dns: bool = Field(default=False, alias="PrivateDnsEnabled")

    def serves(self, table: _RouteTable) -> bool:
        """Whether requests of subnets with this table go through it without being told to."""
        if self.state.lower() != "available":
            return False
        return table.table_id in self.table_ids if self.kind == "Gateway" else self.private_dns


def ec2_client(venue: LambdaVenueConfig, environment: Mapping[str, str]) -> Any:
    """A client of EC2 where a venue's function is."""
    session = lab_session(environment) if LAB_MARKER in environment else boto3.Session()
    return session.client("ec2", region_name=venue.region, endpoint_url=venue.endpoint_url, config=_CONFIG)


def ways_of(client: Any, network: Network, needed: Mapping[str, str]) -> Iterator[Finding]:
    """For each service that is needed, whether all subnets have a way to it.

    Args:
        client: of EC2.
        network: the subnets.
        needed: what each service is needed for, by `s3`, `s3express` and `s3-accelerate`.
    """
    of_vpc = [{"Name": "vpc-id", "Values": [network.vpc_id]}]
    try:
        tables = [
            _RouteTable.model_validate(one) for one in _all(client, "route_tables", "RouteTables", of_vpc)
        ]
        endpoints = [
            _Endpoint.model_validate(one) for one in _all(client, "vpc_endpoints", "VpcEndpoints", of_vpc)
        ]
    except (ClientError, BotoCoreError) as error:
        what = why_not_told(error, f"ask for the routes of {network.vpc_id}")
        yield Finding(
            "unknown", "routes", what, "let them ec2:DescribeRouteTables and ec2:DescribeVpcEndpoints"
        )
        return
    for service, what_for in needed.items():
        usable = [one for one in endpoints if one.service.endswith(f".{network.region}.{service}")]
        without = [
            subnet_id
            for subnet_id in network.subnet_ids
            if not _has_way(_table_of(subnet_id, tables), usable)
        ]
        yield _way(service, what_for, without, network)


def _all(client: Any, what: str, key: str, filters: list[dict[str, Sequence[str]]]) -> list[object]:
    pages = client.get_paginator(f"describe_{what}").paginate(Filters=filters)
    return [one for page in pages for one in page.get(key, [])]


def _table_of(subnet_id: str, tables: list[_RouteTable]) -> _RouteTable | None:
    """Its own, or else the main one of the VPC."""
    own = (table for table in tables if any(one.subnet_id == subnet_id for one in table.associations))
    main = (table for table in tables if any(one.main for one in table.associations))
    return next(own, None) or next(main, None)


def _has_way(table: _RouteTable | None, endpoints: list[_Endpoint]) -> bool:
    if table is None:
        return False
    return any(one.serves(table) for one in endpoints) or any(route.leads_out for route in table.routes)


def _way(service: str, what_for: str, without: list[str], network: Network) -> Finding:
    check = f"route to {service}"
    if not without:
        return Finding("right", check, f"from {', '.join(network.subnet_ids)}")
    fix = (
        "give their route tables a default route to a NAT gateway"
        if service == _ACCELERATE
        else f"add a gateway endpoint com.amazonaws.{network.region}.{service}, which is free, to their "
        "route tables"
    )
    return Finding("wrong", check, f"none from {', '.join(without)}, for {what_for}", fix)
