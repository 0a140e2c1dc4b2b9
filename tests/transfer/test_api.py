"""A project written as a document and read into others, over the whole application."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec import json, structs, to_builtins
from sqlalchemy import insert, select, update

from fanion.activity.model import Author
from fanion.db.schema.tables import feature_flags, memberships
from fanion.projects.model import Level, Project
from fanion.projects.store import ProjectStore
from fanion.transfer.document import Document, DocumentError, read_document, write_document
from fanion.transfer.export_store import export_project
from fanion.transfer.importing.importer import import_document
from fanion.transfer.report import ObjectOutcome, Report
from tests.support.application import BASE_URL, Json, Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.support.management import NOW
from tests.support.rich_project import MEMBERS, NEVER_PAID, PERSONS, ProjectApi, make_rich_project

NEW: Json = {"format": "fanion-project", "version": 1}


@pytest.fixture
async def other(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Open a project of another organization."""
    async with open_tenant(tenant.server, next_project()) as other:
        yield other


async def rich(tenant: Tenant) -> Document:
    await tenant.capture(*PERSONS)
    project_api = ProjectApi(tenant.api, BASE_URL, tenant.project_id)
    await make_rich_project(project_api, tenant.owner["uuid"], tenant.server.calculated)
    return await exported(tenant)


async def project_of(tenant: Tenant) -> Project:
    projects = await ProjectStore(tenant.server.records).by_ids([tenant.project_id])
    return projects[tenant.project_id]


async def author_in(tenant: Tenant) -> Author:
    return Author(
        project_id=tenant.project_id,
        organization_id=(await project_of(tenant)).organization_id,
        user_id=None,
        now=tenant.server.clock.now(),
    )


async def exported(tenant: Tenant) -> Document:
    """Export a project, write it to a document and read it again."""
    project = await project_of(tenant)
    return read_document(write_document(await export_project(tenant.server.records, project)))


async def imported(tenant: Tenant, document: Document | Json, *, dry_run: bool = False) -> Report:
    if isinstance(document, dict):
        document = read_document(json.encode({**NEW, **document}))
    author = await author_in(tenant)
    return await import_document(tenant.server.records, author, document, dry_run=dry_run)


async def activity(tenant: Tenant) -> list[Json]:
    entries: list[Json] = (await tenant.get("/activity_log/", limit=1000))["results"]
    return entries


def results(report: Report) -> Counter[str]:
    totals: Counter[str] = Counter()
    for outcome in report.outcomes:
        totals[outcome.result] += outcome.count
    return totals


def outcomes(report: Report, *kinds: str) -> list[ObjectOutcome]:
    return [outcome for outcome in report.outcomes if outcome.result in kinds]


def without_times(document: Document) -> Document:
    """Remove the times at which definitions were made and seen, which are each project's own."""
    none = {"created_at": None, "last_seen_at": None}
    plain = [structs.replace(definition, **none) for definition in document.event_definitions]
    return structs.replace(document, event_definitions=plain)


@pytest.mark.every_engine
async def test_a_project_comes_out_of_an_import_as_it_was(tenant: Tenant, other: Tenant) -> None:
    document = await rich(tenant)
    await other.capture(*PERSONS)

    report = await imported(other, structs.replace(document, roles=[], flags=[]))
    await other.server.calculated()
    again = await imported(other, document)

    assert outcomes(report, "skipped") == []
    assert outcomes(again, "updated") == []
    assert without_times(await exported(other)) == without_times(
        structs.replace(document, roles=[structs.replace(document.roles[0], members=[])])
    )


async def test_a_second_import_changes_nothing_and_reports_nothing(
    tenant: Tenant, other: Tenant
) -> None:
    document = await rich(tenant)
    await other.capture(*PERSONS)
    await imported(other, document)
    before, entries = await exported(other), await activity(other)

    waiting = await imported(other, document)
    await other.server.calculated()
    after = await imported(other, document)

    skipped = ObjectOutcome(
        "role member",
        f"{tenant.owner['email']} in Engineering",
        "skipped",
        "no member of this organization has the e-mail address",
    )
    for report in (waiting, after):
        assert outcomes(report, "created", "updated") == []
        assert outcomes(report, "skipped") == [skipped]
    assert await activity(other) == entries
    assert structs.replace(await exported(other), cohorts=before.cohorts) == before


