"""The preview of a change: who would get another value, as the API counts it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.flags.preview.change import EXACT_MAX, SAMPLE
from fanion.persons.merge import person_uuid
from tests.flags.blast_radius.test_blast_radius import in_cohort, organizations
from tests.support.application import Json, Tenant, error
from tests.support.examples import examples
from tests.support.management import NOW

PLACE = "/feature_flags/preview_change/"
_numbers = count(1)


async def preview(tenant: Tenant, **body: Any) -> Json:
    answer = await tenant.api.post(PLACE, json=body)
    assert answer.status_code == 200, answer.text
    previewed: Json = answer.json()
    return previewed


def moves(previewed: Json) -> dict[tuple[Any, Any], int]:
    return {
        (transition["before"], transition["after"]): transition["persons"]
        for transition in previewed["transitions"]
    }


def of_person(key: str, value: object, operator: str = "exact") -> Json:
    return {"type": "person", "key": key, "value": value, "operator": operator}


async def people(tenant: Tenant, number: int) -> list[str]:
    """Capture persons and return their distinct ids."""
    names = [f"user{n}" for n in range(number)]
    await tenant.capture(
        *(
            {
                "event": "$identify",
                "distinct_id": name,
                "$set": {"plan": ("pro", "free", "team")[n % 3], "age": n, "beta": n % 2 == 0},
            }
            for n, name in enumerate(names)
        )
    )
    return names


async def values(tenant: Tenant, key: str, names: Sequence[str]) -> list[Any]:
    """Return the values that clients get, one by one; false for a flag that does not exist."""
    clients_values = []
    for name in names:
        body = {"api_key": tenant.token, "distinct_id": name, "flag_keys_to_evaluate": [key]}
        answer = (await tenant.public.post("/flags/?v=2", json=body)).json()
        flag = answer["flags"].get(key)
        clients_values.append(False if flag is None else flag["variant"] or flag["enabled"])
    return clients_values


@pytest.mark.every_engine
async def test_who_gets_which_value_is_counted(tenant: Tenant) -> None:
    names = await people(tenant, 12)
    flag = await tenant.create_flag(
        key="f", filters={"groups": [{"properties": [of_person("plan", "pro")]}]}
    )
    variants = [{"key": "a", "rollout_percentage": 100}]
    groups = [{"properties": [of_person("plan", ["pro", "free"])]}]

    result = await preview(
        tenant, id=flag["id"], filters={"groups": groups, "multivariate": {"variants": variants}}
    )

    assert result == {
        "exact": True,
        "group_type_index": None,
        "total_persons": len(names),
        "sampled_persons": len(names),
        "changed_persons": 8,
        "transitions": [
            {"before": False, "after": "a", "persons": 4, "sampled_persons": 4},
            {"before": True, "after": "a", "persons": 4, "sampled_persons": 4},
            {"before": False, "after": False, "persons": 4, "sampled_persons": 4},
        ],
    }


async def test_a_new_flag_is_false_for_everyone_before(tenant: Tenant) -> None:
    await people(tenant, 3)

    result = await preview(tenant, key="new", filters={"groups": [{}]})
    off = await preview(tenant, key="new", active=False, filters={"groups": [{}]})

    assert moves(result) == {(False, True): 3}
    assert moves(off) == {(False, False): 3}


async def test_a_flag_that_is_deleted_or_comes_back_changes_for_all(tenant: Tenant) -> None:
    await people(tenant, 3)
    flag = await tenant.create_flag(key="f")

    gone = await preview(tenant, id=flag["id"], deleted=True)
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"deleted": True})
    back = await preview(tenant, id=flag["id"], deleted=False)

    assert (moves(gone), moves(back)) == ({(True, False): 3}, {(False, True): 3})


async def test_another_key_is_another_place_in_the_rollout(tenant: Tenant) -> None:
    names = await people(tenant, 30)
    half = {"groups": [{"rollout_percentage": 50}]}
    flag = await tenant.create_flag(key="before", filters=half)
    was = await values(tenant, "before", names)

    result = await preview(tenant, id=flag["id"], key="after")
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"key": "after"})

    now = await values(tenant, "after", names)
    assert moves(result) == Counter(zip(was, now, strict=True))
    assert result["changed_persons"] > 0


async def test_a_flag_that_cannot_be_computed_has_no_value(tenant: Tenant) -> None:
    await people(tenant, 3)
    flag = await tenant.create_flag(key="f")
    await tenant.store_flag(flag, filters={"groups": "none"})

    result = await preview(tenant, id=flag["id"], filters={"groups": [{}]})

    assert moves(result) == {(None, True): 3}


async def test_persons_with_several_ids_count_once_by_the_first(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "$identify", "distinct_id": "b-user"},
        {"event": "$create_alias", "distinct_id": "b-user", "properties": {"alias": "a-user"}},
    )
    filters = {"groups": [{"properties": [of_person("distinct_id", "a-user")]}]}

    assert moves(await preview(tenant, key="f", filters=filters)) == {(False, True): 1}


@pytest.mark.every_engine
async def test_groups_are_counted_for_a_group_flag(tenant: Tenant) -> None:
    await organizations(tenant, 10)
    leaf = {"key": "industry", "type": "group", "group_type_index": 0, "value": ["1", "2"]}
    index = {"aggregation_group_type_index": 0}
    flag = await tenant.create_flag(key="f", filters={"groups": [{"properties": [leaf]}], **index})

    result = await preview(tenant, id=flag["id"], filters={"groups": [{}], **index})

    assert (result["total_persons"], result["group_type_index"]) == (10, 0)
    assert moves(result) == {(True, True): 2, (False, True): 8}


async def test_persons_and_groups_are_not_compared(tenant: Tenant) -> None:
    await organizations(tenant, 2)
    flag = await tenant.create_flag(key="f")
    by_group = {"groups": [{}], "aggregation_group_type_index": 0}

    refused = await tenant.api.post(PLACE, json={"id": flag["id"], "filters": by_group})
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"active": False})
    result = await preview(tenant, id=flag["id"], filters=by_group, active=True)

    detail = (
        "Values for persons and values for groups, or for groups of another type, cannot be "
        "compared."
    )
    assert refused.status_code == 400
    assert refused.json() == error("validation_error", "not_comparable", detail, "filters")
    assert moves(result) == {(False, True): 2}


async def test_nothing_is_stored_or_counted(tenant: Tenant) -> None:
    await people(tenant, 2)
    flag = await tenant.create_flag(key="f")
    before = await tenant.get("/feature_flags/")
    activity = await tenant.get("/feature_flags/activity/")

    await preview(tenant, id=flag["id"], filters={"groups": []}, name="n", tags=["a"])

    assert await tenant.get("/feature_flags/") == before
    assert await tenant.get("/feature_flags/activity/") == activity


# ── Compared with what clients get one by one ─────────────────────────────────────────────

SHARES = st.sampled_from([None, 0, 20, 50, 80, 100])
LEAVES = st.one_of(
    st.builds(of_person, st.just("plan"), st.sampled_from(["pro", ["free", "team"]])),
    st.builds(
        of_person, st.just("age"), st.sampled_from(["2", "5"]), st.sampled_from(["gt", "lte"])
    ),
    st.just(of_person("beta", ["true"])),
    st.just(of_person("none", "x", "is_not")),
    st.sampled_from(["COHORT", "STATIC", "NOT STATIC", "FLAG ON", "FLAG OFF"]),
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.lists(LEAVES, max_size=2),
            "rollout_percentage": SHARES,
            "variant": st.sampled_from([None, None, "a", "b"]),
        }
    ),
    min_size=1,
    max_size=3,
)
VARIANTS = [{"key": "a", "rollout_percentage": 40}, {"key": "b", "rollout_percentage": 60}]
FLAGS = st.fixed_dictionaries(
    {
        "groups": GROUPS,
        "is_multivariate": st.booleans(),
        "enrolls": st.booleans(),
        "holdout": st.sampled_from([None, None, 30]),
        "active": st.sampled_from([True, True, True, False]),
        "ensure_experience_continuity": st.booleans(),
    }
)


def written(drawn: Json, names: dict[str, Json]) -> Json:
    """Return the fields of a drawn flag.

    Args:
        names: Conditions by their names in LEAVES.
    """
    multivariate = {"variants": VARIANTS} if drawn["is_multivariate"] else None
    groups = [
        {
            **group,
            "properties": [names[x] if isinstance(x, str) else x for x in group["properties"]],
            "variant": group["variant"] if multivariate else None,
        }
        for group in drawn["groups"]
    ]
    filters: Json = {"groups": groups, "multivariate": multivariate}
    if drawn["enrolls"]:
        filters["super_groups"] = [{"properties": [of_person("age", ["3", "4"])]}]
    if drawn["holdout"] is not None:
        share = {"rollout_percentage": drawn["holdout"], "variant": "held"}
        filters["holdout_groups"] = [share]
    plain = ("active", "ensure_experience_continuity")
    return {"filters": filters, **{name: drawn[name] for name in plain}}


async def named_conditions(tenant: Tenant) -> dict[str, Json]:
    """Return conditions on new cohorts and a new flag, by name."""
    tree = {"properties": {"type": "AND", "values": [of_person("plan", "pro")]}}
    dynamic = await tenant.api.post("/cohorts/", json={"name": "pro", "filters": tree})
    csv = b"distinct_id\nuser1\nuser2\nuser3\nuser7\n"
    static = await tenant.api.post(
        "/cohorts/", data={"name": "s", "is_static": "true"}, files={"csv": ("c.csv", csv)}
    )
    await tenant.server.calculated()
    half = {"groups": [{"rollout_percentage": 50}]}
    inner = await tenant.create_flag(key=f"inner-{next(_numbers)}", filters=half)
    on_flag = {"type": "flag", "key": str(inner["id"]), "operator": "flag_evaluates_to"}
    members = in_cohort(static.json()["id"])
    return {
        "COHORT": in_cohort(dynamic.json()["id"]),
        "STATIC": members,
        "NOT STATIC": {**members, "operator": "not_in"},
        "FLAG ON": {**on_flag, "value": True},
        "FLAG OFF": {**on_flag, "value": False},
    }


@pytest.fixture
async def conditions(tenant: Tenant) -> dict[str, Json]:
    """Return the conditions that all examples use, of ten persons."""
    await people(tenant, 10)
    return await named_conditions(tenant)


@settings(
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(saved=FLAGS, changed=FLAGS, kept=st.booleans())
async def test_the_effect_is_what_clients_get_one_by_one(
    tenant: Tenant, conditions: dict[str, Json], saved: Json, changed: Json, kept: bool
) -> None:
    names = sorted(f"user{n}" for n in range(10))
    key = f"flag-{next(_numbers)}"
    flag = await tenant.create_flag(key=key, **written(saved, conditions))
    if kept:
        await tenant.decide(names[0], **{"$anon_distinct_id": "visitor-1"})
    fields = written(changed, conditions)

    was = await values(tenant, key, names)
    result = await preview(tenant, id=flag["id"], **fields)
    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=fields)
    assert answer.status_code == 200, answer.text
    now = await values(tenant, key, names)

    assert result["exact"] is True
    assert moves(result) == Counter(zip(was, now, strict=True))


# ── Many persons ──────────────────────────────────────────────────────────────────────────


async def insert_persons(tenant: Tenant, number: int) -> None:
    project_id = tenant.project_id
    async with tenant.server.records.write() as connection:
        for start in range(0, number, 5_000):
            names = [f"user{n}" for n in range(start, min(start + 5_000, number))]
            rows = [
                {
                    "project_id": project_id,
                    "uuid": person_uuid(project_id, name),
                    "properties": {"plan": "pro" if n % 4 else "free"},
                    "is_identified": True,
                    "created_at": NOW,
                    "version": 1,
                    "email": None,
                }
                for n, name in enumerate(names)
            ]
            await connection.execute(insert(persons), rows)
            inserted = await connection.execute(
                persons.select().where(
                    persons.c.project_id == project_id,
                    persons.c.uuid.in_([row["uuid"] for row in rows]),
                )
            )
            by_uuid = {row.uuid: row.id for row in inserted}
            links = [
                {
                    "project_id": project_id,
                    "distinct_id": name,
                    "person_id": by_uuid[row["uuid"]],
                }
                for name, row in zip(names, rows, strict=True)
            ]
            await connection.execute(insert(person_distinct_ids), links)


# It takes seconds: more persons than the limit are stored, and asked about twice.
async def test_more_persons_than_the_limit_are_sampled(tenant: Tenant) -> None:
    await insert_persons(tenant, EXACT_MAX + 1_000)
    filters = {"groups": [{"properties": [of_person("plan", "free")]}, {"rollout_percentage": 20}]}

    result = await preview(tenant, key="f", filters=filters)
    again = await preview(tenant, key="f", filters=filters)

    assert (result["exact"], result["sampled_persons"]) == (False, SAMPLE)
    assert result["total_persons"] == EXACT_MAX + 1_000
    counted = {
        transition["after"]: transition["sampled_persons"] for transition in result["transitions"]
    }
    assert sum(counted.values()) == SAMPLE
    # A quarter of the persons is on the free plan, and a fifth of the others is included.
    assert abs(counted[True] / SAMPLE - 0.4) < 0.02
    scaled = round(counted[True] * result["total_persons"] / SAMPLE)
    assert moves(result)[False, True] == result["changed_persons"] == scaled
    assert again == result


# ── Bounds ────────────────────────────────────────────────────────────────────────────────


async def test_a_stale_version_is_refused_as_by_a_save(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f")
    sent = {"name": "n", "version": 7}

    saved = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=sent)
    for operation in ("preview_change", "reach", "evaluation_reasons"):
        answer = await tenant.api.post(
            f"/feature_flags/{operation}/", json={**sent, "id": flag["id"]}
        )

        assert (answer.status_code, answer.json()) == (409, saved.json())


async def test_a_large_body_is_refused(tenant: Tenant) -> None:
    filters = {"groups": [{"properties": [of_person("a", ["x" * 300] * 999)]}]}

    for operation in ("preview_change", "reach", "evaluation_reasons"):
        answer = await tenant.api.post(
            f"/feature_flags/{operation}/", json={"key": "f", "filters": filters}
        )

        assert answer.status_code == 413
        assert answer.json()["code"] == "payload_too_large"


REFUSED: dict[str, Json] = {
    "no key": {},
    "an odd key": {"key": "a b"},
    "a key that is taken": {"key": "taken"},
    "no groups": {"key": "f", "filters": {"groups": []}},
    "an unknown name": {"key": "f", "fliters": {}},
    "an unknown name within": {"key": "f", "filters": {"groups": [{"propertis": []}]}},
    "an operator": {"key": "f", "filters": {"groups": [{"properties": [of_person("a", 1, "=")]}]}},
    "a cohort": {"key": "f", "filters": {"groups": [{"properties": [in_cohort(987654)]}]}},
    "a flag": {
        "key": "f",
        "filters": {
            "groups": [
                {
                    "properties": [
                        {
                            "type": "flag",
                            "key": "none",
                            "value": True,
                            "operator": "flag_evaluates_to",
                        }
                    ]
                }
            ]
        },
    },
    "variants": {
        "key": "f",
        "filters": {
            "groups": [{}],
            "multivariate": {"variants": [{"key": "a", "rollout_percentage": 1}]},
        },
    },
    "early exit": {"key": "f", "filters": {"groups": [{}], "early_exit": True}},
    "a dashboard": {"key": "f", "analytics_dashboards": [987654]},
    "a number": {"key": "f", "active": 5},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_a_save_refuses_is_refused_alike(tenant: Tenant, name: str) -> None:
    await tenant.create_flag(key="taken")
    created = await tenant.api.post("/feature_flags/", json=REFUSED[name])
    assert created.status_code == 400, created.text

    for operation in ("preview_change", "evaluation_reasons"):
        answer = await tenant.api.post(f"/feature_flags/{operation}/", json=REFUSED[name])

        assert (answer.status_code, answer.json()) == (400, created.json())


CHANGES: dict[str, Json] = {
    "a key that is taken": {"key": "taken"},
    "a key that others need": {"key": "renamed"},
    "deleted, and others need it": {"deleted": True},
    "a circle": {
        "filters": {
            "groups": [
                {
                    "properties": [
                        {
                            "type": "flag",
                            "key": "taken",
                            "value": True,
                            "operator": "flag_evaluates_to",
                        }
                    ]
                }
            ]
        }
    },
    "null": {"active": None},
}


@pytest.mark.parametrize("name", CHANGES)
async def test_what_a_change_refuses_is_refused_alike(tenant: Tenant, name: str) -> None:
    flag = await tenant.create_flag(key="f")
    on_flag = {"type": "flag", "key": "f", "value": True, "operator": "flag_evaluates_to"}
    await tenant.create_flag(key="taken", filters={"groups": [{"properties": [on_flag]}]})
    changed = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=CHANGES[name])
    assert changed.status_code == 400, changed.text

    for operation in ("preview_change", "reach", "evaluation_reasons"):
        fields_sent = {**CHANGES[name], "id": flag["id"]}
        answer = await tenant.api.post(f"/feature_flags/{operation}/", json=fields_sent)

        assert (answer.status_code, answer.json()) == (400, changed.json())


async def test_a_flag_of_another_project_is_not_found(tenant: Tenant) -> None:
    for operation in ("preview_change", "reach", "evaluation_reasons"):
        answer = await tenant.api.post(f"/feature_flags/{operation}/", json={"id": 987654321})

        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", "Not found.")


OWN: dict[str, tuple[Json, str]] = {
    "two persons": ({"distinct_id": "a", "email": "b"}, "email"),
    "an empty id": ({"distinct_id": ""}, "distinct_id"),
    "no UUID": ({"person_id": "5"}, "person_id"),
    "nobody": ({"person_id": "00000000-0000-0000-0000-000000000000"}, "person_id"),
    "an unknown address": ({"email": "nobody@example.com"}, "email"),
    "groups that are a list": ({"groups": []}, "groups"),
    "a group that is an object": ({"groups": {"org": {}}}, "groups__org"),
    "properties of groups": ({"group_properties": {"org": 5}}, "group_properties__org"),
    "an id of a flag": ({"id": 0}, "id"),
    "a misspelt name": ({"distinct_ids": "a"}, "distinct_ids"),
}


@pytest.mark.parametrize("name", OWN)
async def test_own_fields_are_checked(tenant: Tenant, name: str) -> None:
    sent, attr = OWN[name]

    answer = await tenant.api.post("/feature_flags/evaluation_reasons/", json={"key": "f", **sent})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert answer.json()["type"] == "validation_error"


async def test_several_users_wait_for_their_turn(tenant: Tenant) -> None:
    await people(tenant, 3)
    flags = [await tenant.create_flag(key=f"f{n}") for n in range(4)]

    result = await asyncio.gather(
        *(preview(tenant, id=flag["id"], filters={"groups": []}) for flag in flags)
    )

    assert [moves(each) for each in result] == [{(True, False): 3}] * 4
