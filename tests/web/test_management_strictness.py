"""Typical mistakes in requests to the management API, apart from flags and cohorts.

They are rejected with the name of the field and a suggestion, and change nothing.
"""

from typing import Any

import pytest
from sqlalchemy import Table, update

from fanion.db.schema.insights import dashboards, insights
from tests.support.application import Json, Tenant
from tests.support.batch_exports import BATCH_EXPORT

HOOK = {"url": "https://hooks.example.com/a"}
TREND: Json = {"insight": "TRENDS", "events": [{"id": "seen"}]}


def trend(**more: Any) -> Json:
    return {"filters": {**TREND, **more}}


def condition(**more: Any) -> Json:
    return trend(properties=[{"key": "plan", "value": "pro", **more}])


# By operation: body, `attr`, and a part of `detail`.
CREATED: dict[str, list[tuple[Json, str, str]]] = {
    "/insights/": [
        ({"filtres": {}}, "filtres", 'Did you mean "filters"?'),
        ({"query": {"kind": "TrendQuery"}}, "query__kind", '"TrendsQuery"'),
        ({"dashboard": 7}, "dashboard", "Set dashboards."),
        ({"deleted": True}, "deleted", "This field can only be set after creation."),
        (trend(date_form="-7d"), "filters__date_form", 'Did you mean "date_from"?'),
        (trend(insight="TREND"), "filters__insight", 'Did you mean "TRENDS"?'),
        (trend(interval="dayly"), "filters__interval", 'Did you mean "day"?'),
        (trend(interval="second"), "filters__interval", "is not a valid choice"),
        (trend(display="LineGraph"), "filters__display", 'Did you mean "ActionsLineGraph"?'),
        (trend(display="ActionsDonut"), "filters__display", "not supported"),
        (trend(date_from="yesterday"), "filters__date_from", "Invalid date: yesterday"),
        (trend(compare="yes"), "filters__compare", "valid boolean"),
        (trend(filter_test_accounts="on"), "filters__filter_test_accounts", "valid boolean"),
        (trend(sampling_factor=10), "filters__sampling_factor", "set it to 1"),
        (trend(breakdown_group_type_index=5), "filters__breakdown_group_type_index", "0 to 4"),
        (trend(offset=25), "filters__offset", "not supported"),
        (trend(events=[{"id": "a", "maths": "dau"}]), "filters__events__0__maths", '"math"'),
        (trend(events=[{"math_group_type_index": -1}]),
         "filters__events__0__math_group_type_index", "0 to 4"),
        (condition(opertor="exact"), "filters__properties__0__opertor", '"operator"'),
        (condition(operator="less"), "filters__properties__0__operator", "Unknown operator"),
        (condition(operator="gt", value="many"), "filters__properties__0__value", "a number"),
        (condition(operator="between", value=[5, 1]), "filters__properties__0__value", "lesser"),
        (condition(operator="regex", value="("), "filters__properties__0__value", "RE2"),
        (condition(operator="is_date_before", value="soon"),
         "filters__properties__0__value", "a date"),
        (condition(value=[]), "filters__properties__0__value", "at least one"),
        (condition(type="group", group_type_index=7),
         "filters__properties__0__group_type_index", "0 to 4"),
        (trend(properties={"type": "AND", "value": []}), "filters__properties__value", '"values"'),
        (condition(key="id", type="cohort", value=5151),
         "filters__properties__0__value", "Cohort with id 5151 does not exist"),
        ({"filters": {"insight": "FUNNELS", "funnel_order_type": "strickt"}},
         "filters__funnel_order_type", 'Did you mean "strict"?'),
        ({"filters": {"insight": "FUNNELS", "exclusions": [{"id": "a", "from": 1}]}},
         "filters__exclusions__0__from", "from"),
        ({"filters": {"insight": "RETENTION", "period": "day"}}, "filters__period", '"Day"'),
    ],
    "/dashboards/": [
        ({"title": "d"}, "title", "Unknown field"),
        ({"use_template": "produkt"}, "use_template", 'Did you mean "product"?'),
        ({"use_template": "flag"}, "flag_key", "required"),
        ({"use_template": "web", "flag_key": "beta"}, "flag_key", 'Only the template "flag"'),
        ({"use_template": "flag", "flag_key": "none"}, "flag_key", "no flag with the key"),
        ({"use_dashboard": 7}, "use_dashboard", "not supported"),
        ({"tiles": [{"id": 1}]}, "tiles", "Create insights on this dashboard."),
        ({"filters": {"date_form": "-7d"}}, "filters__date_form", '"date_from"'),
        ({"filters": {"properties": [{"ky": "a"}]}}, "filters__properties__0__ky", '"key"'),
        ({"filters": {"date_from": "soon"}}, "filters__date_from", "Invalid date: soon"),
        ({"restriction_level": 1}, "restriction_level", "not a valid choice"),
    ],
    "/batch_exports/": [
        ({**BATCH_EXPORT, "intervall": "day"}, "intervall", '"interval"'),
        ({**BATCH_EXPORT, "interval": "week"}, "interval", "not a valid choice"),
        ({**BATCH_EXPORT, "model": "persons"}, "model", "not a valid choice"),
        ({**BATCH_EXPORT, "end_at": "2030-01-01"}, "end_at", "Pause the export"),
        ({**BATCH_EXPORT, "destination": {"type": "S3"}}, "destination__config", "required"),
    ],
    "/webhooks/": [
        ({**HOOK, "event": ["flag.created"]}, "event", 'Did you mean "events"?'),
        ({**HOOK, "secret": "mine"}, "secret", "The server makes it."),
    ],
    "/secret_key/": [({"former_valid": 5}, "former_valid", '"former_valid_s"')],
    "/api/personal_api_keys/": [
        ({"label": "k", "scope": ["*"]}, "scope", 'Did you mean "scopes"?'),
        ({"label": "k", "scoped_teams": [1]}, "scoped_teams", "not supported"),
        ({"label": "k", "expires": "2030-01-01"}, "expires", '"expires_at"'),
    ],
    "/api/projects/": [
        ({"name": "p", "time_zone": "UTC"}, "time_zone", '"timezone"'),
        ({"name": "p", "timezone": "Berlin"}, "timezone", "not a valid choice"),
        ({"name": "p", "ingestion": {"anonymize_ips": True}}, "ingestion", "not supported"),
        ({"name": "p", "test_account_filters": [{"key": "a", "value": "b"}]},
         "test_account_filters", "once the project is created"),
        ({"name": "p", "week_start_day": 1}, "week_start_day", "once the project is created"),
        ({"name": "p", "primary_dashboard": 1}, "primary_dashboard", "has dashboards"),
        ({"name": "p", "events_kept_days": 9}, "events_kept_days", "project is created"),
    ],
    "/api/organizations/@current/roles/": [
        ({"name": "r", "feature_flag_access_level": 21},
         "feature_flag_access_level", '"feature_flags_access_level"'),
    ],
    "/api/organizations/@current/resource_access/": [
        ({"resource": "feature flags", "level": 21}, "level", "Unknown field"),
    ],
}  # fmt: skip
CASES = [(path, *case) for path, cases in CREATED.items() for case in cases]