async def test_an_import_into_the_same_project_changes_nothing(tenant: Tenant) -> None:
    document = await rich(tenant)
    entries = await activity(tenant)
    flags = (await tenant.get("/feature_flags/"))["results"]

    report = await imported(tenant, document)

    assert set(results(report)) == {"unchanged"}
    assert await activity(tenant) == entries
    assert (await tenant.get("/feature_flags/"))["results"] == flags


async def test_references_are_those_of_the_project_imported_into(
    tenant: Tenant, other: Tenant
) -> None:
    document = await rich(tenant)
    await other.capture({**PERSONS[0], "properties": {"$groups": {"company": "acme"}}})
    await other.create_flag(key="unrelated")
    await other.api.post("/cohorts/", json={"name": "unrelated"})

    await imported(other, document)

    flags = {flag["key"]: flag for flag in (await other.get("/feature_flags/"))["results"]}
    cohorts = {cohort["name"]: cohort for cohort in (await other.get("/cohorts/"))["results"]}
    [condition] = flags["beta"]["filters"]["groups"]
    in_friends, in_gone, on_base = condition["properties"]
    gone = await other.get(f"/cohorts/{in_gone['value']}/")
    assert in_friends["value"] == cohorts["friends"]["id"]
    assert (gone["name"], gone["deleted"]) == ("gone", True)
    assert on_base["key"] == str(flags["base"]["id"])
    assert flags["beta"]["filters"]["payloads"] == {"a": {"type": "cohort", "value": 1}}
    assert flags["companies"]["filters"]["aggregation_group_type_index"] == 0
    assert flags["companies"]["filters"]["groups"][0]["properties"][0]["group_type_index"] == 0
    [insight] = (await other.get("/insights/", search="Seen"))["results"]
    [board] = (await other.get("/dashboards/"))["results"][-1:]
    assert insight["filters"]["properties"][0]["value"] in {
        cohort["id"]
        for cohort in (await other.get("/cohorts/"))["results"]
        if cohort["name"] == "paying"
    }
    assert insight["dashboards"] == flags["beta"]["analytics_dashboards"] == [board["id"]]


async def test_flags_decide_at_once_after_an_import(tenant: Tenant, other: Tenant) -> None:
    document = await rich(tenant)
    await other.capture(*PERSONS)
    before = (await other.decide("ann"))["featureFlags"]

    await imported(other, document)
    await other.server.running.public.flags.flag_sets.catch_up()
    decided = (await other.decide("ann", groups={"company": "acme"}))["featureFlags"]

    assert before == {}
    assert decided == {"base": True, "companies": False}


async def test_whole_percentages_are_stored_as_integers(tenant: Tenant) -> None:
    """This holds for a new flag and for an existing one."""
    for share in (40.0, 60.0):
        filters = {"groups": [{"properties": [], "rollout_percentage": share}]}
        await imported(tenant, {"flags": [{"key": "shares", "filters": filters}]})

        this = select(feature_flags.c.filters).where(
            feature_flags.c.project_id == tenant.project_id
        )
        [stored] = await tenant.server.records.fetch(this)
        assert f'"rollout_percentage":{share:.0f}}}' in json.encode(stored.filters).decode()


async def test_members_are_added_by_the_server_once_they_are_known(
    tenant: Tenant, other: Tenant
) -> None:
    document = await rich(tenant)

    unknown = await imported(other, document)
    await other.capture(*PERSONS)
    known = await imported(other, document)
    await other.server.calculated()

    friends = next(
        cohort
        for cohort in (await other.get("/cohorts/"))["results"]
        if cohort["name"] == "friends"
    )
    page = await other.get(f"/cohorts/{friends['id']}/persons/")
    why = "no person of this project has the distinct ids: ann, bob"
    assert ObjectOutcome("cohort member", "friends", "skipped", why, 2) in unknown.outcomes
    assert ObjectOutcome("cohort member", "friends", "created", count=2) in known.outcomes
    assert friends["count"] == 2
    assert sorted(person["distinct_ids"][0] for person in page["results"]) == list(MEMBERS)


