"""Lists of flags over HTTP, with search, filters and order."""

import pytest

from tests.support.management import BASE_URL, invalid
from tests.support.team import Team

pytestmark = pytest.mark.every_engine

# Query → keys. This checks that each parameter arrives;
# tests/flags/definitions/test_list_query.py tests the rules.
ASKED: list[tuple[dict[str, str], list[str]]] = [
    ({"search": "ALPHA"}, ["alpha"]),
    ({"active": "false"}, ["beta"]),
    ({"active": "STALE"}, ["alpha"]),
    ({"type": "multivariant"}, ["gamma"]),
    ({"type": "experiment"}, []),
    ({"created_by_id": "{ada}"}, ["beta"]),
    ({"tags": '["web"]'}, ["gamma", "alpha"]),
    ({"excluded_properties": '["gamma"]'}, ["beta", "alpha"]),
    ({"order": "key"}, ["alpha", "beta", "gamma"]),
    ({"evaluation_runtime": "client"}, []),
    ({"evaluation_runtime": "all", "_": "1", "format": "json"}, ["gamma", "beta", "alpha"]),
    ({"tags": '["web"]', "type": "boolean", "search": "a"}, ["alpha"]),
    ({"deleted": "true"}, ["gone"]),
    ({"deleted": "true", "search": "alpha"}, []),
    ({"deleted": "false"}, ["gamma", "beta", "alpha"]),
]


async def test_each_parameter_chooses(team: Team) -> None:
    owner, ada = team.owner, await team.add("ada")
    variants = [{"key": "a", "rollout_percentage": 100}]
    many = {"groups": [{"rollout_percentage": 5}], "multivariate": {"variants": variants}}
    await owner.post(team.flags, key="alpha", tags=["Web"], created_at="2024-01-01T00:00:00Z")
    await ada.post(team.flags, key="beta", active=False)
    await owner.post(team.flags, key="gamma", tags=["web"], filters=many)
    gone = await owner.post(team.flags, key="gone", tags=["web"])
    await owner.patch(f"{team.flags}{gone['id']}/", deleted=True)

    for parameters, expected in ASKED:
        query = {name: text.replace("{ada}", str(ada.user_id)) for name, text in parameters.items()}
        page = await owner.get(team.flags, **query)

        assert [flag["key"] for flag in page["results"]] == expected, parameters
        assert page["count"] == len(expected)


async def test_what_was_asked_for_is_in_the_links(team: Team) -> None:
    for number in range(5):
        await team.owner.post(team.flags, key=f"f{number}", active=number != 2)

    first = await team.owner.get(team.flags, active="true", order="key", limit=3)
    second = (await team.owner.client.get(first["next"])).json()

    query = "?active=true&limit=3&offset=3&order=key"
    assert (first["count"], first["next"]) == (4, f"{BASE_URL}{team.flags}{query}")
    keys = [[flag["key"] for flag in page["results"]] for page in (first, second)]
    assert keys == [["f0", "f1", "f3"], ["f4"]]


@pytest.mark.parametrize(
    ("name", "value", "code", "detail"),
    [
        (
            "type",
            "x",
            "invalid_choice",
            '"x" is not a valid choice. Allowed are: boolean, experiment, multivariant.',
        ),
        (
            "active",
            "x",
            "invalid_choice",
            '"x" is not a valid choice. Allowed are: STALE, false, true.',
        ),
        ("tags", "x", "invalid_input", 'tags must be a JSON list of texts, such as ["a"].'),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    team: Team, name: str, value: str, code: str, detail: str
) -> None:
    answer = await team.owner.client.get(team.flags, params={name: value})

    assert (answer.status_code, answer.json()) == (400, invalid(code, detail, name))