def url_of(tenant: Tenant, path: str) -> str:
    return path if path.startswith("/api/") else f"/api/projects/{tenant.project_id}{path}"


async def send_request(tenant: Tenant, method: str, path: str, **request: Any) -> Any:
    headers = {"authorization": tenant.api.headers["authorization"]}
    return await tenant.public.request(method, url_of(tenant, path), headers=headers, **request)


@pytest.mark.parametrize(("path", "sent", "attr", "detail"), CASES)
async def test_an_invalid_body_creates_nothing(
    tenant: Tenant, path: str, sent: Json, attr: str, detail: str
) -> None:
    answer = await send_request(tenant, "POST", path, json=sent)

    assert (answer.status_code, answer.json().get("attr")) == (400, attr), answer.text
    assert answer.json()["type"] == "validation_error"
    assert detail in answer.json()["detail"]
    listed = await send_request(tenant, "GET", path)
    if path == "/secret_key/":
        assert listed.json() == {"mask_value": None, "created_at": None}
    elif listed.status_code == 200 and path not in ("/api/projects/", "/api/personal_api_keys/"):
        assert listed.json()["count"] == 0


SETTINGS: list[tuple[Json, str, str]] = [
    ({"anonymize_ips": True}, "anonymize_ips", "Set ingestion.anonymize_ips."),
    ({"session_recording_opt_in": True}, "session_recording_opt_in", "not recorded"),
    ({"autocapture_opt_out": True}, "autocapture_opt_out", "where the client starts"),
    ({"test_account_filters": [{"kye": "email"}]}, "test_account_filters__0__kye", '"key"'),
    ({"week_start_day": 2}, "week_start_day", "less than or equal to 1"),
    ({"path_cleaning_filters": [{"regexp": "a"}]}, "path_cleaning_filters__0__regexp", '"regex"'),
    ({"primary_dashboard": 987654}, "primary_dashboard", "object does not exist"),
    ({"primary_dashboard": "main"}, "primary_dashboard", "valid integer"),
    ({"nam": "n"}, "nam", 'Did you mean "name"?'),
    ({"timezone": "Europe/Berlinn"}, "timezone", "not a valid choice"),
    ({"ingestion": {"anonymise_ips": True}}, "ingestion__anonymise_ips", '"anonymize_ips"'),
]