@pytest.mark.every_engine
async def test_what_differs_is_changed_and_reported(tenant: Tenant, other: Tenant) -> None:
    document = await rich(tenant)
    await imported(other, document)
    entries = await activity(other)
    flags = [
        structs.replace(flag, name="Better", tags=["three"]) if flag.key == "base" else flag
        for flag in document.flags
    ]
    cohorts = [
        structs.replace(cohort, filters={"properties": {}}) if cohort.key == "paying" else cohort
        for cohort in document.cohorts
    ]
    changed = structs.replace(
        document,
        flags=flags,
        cohorts=cohorts,
        roles=[structs.replace(role, feature_flags_access_level=37) for role in document.roles],
        dashboards=[structs.replace(dashboard, pinned=True) for dashboard in document.dashboards],
        insights=[structs.replace(insight, name="Read") for insight in document.insights],
        event_definitions=[
            structs.replace(definition, tags=["x"], verified=False, hidden=True)
            for definition in document.event_definitions
        ],
        property_definitions=[
            structs.replace(definition, description="What was paid", verified=True)
            for definition in document.property_definitions
            if definition.name == "amount"
        ],
    )

    report = await imported(other, changed)

    assert [
        (outcome.kind, outcome.name, outcome.why) for outcome in outcomes(report, "updated")
    ] == [
        ("event definition", "seen", "tags, hidden, verified"),
        ("property definition", "amount", "description, verified"),
        ("cohort", "paying", "filters"),
        ("insight", "Read", "name"),
        ("dashboard", "Overview", "pinned"),
        ("role", "Engineering", "feature_flags_access_level"),
        ("flag", "base", "name, tags"),
    ]
    new = (await activity(other))[: -len(entries)]
    assert [(entry["scope"], entry["activity"], entry["detail"]["name"]) for entry in new] == [
        ("FeatureFlag", "updated", "base"),
        ("Role", "updated", "Engineering"),
        ("Dashboard", "updated", "Overview"),
        ("Insight", "updated", "Read"),
        ("Cohort", "updated", "paying"),
        ("PropertyDefinition", "updated", "amount"),
        ("EventDefinition", "updated", "seen"),
    ]
    assert [entry["user"]["first_name"] for entry in new] == ["System"] * 7
    assert outcomes(await imported(other, changed), "created", "updated") == []


async def test_a_trial_reports_the_same_and_changes_nothing(tenant: Tenant, other: Tenant) -> None:
    document = await rich(tenant)
    await other.capture(*PERSONS)
    before = await exported(other)

    trial = await imported(other, document, dry_run=True)
    untouched = await exported(other)
    real = await imported(other, document)

    assert trial == real
    assert untouched == before
    assert results(trial)["created"] > 10


async def test_a_member_of_the_organization_is_put_into_the_role(
    tenant: Tenant, other: Tenant
) -> None:
    document = await rich(tenant)
    await other.capture(*PERSONS)
    await imported(other, document)
    async with other.server.records.write() as connection:
        await connection.execute(
            insert(memberships).values(
                organization_id=other.organization_id,
                user_id=tenant.user_id,
                level=Level.MEMBER,
                joined_at=NOW,
            )
        )

    report = await imported(other, document)

    name = f"{tenant.owner['email']} in Engineering"
    assert outcomes(report, "created", "updated", "skipped") == [
        ObjectOutcome("role member", name, "created")
    ]
    assert (await exported(other)).roles == document.roles


@pytest.mark.every_engine
async def test_nothing_is_written_when_one_thing_cannot_be(tenant: Tenant, other: Tenant) -> None:
    """The project already has the maximum of group types, which only the import itself notices."""
    document = await rich(tenant)
    before = await exported(other)
    full = {"group_types": [{"group_type": f"g{n}", "group_type_index": n} for n in range(5)]}
    await imported(other, full)

    with pytest.raises(DocumentError) as refused:
        await imported(other, document)

    assert str(refused.value) == ("group type team: the project already has the maximum of 5")
    assert (await exported(other)).flags == before.flags == []


async def test_an_invalid_flag_refuses_the_document_before_anything_is_written(
    tenant: Tenant,
) -> None:
    flags = [{"key": "fine"}, {"key": "odd", "filters": {"groups": [{"properties": 7}]}}]

    with pytest.raises(DocumentError) as refused:
        await imported(tenant, {"flags": flags})

    assert str(refused.value) == (
        "flag odd: filters: Filters are not valid (properties must be a list of conditions)"
    )
    assert (await exported(tenant)).flags == []


