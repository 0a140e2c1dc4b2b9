"""Documents that are valid, and the faults that are reported for those that are not."""

from typing import Any

import pytest
from msgspec import json

from fanion.projects.account_filters import ACCOUNT_FILTERS_MAX
from fanion.transfer.document import (
    CohortEntry,
    Document,
    DocumentError,
    FlagEntry,
    read_document,
    write_document,
)
from fanion.transfer.importing.validation import StoredDefinitions, find_faults, normalised

Json = dict[str, Any]

HEAD: Json = {"format": "fanion-project", "version": 1}


def in_cohort(key: Any) -> Json:
    return {"type": "cohort", "key": "id", "value": key}


def all_of(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": list(leaves)}}


def flag(**fields: Any) -> Json:
    return {"flags": [{"key": "beta", **fields}]}


def groups(*leaves: Json, **more: Any) -> Json:
    return {"groups": [{"properties": list(leaves)}], **more}


def depends_on(name: Any) -> Json:
    return {"type": "flag", "key": name, "operator": "flag_evaluates_to", "value": True}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def read(**sections: Any) -> Document:
    return read_document(json.encode({**HEAD, **sections}))


def first_fault(**sections: Any) -> str:
    faults = list(find_faults(normalised(read(**sections))))
    return faults[0].text if faults else ""


def test_a_document_is_read_as_it_was_written() -> None:
    document = Document(
        flags=[FlagEntry(key="beta", filters=groups())],
        cohorts=[CohortEntry(key="vip", is_static=True, members=[["a", "b"]])],
        test_account_filters=[in_cohort({"cohort": "vip"})],
    )

    assert read_document(write_document(document)) == document
    assert write_document(read_document(write_document(document))) == write_document(document)


UNREADABLE: list[tuple[bytes, str]] = [
    (b"", "the document is not JSON: Input data was truncated"),
    (b"\xff\xfe", "the document is not JSON: JSON is malformed: invalid character (byte 0)"),
    (b"{", "the document is not JSON: Input data was truncated"),
    (b"[]", "the document must be a JSON object"),
    (b"null", "the document must be a JSON object"),
    (b"{}", "this is not an exported project: `format` must be 'fanion-project'"),
    (b'{"format": "x"}', "this is not an exported project: `format` must be 'fanion-project'"),
    (b'{"format": "fanion-project"}', "`version` of the document is None; only 1 is supported"),
    (json.encode({**HEAD, "version": 2}), "`version` of the document is 2; only 1 is supported"),
    (
        json.encode({**HEAD, "version": True}),
        "`version` of the document is True; only 1 is supported",
    ),
    (json.encode({**HEAD, "surveys": []}), "`surveys` is not a field of the document"),
    (json.encode({**HEAD, "flags": {}}), "`flags` must be a list"),
    (json.encode({**HEAD, "flags": None}), "`flags` must be a list"),
    (b"[" * 100_000, "the document is nested too deeply"),
    (json.encode({**HEAD, "flags": nested(130)}), "the document is nested too deeply"),
]


@pytest.mark.parametrize(("raw", "said"), UNREADABLE)
def test_what_is_no_document_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_document(raw)

    assert str(refused.value) == said


WRONG_ENTRIES: list[tuple[Json, str]] = [
    ({"flags": [1]}, "flags[0]: expected object, got int"),
    ({"flags": [{}]}, "flags[0]: object missing required field key"),
    (flag(key=7), "flags[0]: key: expected str, got int"),
    (flag(key=""), "flags[0]: key: expected str of length >= 1"),
    (flag(key="k" * 401), f"flag {'k' * 401}: key: expected str of length <= 400"),
    (flag(key="a\0b"), "flag a\0b: key: null characters are not allowed"),
    (flag(active="yes"), "flag beta: active: expected bool, got str"),
    (flag(filters=[]), "flag beta: filters: expected object, got array"),
    (flag(filters=None), "flag beta: filters: expected object, got null"),
    (flag(surveys=[]), "flag beta: object contains unknown field surveys"),
    (flag(tags=["a", 1]), "flag beta: tags[1]: expected str, got int"),
    (flag(created_at="soon"), "flag beta: created_at: invalid RFC3339 encoded datetime"),
    (
        flag(created_at="2024-01-01T00:00:00"),
        "flag beta: created_at: expected datetime with a timezone component",
    ),
    (
        flag(created_at="0001-01-01T00:00:00+14:00"),
        "flag beta: created_at: the time is out of range",
    ),
    (
        {"roles": [{"name": "r", "feature_flags_access_level": 1}]},
        "role r: feature_flags_access_level: invalid enum value 1",
    ),
    (
        {"cohorts": [{"key": "vip", "members": [["a\0"]]}]},
        "cohort vip: members: null characters are not allowed",
    ),
    (
        {"group_types": [{"group_type": "team", "group_type_index": 5}]},
        "group type team: group_type_index: expected int <= 4",
    ),
]


@pytest.mark.parametrize(("sections", "said"), WRONG_ENTRIES)
def test_a_wrong_entry_is_named_with_its_field(sections: Json, said: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read(**sections)

    assert str(refused.value) == said


FAULTS: list[tuple[Json, str]] = [
    (flag(), ""),
    (flag(filters={}), ""),
    ({"flags": [{"key": "a"}, {"key": " a "}]}, "flag a: key: must be unique in the document"),
    ({"roles": [{"name": "Ä"}, {"name": "ä "}]}, "role ä: name: must be unique in the document"),
    (
        {"cohorts": [{"key": "a"}, {"key": "a"}]},
        "cohort a: key: must be unique in the document",
    ),
    (
        {
            "group_types": [
                {"group_type": "team", "group_type_index": 1},
                {"group_type": "club", "group_type_index": 1},
            ]
        },
        "group type club: group_type_index: must be unique in the document",
    ),
    (flag(key="  "), "flag : key: must not be blank"),
    (
        flag(filters=groups(in_cohort(12))),
        'flag beta: filters: cohort 12 must be given by key, as {"cohort": "…"}',
    ),
    (
        flag(filters=groups(in_cohort({"cohort": "vip"}))),
        "flag beta: filters: cohort 'vip' is not in the document",
    ),
    (
        {"cohorts": [{"key": "vip"}], **flag(filters=groups(in_cohort({"cohort": "vip"})))},
        "",
    ),
    (
        flag(filters=groups(in_cohort({"cohort": 7}))),
        "flag beta: filters: cohort 7 is not in the document",
    ),
    (
        flag(filters=groups(depends_on("7"))),
        "flag beta: filters: flag '7' is not in the document",
    ),
    (flag(filters=groups(depends_on({"flag": None}))), ""),
    (
        flag(filters=groups(depends_on("beta"))),
        "flag beta: filters: flags cannot depend on each other in a loop",
    ),
    (flag(active=False, filters=groups(depends_on("beta"))), ""),
    (
        {
            "flags": [
                {"key": "beta", "filters": groups(depends_on("base"))},
                {"key": "base"},
            ]
        },
        "",
    ),
    (
        flag(filters={"groups": [], "super_groups": 5}),
        "flag beta: filters: Filters are not valid (super_groups must be a list)",
    ),
    (
        flag(filters=groups(aggregation_group_type_index={"group_type": "team"})),
        "flag beta: filters: group type 'team' is not in the document",
    ),
    (flag(filters=groups(aggregation_group_type_index=3)), ""),
    (
        flag(filters=groups({"type": "person", "key": "a", "operator": "regex", "value": "("})),
        "flag beta: filters: Invalid regular expression: (. Look-around and back-references are "
        "not supported: expressions follow the RE2 syntax.",
    ),
    (
        flag(filters={"groups": [], "payloads": {"other": 1}}),
        "flag beta: filters: Payload keys must be 'true' for boolean flags",
    ),
    (
        flag(filters={"groups": [{"rollout": 5}]}),
        'flag beta: filters__groups__0__rollout: Unknown field "rollout". Did you mean '
        '"rollout_percentage"?',
    ),
    (
        flag(rollback_conditions=[{"threshold": 5}]),
        "flag beta: rollback_conditions__0__threshold_type: This field is required.",
    ),
    (
        flag(key="my\tflag"),
        "flag my\tflag: key: must not have control characters",
    ),
    (flag(roles=["Builders"]), "flag beta: roles: role 'Builders' is not in the document"),
    ({"roles": [{"name": "builders"}], **flag(roles=["Builders"])}, ""),
    (
        flag(analytics_dashboards=["Mine"]),
        "flag beta: analytics_dashboards: dashboard 'Mine' is not in the document",
    ),
    ({"cohorts": [{"key": "vip", "filters": {}}]}, ""),
    (
        {"cohorts": [{"key": "vip", "filters": {"groups": []}}]},
        "cohort vip: filters: Filters must be a dictionary with a 'properties' key.",
    ),
    (
        {"cohorts": [{"key": "vip", "groups": [1]}]},
        "cohort vip: groups: each group must be an object",
    ),
    (
        {"cohorts": [{"key": "vip", "members": [["a"]]}]},
        "cohort vip: members: only a static cohort can have members",
    ),
    (
        {
            "cohorts": [
                {"key": "a", "filters": all_of(in_cohort({"cohort": "b"}))},
                {"key": "b", "filters": all_of(in_cohort({"cohort": "a"}))},
            ]
        },
        "cohort a: filters: cohorts cannot reference other cohorts in a loop",
    ),
    (
        {"insights": [{"short_id": "x", "filters": {"insight": "TRENDS", "interval": "aeon"}}]},
        'insight x: interval: "aeon" is not a valid choice. '
        "Allowed are: day, hour, minute, month, quarter, week, year.",
    ),
    (
        {"dashboards": [{"key": "d", "tiles": [{"insight": "x"}]}]},
        "dashboard d: tiles: insight 'x' is not in the document",
    ),
    (
        {
            "insights": [{"short_id": "x"}],
            "dashboards": [{"key": "d", "tiles": [{"insight": "x"}, {"insight": "x"}]}],
        },
        "dashboard d: tiles: insight 'x' can only be placed once",
    ),
    (
        {"dashboards": [{"key": "d", "tiles": [{"color": "blue"}]}]},
        "dashboard d: tiles: a tile must have either an insight or a text",
    ),
    (
        {
            "insights": [{"short_id": "x"}],
            "dashboards": [{"key": "d", "tiles": [{"insight": "x", "text": "both"}]}],
        },
        "dashboard d: tiles: a tile must have either an insight or a text",
    ),
    (
        {"dashboards": [{"key": "d", "tiles": [{"text": "a\0b"}]}]},
        "dashboard d: tiles: null characters are not allowed",
    ),
    (
        {"dashboards": [{"key": "d", "tiles": [{"text": "t"}] * 101}]},
        "dashboard d: tiles: a dashboard can have at most 100 tiles",
    ),
    (
        {"dashboards": [{"key": "d", "restriction_level": 1}]},
        "dashboard d: restriction_level: must be one of 21, 37",
    ),
    (
        {"dashboards": [{"key": "d", "filters": {"date_from": "never"}}]},
        "dashboard d: filters__date_from: Invalid date: never",
    ),
    (
        {"event_definitions": [{"name": "e", "hidden": True, "verified": True}]},
        "event definition e: hidden: a definition cannot be both hidden and verified",
    ),
]


@pytest.mark.parametrize(("sections", "said"), FAULTS)
def test_a_document_is_checked_before_it_is_imported(sections: Json, said: str) -> None:
    assert first_fault(**sections) == said


def test_criteria_are_checked_as_the_api_does() -> None:
    """The exceptions are operators, which older versions left out, and what calculations find."""
    older = {"type": "person", "key": "plan", "value": "pro"}
    alone = {**older, "negation": True}
    odd = {**older, "operater": "exact"}

    assert first_fault(cohorts=[{"key": "vip", "filters": all_of(older, alone)}]) == ""
    assert first_fault(cohorts=[{"key": "vip", "filters": all_of(alone)}]) == ""
    assert first_fault(cohorts=[{"key": "vip", "filters": all_of(odd)}]) == (
        'cohort vip: filters: Unknown field "operater". Did you mean "operator"?'
    )
    assert first_fault(cohorts=[{"key": "vip", "groups": [{"event_id": "a", "dayz": 3}]}]) == (
        'cohort vip: groups: Unknown field "dayz". Did you mean "days"?'
    )
    assert first_fault(cohorts=[{"key": "s", "is_static": True, "filters": all_of(odd)}]) == ""


def test_what_the_project_has_is_not_checked_again() -> None:
    odd = {"key": "vip", "filters": all_of({"type": "odd"}), "groups": [{"odd": 1}]}
    document = normalised(read(cohorts=[odd]))
    stored = StoredDefinitions({}, {"vip": document.cohorts[0]}, {}, {})

    assert list(find_faults(document, stored)) == []
    assert len(list(find_faults(document))) == 1


@pytest.mark.parametrize("wrong", [{}, None, "a", [1]])
def test_conditions_on_test_accounts_are_a_list_of_objects(wrong: Any) -> None:
    with pytest.raises(DocumentError, match="`test_account_filters` must be a list of objects"):
        read(test_account_filters=wrong)


def test_a_document_without_conditions_on_test_accounts_can_be_read_by_earlier_versions() -> None:
    assert b"test_account_filters" not in write_document(Document())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"key": "a", "vlaue": 1}, 'vlaue: Unknown field "vlaue". Did you mean "value"?'),
        (in_cohort({"cohort": "vip"}), "cohort 'vip' is not in the document"),
        (in_cohort(5), 'cohort 5 must be given by key, as {"cohort": "…"}'),
        ({"type": "hogql", "key": "1"}, 'type: "hogql" is not a valid choice.'),
    ],
)
def test_a_condition_on_test_accounts_that_cannot_be_used_is_a_fault(
    wrong: Json, said: str
) -> None:
    fine = {"key": "a", "value": 1}

    fault = first_fault(test_account_filters=[fine, wrong])

    assert fault.startswith(f"test account filter 2: {said}")


def test_there_are_not_more_conditions_on_test_accounts_than_the_api_takes() -> None:
    conditions = [{"key": "a", "value": 1}] * (ACCOUNT_FILTERS_MAX + 1)

    assert first_fault(test_account_filters=conditions[1:]) == ""
    assert first_fault(test_account_filters=conditions) == (
        f"test account filter {ACCOUNT_FILTERS_MAX + 1}: a project can have at most "
        f"{ACCOUNT_FILTERS_MAX} of them"
    )