@pytest.mark.parametrize(("sent", "attr", "detail"), SETTINGS)
async def test_a_setting_that_would_not_be_stored_is_rejected(
    tenant: Tenant, sent: Json, attr: str, detail: str
) -> None:
    path = f"/api/projects/{tenant.project_id}/"
    before = (await send_request(tenant, "GET", path)).json()

    answer = await send_request(tenant, "PATCH", path, json=sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert detail in answer.json()["detail"]
    assert (await send_request(tenant, "GET", path)).json() == before


async def test_unsupported_settings_with_empty_values_are_ignored(tenant: Tenant) -> None:
    idle: Json = {
        "anonymize_ips": False,
        "session_recording_opt_in": False,
        "session_recording_sample_rate": None,
        "week_start_day": 0,
        "completed_snippet_onboarding": True,
        "product_description": "",
    }

    answer = await send_request(tenant, "PATCH", f"/api/projects/{tenant.project_id}/", json=idle)
    form = await send_request(
        tenant, "PATCH", f"/api/projects/{tenant.project_id}/", data={"anonymize_ips": "False"}
    )
    wrong = await send_request(
        tenant, "PATCH", f"/api/projects/{tenant.project_id}/", data={"anonymize_ips": "True"}
    )

    assert (answer.status_code, form.status_code) == (200, 200), answer.text + form.text
    assert (wrong.status_code, wrong.json()["attr"]) == (400, "anonymize_ips")


async def create_objects(tenant: Tenant) -> dict[str, Json]:
    """Return one object of each kind that can be changed, by address, as it is read."""
    await tenant.capture({"event": "seen", "distinct_id": "ann", "$set": {"plan": "pro"}})
    await tenant.capture({"event": "seen", "distinct_id": "ann", "properties": {"a": 1}})
    dashboard = (await tenant.api.post("/dashboards/", json={"name": "d"})).json()
    insight = {**trend(date_from="-7d"), "dashboards": [dashboard["id"]], "name": "i"}
    roles = "/api/organizations/@current/roles/"
    access = "/api/organizations/@current/resource_access/"
    allowed = {"resource": "feature flags", "access_level": 37}
    [person] = (await tenant.get("/persons/"))["results"]
    [definition] = (await tenant.get("/event_definitions/"))["results"]
    owned = {"owner": tenant.user_id, "verified": True}
    await tenant.api.patch(f"/event_definitions/{definition['id']}/", json=owned)
    described = (await tenant.get("/property_definitions/"))["results"][0]
    insight_id = (await tenant.api.post("/insights/", json=insight)).json()["id"]
    hook_id = (await tenant.api.post("/webhooks/", json=HOOK)).json()["id"]
    export_id = (await tenant.api.post("/batch_exports/", json=BATCH_EXPORT)).json()["id"]
    role_id = (await send_request(tenant, "POST", roles, json={"name": "r"})).json()["id"]
    access_id = (await send_request(tenant, "POST", access, json=allowed)).json()["id"]
    places = [
        f"/api/projects/{tenant.project_id}/",
        f"{roles}{role_id}/",
        f"{access}{access_id}/",
        f"/insights/{insight_id}/",
        f"/dashboards/{dashboard['id']}/",
        f"/webhooks/{hook_id}/",
        f"/batch_exports/{export_id}/",
        f"/persons/{person['uuid']}/",
        f"/event_definitions/{definition['id']}/",
        f"/event_definitions/{definition['id']}/marks/",
        f"/property_definitions/{described['id']}/",
    ]
    return {path: (await send_request(tenant, "GET", path)).json() for path in places}


async def test_a_response_can_be_sent_back_unchanged(tenant: Tenant) -> None:
    for path, shown in (await create_objects(tenant)).items():
        answer = await send_request(tenant, "PATCH", path, json=shown)

        assert answer.status_code == 200, (path, answer.text)
        moving = {"last_updated_at", "last_modified_at", "last_modified_by", "tiles"}
        moving |= {"updated_at", "updated_by"}
        stored = {name: value for name, value in shown.items() if name not in moving}
        assert stored.items() <= answer.json().items(), path


async def test_an_invalid_change_changes_nothing(tenant: Tenant) -> None:
    for path, shown in (await create_objects(tenant)).items():
        answer = await send_request(tenant, "PATCH", path, json={**shown, "nmae": "x"})

        assert (answer.status_code, answer.json()["attr"]) == (400, "nmae"), (path, answer.text)
        assert (await send_request(tenant, "GET", path)).json() == shown


DEFINITION: list[tuple[Json, str]] = [
    ({"post_to_slack": True}, "post_to_slack"),
    ({"primary_property": "plan"}, "primary_property"),
    ({"default_columns": ["plan"]}, "default_columns"),
]


async def test_fields_that_definitions_do_not_store_are_rejected(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})
    [definition] = (await tenant.get("/event_definitions/"))["results"]
    path = f"/event_definitions/{definition['id']}/"

    for sent, attr in DEFINITION:
        answer = await tenant.api.patch(path, json=sent)
        assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    nothing: Json = {"default_columns": [], "primary_property": None, "creation_context": "x"}
    assert (await tenant.api.patch(path, json=nothing)).status_code == 200