async def test_each_refused_entry_is_reported(tenant: Tenant) -> None:
    flags = [
        {"key": "fine"},
        {"key": "odd", "filters": {"groups": [{"rollout": 5}]}},
        {"key": "less", "rollback_conditions": [{**NEVER_PAID, "operator": "less"}]},
    ]

    with pytest.raises(DocumentError) as refused:
        await imported(tenant, {"flags": flags})

    assert str(refused.value).split("\n") == [
        'flag odd: filters__groups__0__rollout: Unknown field "rollout". Did you mean '
        '"rollout_percentage"?',
        'flag less: rollback_conditions__0__operator: "less" is not a valid choice. Allowed are: '
        "gt, lt.",
    ]
    assert (await exported(tenant)).flags == []


async def test_what_was_stored_before_the_rules_is_no_fault(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="old")
    filters = {"groups": [{"properties": [], "rollout": 5}]}
    conditions = [{**NEVER_PAID, "operator": "less"}]
    await tenant.store_flag(flag, filters=filters, rollback_conditions=conditions)
    document = await exported(tenant)
    [entry] = document.flags

    report = await imported(tenant, {"flags": [to_builtins(structs.replace(entry, name="new"))]})

    assert [outcome.result for outcome in report.outcomes] == ["updated"]
    assert (await tenant.get(f"/feature_flags/{flag['id']}/"))["name"] == "new"
    worse = to_builtins(structs.replace(entry, filters={"groups": [{"rollout": 6}]}))
    with pytest.raises(DocumentError, match="Unknown field"):
        await imported(tenant, {"flags": [worse]})


@pytest.mark.every_engine
async def test_a_deleted_flag_gives_way_and_a_deleted_insight_comes_back(
    tenant: Tenant,
) -> None:
    document = await rich(tenant)
    base = next(
        flag
        for flag in (await tenant.get("/feature_flags/"))["results"]
        if flag["key"] == "companies"
    )
    [insight] = (await tenant.get("/insights/", search="Seen"))["results"]
    await tenant.api.patch(f"/feature_flags/{base['id']}/", json={"deleted": True})
    await tenant.api.patch(f"/insights/{insight['id']}/", json={"deleted": True})

    report = await imported(tenant, document)

    assert [
        (outcome.kind, outcome.result, outcome.why)
        for outcome in outcomes(report, "created", "updated")
    ] == [
        ("insight", "updated", "deleted"),
        ("flag", "created", ""),
    ]
    after = await exported(tenant)
    assert after.flags == document.flags
    assert document.insights[0] in after.insights


async def test_broken_references_survive_a_journey(tenant: Tenant, other: Tenant) -> None:
    """A flag that depends on a flag that no longer exists cannot be computed, here and there.

    An import from elsewhere may leave such a flag.
    """
    base = await tenant.create_flag(key="base")
    leaf = {"type": "flag", "operator": "flag_evaluates_to", "value": True}
    groups = {"groups": [{"properties": [{**leaf, "key": str(base["id"])}]}]}
    await tenant.create_flag(key="next", filters=groups)
    anonymous = {"properties": {"type": "OR", "values": [{"type": "cohort", "value": 99_999_999}]}}
    cohort = (await tenant.api.post("/cohorts/", json={"name": "odd"})).json()
    await tenant.store_cohort(cohort, filters=anonymous)
    async with tenant.server.records.write() as connection:
        gone = update(feature_flags).where(feature_flags.c.id == base["id"])
        await connection.execute(gone.values(deleted=True))
    document = await exported(tenant)

    await imported(other, document)
    await other.server.running.public.flags.flag_sets.catch_up()
    decided = await other.decide("ann")

    [flag] = document.flags
    assert flag.filters["groups"][0]["properties"][0]["key"] == {"flag": None}
    assert [entry.key for entry in document.cohorts] == ["odd", "missing cohort 99999999"]
    assert (decided["featureFlags"], decided["errorsWhileComputingFlags"]) == ({}, True)
    assert await exported(other) == document
    assert outcomes(await imported(other, document), "created", "updated") == []


