"""Explanations of an unsaved flag's values, next to those of the saved one."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.management import add_key

FLAGS, PERSONS = "feature_flag:read", "person:read"
PLACE = "/feature_flags/evaluation_reasons/"
EVERYBODY: Json = {"groups": [{}]}


async def ask(tenant: Tenant, **body: Any) -> Json:
    answer = await tenant.api.post(PLACE, json=body)
    assert answer.status_code == 200, answer.text
    answered: Json = answer.json()
    return answered


def of_person(key: str, value: object = None, operator: str = "exact", **more: Any) -> Json:
    return {"type": "person", "key": key, "value": value, "operator": operator, **more}


async def identify(tenant: Tenant, distinct_id: str, **properties: Any) -> None:
    await tenant.capture(
        {"event": "$identify", "distinct_id": distinct_id, "$set": {**properties, "name": "x"}}
    )


async def test_each_condition_says_what_it_compared(tenant: Tenant) -> None:
    await identify(tenant, "ann", plan="pro", age=30)
    flag = await tenant.create_flag(
        key="alpha-feature", filters={"groups": [{"rollout_percentage": 0}]}
    )
    groups = [
        {"properties": [of_person("plan", "free")]},
        {"properties": [of_person("age", "20", "gt"), of_person("none", operator="is_not_set")]},
        {"rollout_percentage": 30},
    ]

    answered = await ask(tenant, id=flag["id"], filters={"groups": groups}, distinct_id="ann")

    saved, unsaved = answered["saved"], answered["unsaved"]
    assert answered["distinct_id"] == "ann"
    assert (saved["value"], saved["reason"], saved["condition_index"]) == (
        False,
        "out_of_rollout_bound",
        0,
    )
    assert (unsaved["value"], unsaved["reason"], unsaved["condition_index"]) == (
        True,
        "condition_match",
        1,
    )
    assert unsaved["bucket"] == saved["bucket"]
    assert unsaved["bucket"]["identifier"] == "ann"
    first, second, third = unsaved["conditions"]
    assert first == {
        "index": 0,
        "position": 0,
        "is_reached": True,
        "value": False,
        "reason": "no_condition_match",
        "rollout_percentage": None,
        "variant": None,
        "properties": [
            {
                "key": "plan",
                "type": "person",
                "operator": "exact",
                "is_set": True,
                "compared": "pro",
                "source": "stored",
                "matches": False,
            }
        ],
    }
    assert (second["is_reached"], second["reason"]) == (True, "condition_match")
    assert [
        (item["compared"], item["is_set"], item["matches"]) for item in second["properties"]
    ] == [
        (30, True, True),
        (None, False, True),
    ]
    assert (third["is_reached"], third["rollout_percentage"]) == (False, 30)


async def test_the_numbers_are_those_of_the_hash(tenant: Tenant) -> None:
    """The buckets are the published hashes.

    Source: flags.md section 3.
    """
    variants = [
        {"key": name, "rollout_percentage": share}
        for name, share in (("first", 50), ("second", 25), ("third", 25))
    ]
    filters = {
        "groups": [{"rollout_percentage": 50}],
        "multivariate": {"variants": variants},
        "payloads": {"second": '{"a": 1}'},
    }

    answered = await ask(tenant, key="beta-feature", filters=filters, distinct_id="example_id")

    unsaved = answered["unsaved"]
    assert answered["saved"] is None
    assert (unsaved["value"], unsaved["payload"]) == ("second", '{"a": 1}')
    assert unsaved["bucket"]["rollout"] == pytest.approx(20.93039334578348)
    assert unsaved["bucket"]["variant"] == pytest.approx(63.63703338989186)


async def test_what_is_pretended_hides_what_is_stored(tenant: Tenant) -> None:
    await identify(tenant, "ann", plan="pro")
    filters = {"groups": [{"properties": [of_person("plan", "free"), of_person("x", "1")]}]}
    pretended = {"plan": "free", "x": 1}

    answered = await ask(
        tenant, key="f", filters=filters, distinct_id="ann", person_properties=pretended
    )

    assert answered["unsaved"]["value"] is True
    [condition] = answered["unsaved"]["conditions"]
    assert [(item["compared"], item["source"]) for item in condition["properties"]] == [
        ("free", "sent"),
        (1, "sent"),
    ]
    assert (await tenant.person("ann"))["properties"]["plan"] == "pro"


@pytest.mark.every_engine
async def test_a_person_is_meant_by_e_mail_or_id(tenant: Tenant) -> None:
    await identify(tenant, "ann", email="Ann@Example.com", plan="pro")
    await identify(tenant, "bob", email="bob@example.com")
    person = await tenant.person("ann")
    filters = {"groups": [{"properties": [of_person("plan", "pro")]}]}

    by_email = await ask(tenant, key="f", filters=filters, email="ann@example.COM")
    by_id = await ask(tenant, key="f", filters=filters, person_id=person["uuid"])

    assert by_email["unsaved"]["value"] is True
    assert by_email == by_id
    assert by_id["distinct_id"] == "ann"


async def test_a_merged_person_is_its_survivor(tenant: Tenant) -> None:
    await identify(tenant, "ann", plan="pro")
    await identify(tenant, "old")
    former = (await tenant.person("old"))["uuid"]
    alias = {"alias": "old"}
    await tenant.capture({"event": "$merge_dangerously", "distinct_id": "ann", "properties": alias})

    answered = await ask(tenant, key="f", filters=EVERYBODY, person_id=former)

    assert answered["distinct_id"] == "ann"


async def test_two_persons_with_one_address_are_not_guessed(tenant: Tenant) -> None:
    await identify(tenant, "ann", email="a@b.example")
    await identify(tenant, "bob", email="a@b.example")

    answer = await tenant.api.post(PLACE, json={"key": "f", "email": "a@b.example"})

    detail = "Several persons have this e-mail address. Give a person_id or a distinct_id."
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "not_unique", detail, "email")


async def test_without_a_person_the_caller_is_meant(tenant: Tenant) -> None:
    answered = await ask(tenant, key="f", filters=EVERYBODY)

    assert answered["distinct_id"] == tenant.owner["distinct_id"]


async def test_a_group_takes_the_place_of_the_person(tenant: Tenant) -> None:
    await tenant.capture(
        {
            "event": "$groupidentify",
            "distinct_id": "ann",
            "properties": {
                "$group_type": "organization",
                "$group_key": "org1",
                "$group_set": {"plan": "pro"},
            },
        }
    )
    leaf = {"type": "group", "group_type_index": 0, "value": "pro", "key": "plan"}
    filters = {"groups": [{"properties": [leaf]}], "aggregation_group_type_index": 0}

    alone = await ask(tenant, key="f", filters=filters, distinct_id="ann")
    stored = await ask(
        tenant, key="f", filters=filters, distinct_id="ann", groups={"organization": "org1"}
    )
    pretended = await ask(
        tenant,
        key="f",
        filters=filters,
        distinct_id="ann",
        groups={"organization": "org1"},
        group_properties={"organization": {"plan": "free"}},
    )

    assert (alone["unsaved"]["reason"], alone["unsaved"]["bucket"]) == ("no_group_type", None)
    assert [item["matches"] for item in alone["unsaved"]["conditions"][0]["properties"]] == [None]
    assert stored["unsaved"]["value"] is True
    assert stored["unsaved"]["bucket"]["identifier"] == "org1"
    assert stored["unsaved"]["conditions"][0]["properties"][0]["source"] == "stored"
    assert pretended["unsaved"]["value"] is False
    assert pretended["unsaved"]["conditions"][0]["properties"][0]["compared"] == "free"


async def test_cohorts_and_other_flags_say_what_they_are(tenant: Tenant) -> None:
    await identify(tenant, "ann", plan="pro")
    tree = {"properties": {"type": "AND", "values": [of_person("plan", "pro")]}}
    cohort = (await tenant.api.post("/cohorts/", json={"name": "c", "filters": tree})).json()["id"]
    inner = await tenant.create_flag(key="inner", filters=EVERYBODY)
    leaves = [
        {"type": "cohort", "key": "id", "value": cohort, "operator": "not_in"},
        {
            "type": "flag",
            "key": str(inner["id"]),
            "value": True,
            "operator": "flag_evaluates_to",
        },
    ]

    answered = await ask(
        tenant, key="f", filters={"groups": [{"properties": leaves}]}, distinct_id="ann"
    )

    unsaved = answered["unsaved"]
    assert unsaved["value"] is False
    in_cohort, of_flag = unsaved["conditions"][0]["properties"]
    assert (in_cohort["type"], in_cohort["operator"]) == ("cohort", "not_in")
    assert (in_cohort["compared"], in_cohort["matches"]) == (True, False)
    assert (of_flag["key"], of_flag["compared"], of_flag["matches"]) == (
        str(inner["id"]),
        True,
        True,
    )


async def test_what_comes_before_the_conditions_is_told(tenant: Tenant) -> None:
    await identify(tenant, "ann", **{"$feature_enrollment/f": True})
    early = {"properties": [of_person("$feature_enrollment/f", ["true"])]}
    enrolled = {"groups": [{}], "super_groups": [early]}
    held = {"groups": [{}], "holdout_groups": [{"rollout_percentage": 100, "variant": "held"}]}

    answered = await ask(tenant, key="f", filters=enrolled, distinct_id="ann")
    other = await ask(tenant, key="f", filters=enrolled, distinct_id="bob")
    out = await ask(tenant, key="f", filters=held, distinct_id="ann")

    assert (answered["unsaved"]["reason"], answered["unsaved"]["value"]) == (
        "super_condition_value",
        True,
    )
    assert answered["unsaved"]["super_condition"]["properties"][0]["compared"] is True
    assert answered["unsaved"]["conditions"][0]["is_reached"] is False
    assert other["unsaved"]["reason"] == "condition_match"
    assert other["unsaved"]["conditions"][0]["is_reached"] is True
    assert (out["unsaved"]["is_held_out"], out["unsaved"]["value"]) == (True, "held")
    assert out["unsaved"]["conditions"][0]["is_reached"] is False


async def test_conditions_with_a_variant_come_first(tenant: Tenant) -> None:
    variants = [{"key": name, "rollout_percentage": 50} for name in ("a", "b")]
    filters = {"groups": [{}, {"variant": "b"}], "multivariate": {"variants": variants}}

    answered = await ask(tenant, key="f", filters=filters, distinct_id="ann")

    plain, forced = answered["unsaved"]["conditions"]
    assert (plain["position"], plain["is_reached"]) == (1, False)
    assert (forced["position"], forced["is_reached"], forced["value"]) == (0, True, "b")
    assert (answered["unsaved"]["value"], answered["unsaved"]["condition_index"]) == ("b", 1)


async def test_a_flag_that_is_off_still_explains_its_conditions(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f", active=False, filters=EVERYBODY)

    answered = await ask(tenant, id=flag["id"], active=True, distinct_id="ann")

    assert (answered["saved"]["value"], answered["saved"]["reason"]) == (False, "disabled")
    assert answered["saved"]["conditions"][0]["reason"] == "condition_match"
    assert answered["unsaved"]["value"] is True


async def test_a_deleted_flag_has_no_value(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f", filters=EVERYBODY)

    gone = await ask(tenant, id=flag["id"], deleted=True, distinct_id="ann")
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"deleted": True})
    back = await ask(tenant, id=flag["id"], deleted=False, distinct_id="ann")

    assert (gone["saved"]["value"], gone["unsaved"]) == (True, None)
    assert (back["saved"], back["unsaved"]["value"]) == (None, True)


async def test_a_kept_identity_is_what_is_hashed(tenant: Tenant) -> None:
    flag = await tenant.create_flag(
        key="beta-feature",
        filters={"groups": [{"rollout_percentage": 30}]},
        ensure_experience_continuity=True,
    )
    await identify(tenant, "other_id")
    fields = {"$anon_distinct_id": "example_id"}
    assert (await tenant.decide("other_id", **fields))["featureFlags"]["beta-feature"] is True

    kept = await ask(tenant, id=flag["id"], distinct_id="other_id")
    anew = await ask(
        tenant, id=flag["id"], ensure_experience_continuity=False, distinct_id="other_id"
    )

    assert kept["saved"]["bucket"]["identifier"] == "example_id"
    assert kept["saved"]["value"] is True
    assert anew["unsaved"]["bucket"]["identifier"] == "other_id"
    assert anew["unsaved"]["value"] is False


async def test_a_device_is_hashed_where_the_flag_goes_by_device(tenant: Tenant) -> None:
    fields = {"key": "f", "filters": EVERYBODY, "bucketing_identifier": "device_id"}

    answered = await ask(tenant, **fields, distinct_id="ann", device_id="phone")

    assert answered["unsaved"]["bucket"]["identifier"] == "phone"


async def test_a_long_value_is_cut(tenant: Tenant) -> None:
    filters = {"groups": [{"properties": [of_person("a", "x"), of_person("b", "x")]}]}
    pretended = {"a": "y" * 5000, "b": ["z" * 5000]}

    answered = await ask(
        tenant, key="f", filters=filters, distinct_id="ann", person_properties=pretended
    )

    compared = [item["compared"] for item in answered["unsaved"]["conditions"][0]["properties"]]
    assert compared == ["y" * 500 + "…", '["' + "z" * 498 + "…"]


async def test_nothing_is_counted_or_stored(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f", filters=EVERYBODY)
    before = await tenant.get("/feature_flags/")

    await ask(tenant, id=flag["id"], filters={"groups": []}, name="other", distinct_id="nobody")

    assert await tenant.get("/feature_flags/") == before
    assert (await tenant.get("/persons/"))["results"] == []
    counters = tenant.server.running.public.flags.evaluator.counters.take_counts()
    assert "f" not in {key for key, _ in counters.get(tenant.project_id, {})}


async def test_both_agree_with_what_clients_get(tenant: Tenant) -> None:
    groups = [
        {"properties": [of_person("plan", "pro")], "rollout_percentage": 40},
        {"rollout_percentage": 60},
    ]
    flag = await tenant.create_flag(key="f", filters={"groups": groups})
    for number in range(6):
        await identify(tenant, f"u{number}", plan="pro" if number % 2 else "free")

    for number in range(6):
        decided = (await tenant.decide(f"u{number}", "?v=4"))["flags"]["f"]
        answered = (await ask(tenant, id=flag["id"], distinct_id=f"u{number}"))["saved"]
        reasons = await tenant.get(PLACE, distinct_id=f"u{number}")
        assert answered["value"] == decided["enabled"]
        assert answered["reason"] == decided["reason"]["code"]
        assert reasons["f"]["evaluation"] == {
            "reason": answered["reason"],
            "condition_index": answered["condition_index"],
        }


async def test_a_key_needs_the_scopes_of_what_is_shown(tenant: Tenant) -> None:
    records = tenant.server.records
    flags_only = await add_key(records, tenant.user_id, f"phx_f{tenant.project_id}", [FLAGS])
    persons = await add_key(records, tenant.user_id, f"phx_p{tenant.project_id}", [FLAGS, PERSONS])
    path = f"/api/projects/{tenant.project_id}{PLACE}"

    async def ask_with(key: str, **body: Any) -> tuple[int, str]:
        async with tenant.server.client(key) as client:
            answer = await client.post(path, json={"key": "f", **body})
            return answer.status_code, answer.json().get("detail", "")

    missing = "API key missing required scope '{}'"
    assert await ask_with(flags_only) == (403, missing.format(PERSONS))
    assert await ask_with(persons) == (200, "")
    assert await ask_with(persons, groups={"org": "o"}) == (403, missing.format("group:read"))


async def test_a_flag_of_very_many_conditions_is_refused(tenant: Tenant) -> None:
    many: Json = {"groups": [{}] * 201}
    flag = await tenant.create_flag(key="large", filters=many)

    for body in ({"key": "f", "filters": many}, {"id": flag["id"]}):
        answer = await tenant.api.post(PLACE, json=body)

        detail = "Ensure there are at most 200 groups, not 201."
        assert answer.status_code == 400
        assert answer.json() == error("validation_error", "invalid_input", detail, "filters")


async def test_a_flag_is_sent_as_json(tenant: Tenant) -> None:
    for sent in ({"data": {"key": "f"}}, {"files": {"key": (None, b"f")}}):
        answer = await tenant.api.post(PLACE, **sent)

        detail = "Send the flag as JSON, not as a form."
        assert answer.status_code == 400
        assert answer.json() == error("validation_error", "invalid_input", detail)