async def test_invalid_tiles_are_rejected(tenant: Tenant) -> None:
    dashboard = (await tenant.api.post("/dashboards/", json={"name": "d"})).json()
    insight = {**trend(), "dashboards": [dashboard["id"]]}
    assert (await tenant.api.post("/insights/", json=insight)).status_code == 201
    path = f"/dashboards/{dashboard['id']}/"
    [tile] = (await tenant.get(path))["tiles"]
    wrong = [
        ({"id": tile["id"], "colour": "red"}, "tiles__0__colour"),
        ({"id": tile["id"], "text": {"body": "hello"}}, "text"),
        ({"id": tile["id"], "transparent_background": True}, "transparent_background"),
    ]

    for sent, attr in wrong:
        answer = await tenant.api.patch(path, json={"tiles": [sent]})
        assert answer.status_code == 400, answer.text
        assert answer.json()["attr"] in (attr, f"tiles__0__{attr}")
    assert (await tenant.get(path))["tiles"] == [tile]


async def store(tenant: Tenant, table: Table, row_id: int, **columns: Any) -> None:
    """Write columns without validation, like values of an older version."""
    async with tenant.server.records.write() as connection:
        await connection.execute(update(table).where(table.c.id == row_id).values(**columns))


async def test_an_old_insight_and_an_old_dashboard_can_still_be_changed(tenant: Tenant) -> None:
    insight = (await tenant.api.post("/insights/", json=trend())).json()
    dashboard = (await tenant.api.post("/dashboards/", json={"name": "d"})).json()
    old = {**TREND, "no_such": 1, "display": "LineGraph"}
    await store(tenant, insights, insight["id"], filters=old)
    await store(tenant, dashboards, dashboard["id"], filters={"properties": [{"key": "a"}]})

    renamed = await tenant.api.patch(
        f"/insights/{insight['id']}/", json={"filters": old, "name": "n"}
    )
    worse = await tenant.api.patch(
        f"/insights/{insight['id']}/", json={"filters": {**old, "interval": "dayly"}}
    )
    shown = await tenant.get(f"/insights/{insight['id']}/")
    answer = await tenant.api.get(f"/insights/{insight['id']}/", params={"refresh": True})
    named = await tenant.api.patch(
        f"/dashboards/{dashboard['id']}/",
        json={"filters": {"properties": [{"key": "a"}]}, "name": "n"},
    )
    other = await tenant.api.patch(
        f"/dashboards/{dashboard['id']}/", json={"filters": {"properties": [{"key": "b"}]}}
    )

    assert (renamed.status_code, renamed.json()["name"]) == (200, "n"), renamed.text
    assert (worse.status_code, worse.json()["attr"]) == (400, "filters__no_such")
    assert shown["result"] is None
    assert (answer.status_code, answer.json()["attr"]) == (400, "filters__display")
    assert (named.status_code, named.json()["name"]) == (200, "n"), named.text
    assert (other.status_code, other.json()["attr"]) == (400, "filters__properties__0__value")