async def test_a_cohort_in_a_flag_is_not_broken_by_an_import(tenant: Tenant) -> None:
    name = {"key": "c", "name": "c"}
    await imported(tenant, {"cohorts": [{**name, "filters": {"properties": []}}]})
    cohort = (await tenant.get("/cohorts/"))["results"][0]["id"]
    leaf = {"key": "id", "type": "cohort", "value": cohort}
    await tenant.create_flag(key="in-c", filters={"groups": [{"properties": [leaf]}]})
    broken = {"properties": {"type": "NEITHER", "values": []}}

    with pytest.raises(DocumentError) as refused:
        await imported(tenant, {"cohorts": [{**name, "filters": broken}]})

    assert str(refused.value) == (
        'cohort c: filters: Invalid type "NEITHER" of a group. Allowed are: AND, OR.'
    )
    assert (await tenant.get("/cohorts/"))["results"][0]["filters"] == {"properties": []}


@pytest.mark.every_engine
async def test_imports_at_the_same_moment_do_not_mix(tenant: Tenant) -> None:
    """Two imports run at once with a user who creates one of their flags through the API."""
    flags = [{"key": f"flag-{n}", "roles": ["Builders"]} for n in range(10)]
    document: Json = {"flags": flags, "roles": [{"name": "Builders"}], "cohorts": [{"key": "vip"}]}

    done = await asyncio.gather(
        imported(tenant, document),
        imported(tenant, document),
        tenant.api.post("/feature_flags/", json={"key": "flag-9"}),
        return_exceptions=True,
    )
    last = await imported(tenant, document)

    for result in done:
        assert isinstance(result, Report | DocumentError | httpx.Response), result
    assert results(await imported(tenant, document)) == Counter(unchanged=22)
    assert outcomes(last, "skipped") == []
    stored = await exported(tenant)
    assert [flag.key for flag in stored.flags] == [f"flag-{n}" for n in range(10)]
    assert [cohort.key for cohort in stored.cohorts] == ["unnamed"]


async def test_property_types_that_are_known_stay(tenant: Tenant) -> None:
    await tenant.capture(*PERSONS)
    definitions = [
        {"name": "amount", "property_type": "String", "event_names": ["seen"]},
        {"name": "new", "property_type": "Numeric", "event_names": ["seen", "other"]},
    ]

    report = await imported(tenant, {"property_definitions": definitions})

    assert report.outcomes == [
        ObjectOutcome(
            "property definition", "amount", "skipped", "its type in this project is Numeric"
        ),
        ObjectOutcome("property definition", "new", "created"),
    ]
    stored = {
        definition.name: definition for definition in (await exported(tenant)).property_definitions
    }
    assert (stored["amount"].property_type, stored["new"].event_names) == (
        "Numeric",
        ["other", "seen"],
    )


async def test_conditions_on_test_accounts_are_replaced_and_an_older_document_leaves_them(
    tenant: Tenant,
) -> None:
    members = {"cohorts": [{"key": "staff", "is_static": True}]}
    outside = {"type": "cohort", "key": "id", "operator": "not_in", "value": {"cohort": "staff"}}
    plan = {"key": "plan", "operator": "is_not", "value": "test"}
    await tenant.api.patch("/", json={"test_account_filters": [plan]})

    older = await imported(tenant, {})
    report = await imported(tenant, {**members, "test_account_filters": [outside, plan]})
    again = await imported(tenant, {**members, "test_account_filters": [outside, plan]})

    assert outcomes(older, "updated", "unchanged") == []
    [updated] = outcomes(report, "updated")
    assert (updated.kind, updated.name, updated.why) == (
        "project",
        "test accounts",
        "test_account_filters",
    )
    assert outcomes(again, "created", "updated") == []
    [cohort] = (await tenant.get("/cohorts/"))["results"]
    tenant.server.running.public.flags.projects.forget(tenant.project_id)
    stored = (await tenant.get("/"))["test_account_filters"]
    assert stored == [{**outside, "value": cohort["id"]}, plan]
    entries = [entry for entry in await activity(tenant) if entry["scope"] == "Project"]
    assert [entry["detail"]["changes"][0]["field"] for entry in entries] == [
        "test_account_filters"
    ] * 2
