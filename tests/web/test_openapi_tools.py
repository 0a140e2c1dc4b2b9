"""The OpenAPI document of the whole application can be read by validators and generators."""

from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.support.application import Json, Tenant

# YAML needs another notation for keys of more than 1,024 characters; the longest path has 81.
KEY_CHARS_MAX = 100


@pytest.fixture
async def document(tenant: Tenant) -> Json:
    schema: Json = (await tenant.public.get("/api/schema/")).json()
    return schema


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of the document."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from nodes(member)


async def test_a_validator_finds_no_error(document: Json) -> None:
    # Three seconds: it checks each of 140 paths and 220 components against the specification.
    errors = OpenAPIV31SpecValidator(document).iter_errors()

    assert [f"{list(error.absolute_path)}: {error.message}" for error in errors] == []


async def test_no_key_is_too_long_for_yaml(document: Json) -> None:
    too_long = {name for node in nodes(document) for name in node if len(name) > KEY_CHARS_MAX}

    assert too_long == set()