QUERIES: list[tuple[str, str, str]] = [
    ("/groups/?group_type_index=5", "group_type_index", "0 to 4"),
    ("/groups/find/?group_type_index=9&group_key=a", "group_type_index", "0 to 4"),
    ("/activity_log/?scope=FeatureFlags", "scope", 'Did you mean "FeatureFlag"?'),
    ("/property_definitions/?type=session", "type", "Allowed are: event, group, person."),
    ('/events/?properties=[{"key":"a","value":"1","opertor":"gt"}]',
     "properties__0__opertor", '"operator"'),
    ('/events/?properties=[{"key":"a","value":"1","operator":"greater"}]',
     "properties__0__operator", "Unknown operator"),
    ('/persons/?properties=[{"key":"a","value":"x","operator":"gt"}]',
     "properties__0__value", "a number"),
    ("/insights/trend/?date_form=-7d", "date_form", '"date_from"'),
    ("/insights/trend/?interval=dayly", "interval", '"day"'),
    ("/insights/trend/?refresh=now", "refresh", "not a valid choice"),
    ("/insights/trend/?sampling_factor=0.1", "sampling_factor", "set it to 1"),
    ("/insights/trend/?breakdown_group_type_index=7", "breakdown_group_type_index", "0 to 4"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "attr", "detail"), QUERIES)
async def test_an_invalid_query_is_rejected(
    tenant: Tenant, path: str, attr: str, detail: str
) -> None:
    answer = await tenant.api.get(path)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert detail in answer.json()["detail"]


async def test_a_trend_accepts_parameters_of_old_clients(tenant: Tenant) -> None:
    sent = {
        **TREND,
        "interval": "day",
        "show_legend": True,
        "hidden_legend_keys": {"0": True},
        "aggregation_axis_format": "numeric",
        "filter_test_accounts": True,
        "sampling_factor": 1,
        "breakdowns": [],
        "funnel_window_days": 14,
        "client_query_id": "any",
        "session_id": "any",
        "refresh": "force_blocking",
        "personal_api_key": "phx_of_the_header_instead",
    }

    body = await tenant.api.post("/insights/trend/", json=sent)
    query = await tenant.api.get(
        '/insights/trend/?events=[{"id":"seen"}]&breakdowns=[]&sampling_factor=1&_=1&format=json'
        f"&filter_test_accounts=false&token={tenant.token}&breakdown_group_type_index="
    )
    listed = await tenant.api.get("/insights/?basic=true&refresh=true&saved=true")

    assert (body.status_code, query.status_code, listed.status_code) == (200, 200, 200), (
        body.text + query.text + listed.text
    )


async def test_a_cache_buster_is_not_part_of_the_query(tenant: Tenant) -> None:
    first = await tenant.api.get('/insights/trend/?events=[{"id":"seen"}]&_=1')
    second = await tenant.api.get('/insights/trend/?events=[{"id":"seen"}]&_=2')

    assert (first.json()["is_cached"], second.json()["is_cached"]) == (False, True)


async def test_no_option_of_an_insight_is_ignored_for_a_cohort(tenant: Tenant) -> None:
    path = '/cohorts/?insight=TRENDS&events=[{"id":"seen"}]&entity_id=seen'
    sent = {"name": "c", "is_static": True}
    wrong = {
        "aggregation_group_type_index=0": "aggregation_group_type_index",
        "date_form=-7d": "date_form",
        "interval=dayly": "interval",
    }

    for option, attr in wrong.items():
        answer = await tenant.api.post(f"{path}&{option}", json=sent)
        assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    drawn = await tenant.api.post(f"{path}&display=ActionsLineGraph&show_legend=true", json=sent)
    assert drawn.status_code == 201, drawn.text
