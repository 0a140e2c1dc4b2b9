"""Invites: created, listed and deleted."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from fanion.db.schema.organizations import organization_invites
from fanion.db.schema.tables import memberships, organizations
from fanion.projects.auth.keys import hash_key
from fanion.projects.invites.model import INVITE_LASTS, INVITES_AT_ONCE_MAX, INVITES_MAX
from fanion.projects.invites.store import InviteStore
from fanion.projects.model import Level
from tests.projects.members.test_api import MEMBERS, denied, logged, set_level
from tests.projects.roles.test_api import NOT_FOUND, summary
from tests.support.management import MAIL_URL, NOW, invalid
from tests.support.team import ORGANIZATION, ROLES, Colleague, Json, Team, TeamServer, open_team

pytestmark = pytest.mark.every_engine

INVITES = f"{ORGANIZATION}/invites/"
TOO_LOW = denied("Your organization access level is insufficient.")
TOO_HIGH = denied("You can only give levels that are not higher than your own.")
NO_CHANGES = denied("Viewers cannot make changes.")


@pytest.fixture(autouse=True)
async def no_mails(team_server: TeamServer) -> AsyncIterator[None]:
    team_server.mails.works = False
    yield
    team_server.mails.works = True
    team_server.mails.sent.clear()


async def listed(who: Colleague) -> list[Json]:
    invites: list[Json] = (await who.get(INVITES))["results"]
    return invites


async def invite(who: Colleague, **sent: Any) -> tuple[int, Json]:
    answer = await who.client.post(INVITES, json={"target_email": "ada@example.com", **sent})
    return answer.status_code, answer.json()


async def count(team: Team) -> int:
    theirs = organization_invites.c.organization_id == team.organization_id
    async with team.server.records.read() as connection:
        statement = select(func.count()).select_from(organization_invites).where(theirs)
        return int(await connection.scalar(statement) or 0)


async def test_an_invite_is_made_and_its_link_shown_once(team: Team) -> None:
    role = await team.role("Makers")

    made = await team.owner.post(
        INVITES,
        target_email=" Ada@Example.com",
        first_name="Ada",
        level=0,
        message="Welcome!",
        roles=[role["id"]],
    )

    token = made["link"].removeprefix("http://fanion.test/api/signup/").rstrip("/")
    assert len(token) == 43
    assert made == {
        "id": made["id"],
        "target_email": "ada@example.com",
        "first_name": "Ada",
        "level": 0,
        "message": "Welcome!",
        "roles": [role["id"]],
        "emailing_attempt_made": False,
        "is_expired": False,
        "created_by": summary(team.owner),
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
        "expires_at": "2024-03-08T12:00:00Z",
        "link": made["link"],
    }
    assert await listed(team.owner) == [made | {"link": None}]
    async with team.server.records.read() as connection:
        rows = await connection.execute(
            select(organization_invites).where(organization_invites.c.id == UUID(made["id"]))
        )
        [row] = rows.all()
    assert row.hash == hash_key(token)
    assert token not in str(row)
    assert await logged(team, "OrganizationInvite") == [
        (team.owner.name, "created", "ada@example.com")
    ]
    path = f"/api/projects/{team.project_id}/activity_log/"
    assert token not in (await team.owner.client.get(path)).text


async def test_an_invite_is_of_a_member_by_default(team: Team) -> None:
    made = await team.owner.post(INVITES, target_email="ada@example.com")

    assert (made["level"], made["first_name"], made["message"], made["roles"]) == (1, "", "", [])


async def test_everybody_reads_invites_and_administrators_make_them(team: Team) -> None:
    vera, mia, adam = [
        await team.add(name, level)
        for name, level in (("vera", Level.VIEWER), ("mia", Level.MEMBER), ("adam", Level.ADMIN))
    ]

    assert await invite(vera) == (403, NO_CHANGES)
    assert await invite(mia) == (403, TOO_LOW)
    assert (await mia.client.post(f"{INVITES}bulk/", json=[])).json() == TOO_LOW
    assert await invite(adam, level=15) == (403, TOO_HIGH)
    status, made = await invite(adam, level=8)
    assert status == 201
    for who in (vera, mia):
        assert [invite_body["id"] for invite_body in await listed(who)] == [made["id"]]
    path = f"{INVITES}{made['id']}/"
    assert (await vera.client.delete(path)).json() == NO_CHANGES
    assert (await mia.client.delete(path)).json() == TOO_LOW
    assert (await adam.client.delete(path)).status_code == 204
    assert (await adam.client.delete(path)).json() == NOT_FOUND
    assert await listed(team.owner) == []
    assert (await logged(team, "OrganizationInvite"))[0] == (
        adam.name,
        "deleted",
        "ada@example.com",
    )


async def test_who_may_not_give_a_level_may_not_take_back_an_invite_to_it(team: Team) -> None:
    adam = await team.add("adam", Level.ADMIN)
    made = await team.owner.post(INVITES, target_email="ada@example.com", level=15)

    assert (await adam.client.delete(f"{INVITES}{made['id']}/")).json() == TOO_HIGH
    assert await invite(adam, level=1) == (403, TOO_HIGH)  # it would replace the owner's invite
    assert [invite_body["level"] for invite_body in await listed(adam)] == [15]


async def test_an_invite_replaces_the_former_one_to_the_address(team: Team) -> None:
    first = await team.owner.post(INVITES, target_email="ada@example.com")
    second = await team.owner.post(INVITES, target_email="ADA@example.com", level=8)

    assert [invite_body["id"] for invite_body in await listed(team.owner)] == [second["id"]]
    assert first["link"] != second["link"]


async def test_of_invites_to_one_address_at_the_same_time_one_stays(team: Team) -> None:
    done = await asyncio.gather(*(invite(team.owner) for _ in range(4)))

    assert [status for status, _ in done] == [201] * 4
    assert await count(team) == 1


async def test_the_newest_invites_come_first_in_pages(team: Team) -> None:
    for number in range(3):
        await team.owner.post(INVITES, target_email=f"p{number}@example.com")
        team.server.clock.move(seconds=1)

    first = await team.owner.get(INVITES, limit=2)
    second = (await team.owner.client.get(first["next"])).json()

    pages = [
        [invite_body["target_email"] for invite_body in page["results"]] for page in (first, second)
    ]
    assert pages == [["p2@example.com", "p1@example.com"], ["p0@example.com"]]
    assert first["count"] == 3


async def test_an_expired_invite_says_so(team: Team) -> None:
    await team.owner.post(INVITES, target_email="ada@example.com")

    team.server.clock.time = NOW + INVITE_LASTS - timedelta(seconds=1)
    before = await listed(team.owner)
    team.server.clock.time = NOW + INVITE_LASTS
    after = await listed(team.owner)

    assert (
        [invite_body["is_expired"] for invite_body in before],
        [invite_body["is_expired"] for invite_body in after],
    ) == (
        [False],
        [True],
    )


@pytest.mark.parametrize("act", ["removed", "lowered", "left"])
async def test_the_invites_of_who_may_not_invite_any_more_are_gone(team: Team, act: str) -> None:
    adam, bea = await team.add("adam", Level.ADMIN), await team.add("bea", Level.ADMIN)
    await invite(adam)
    await bea.post(INVITES, target_email="other@example.com")
    path = f"{MEMBERS}{adam.uuid}/"

    if act == "lowered":
        await set_level(team.owner, adam, 1)
    else:
        who = adam if act == "left" else team.owner
        assert (await who.client.delete(path)).status_code == 204

    assert [invite_body["target_email"] for invite_body in await listed(team.owner)] == [
        "other@example.com"
    ]


async def test_a_lowered_owner_keeps_the_invites_that_an_administrator_may_make(
    team: Team,
) -> None:
    olaf = await team.add("olaf", Level.OWNER)
    await olaf.post(INVITES, target_email="owner@example.com", level=15)
    await olaf.post(INVITES, target_email="member@example.com", level=1)

    await set_level(team.owner, olaf, 8)

    assert [invite_body["target_email"] for invite_body in await listed(team.owner)] == [
        "member@example.com"
    ]


async def test_a_deleted_role_is_left_out(team: Team) -> None:
    one, two = await team.role("One"), await team.role("Two")
    await team.owner.post(INVITES, target_email="a@example.com", roles=[one["id"], two["id"]])

    await team.owner.client.delete(f"{ROLES}{one['id']}/")

    assert [invite_body["roles"] for invite_body in await listed(team.owner)] == [[two["id"]]]


REFUSED: dict[str, tuple[Json, Json]] = {
    "no address": (
        {"target_email": None},
        invalid("null", "This field may not be null.", "target_email"),
    ),
    "a bad address": (
        {"target_email": "ada"},
        invalid("invalid_input", "Enter a valid email address.", "target_email"),
    ),
    "another level": (
        {"level": 2},
        invalid("invalid_choice", '"2" is not a valid choice. Allowed are: 0, 1, 15, 8.', "level"),
    ),
    "an unknown role": (
        {"roles": [str(UUID(int=1))]},
        invalid("does_not_exist", f'Invalid pk "{UUID(int=1)}" - object does not exist.', "roles"),
    ),
    "many roles": (
        {"roles": [str(UUID(int=1))] * 51},
        invalid("max_length", "Ensure this field has no more than 50 elements.", "roles"),
    ),
    "projects": (
        {"private_project_access": [{"id": 1, "level": "admin"}]},
        invalid(
            "invalid_input",
            '"private_project_access" is not supported. Every member reaches all projects of the '
            "organization.",
            "private_project_access",
        ),
    ),
    "a long message": (
        {"message": "m" * 2001},
        invalid("max_length", "Ensure this field has no more than 2000 characters.", "message"),
    ),
}


async def test_what_is_no_invite_is_refused(team: Team) -> None:
    for name, (sent, reported) in REFUSED.items():
        assert await invite(team.owner, **sent) == (400, reported), name
    assert await listed(team.owner) == []


async def test_members_are_not_invited(team: Team, team_server: TeamServer) -> None:
    ada = await team.add("ada")
    async with open_team(team_server) as neighbours:
        stranger = neighbours.owner
        elsewhere = await invite(team.owner, target_email=f"{stranger.name}@example.com")

    here = await invite(team.owner, target_email=f"{ada.name}@EXAMPLE.com")

    message = "A user with this e-mail address already belongs to the organization."
    assert here == (400, invalid("unique", message, "target_email"))
    assert elsewhere[0] == 201  # nothing reveals that the address has an account


async def test_roles_of_others_are_unknown(team: Team, team_server: TeamServer) -> None:
    async with open_team(team_server) as neighbours:
        theirs = await neighbours.role("Theirs")

    status, answer = await invite(team.owner, roles=[theirs["id"]])

    assert (status, answer["code"], answer["attr"]) == (400, "does_not_exist", "roles")


async def test_several_are_invited_at_once(team: Team) -> None:
    sent = [{"target_email": f"p{number}@example.com", "level": number} for number in range(2)]

    answer = await team.owner.client.post(f"{INVITES}bulk/", json=sent)

    assert answer.status_code == 201
    made = answer.json()
    assert [(invite_body["target_email"], invite_body["level"]) for invite_body in made] == [
        ("p0@example.com", 0),
        ("p1@example.com", 1),
    ]
    assert len({invite_body["link"] for invite_body in made}) == 2
    assert sorted(invite_body["id"] for invite_body in await listed(team.owner)) == sorted(
        invite_body["id"] for invite_body in made
    )


GOOD = {"target_email": "good@example.com"}
BAD_LISTS: list[tuple[Any, Json]] = [
    ({}, invalid("not_a_list", 'Expected a list of items but got type "dict".')),
    (
        [GOOD, {"target_email": "bad"}],
        invalid("invalid_input", "Enter a valid email address.", "1__target_email"),
    ),
    ([GOOD, {}], invalid("required", "This field is required.", "1__target_email")),
    (
        [GOOD, {"target_email": "Good@example.com"}],
        invalid("unique", "This e-mail address is in the list twice.", "1__target_email"),
    ),
    (
        [GOOD, 7],
        invalid("invalid_input", "Invalid data. Expected a dictionary, but got int.", "1"),
    ),
    (
        [GOOD, {"target_email": "b@example.com", "roles": [str(UUID(int=1))]}],
        invalid(
            "does_not_exist", f'Invalid pk "{UUID(int=1)}" - object does not exist.', "1__roles"
        ),
    ),
    (
        [{"target_email": f"{n}@example.com"} for n in range(INVITES_AT_ONCE_MAX + 1)],
        invalid("max_length", "A maximum of 20 invites can be sent in a single request."),
    ),
]


async def test_of_several_all_are_invited_or_none(team: Team) -> None:
    for sent, reported in BAD_LISTS:
        answer = await team.owner.client.post(f"{INVITES}bulk/", json=sent)
        assert (answer.status_code, answer.json()) == (400, reported)
    assert await listed(team.owner) == []


async def test_invites_are_limited(team: Team) -> None:
    owner = team.owner.user_id
    rows = [
        {
            "id": UUID(int=team.project_id * 10_000 + number),
            "organization_id": team.organization_id,
            "hash": f"h{team.project_id}-{number}",
            "target_email": f"{number}@example.com",
            "first_name": "",
            "level": 1,
            "message": "",
            "emailing_attempt_made": False,
            "created_by_id": owner,
            "created_at": NOW,
            "expires_at": NOW,
        }
        for number in range(INVITES_MAX)
    ]
    async with team.server.records.write() as connection:
        await connection.execute(organization_invites.insert(), rows)

    status, answer = await invite(team.owner)
    replaced, _ = await invite(team.owner, target_email="7@example.com")

    assert (status, answer["code"]) == (400, "invalid_input")
    assert answer["detail"].startswith("You can only have 1000 invites.")
    assert replaced == 201
    assert await count(team) == INVITES_MAX


async def test_a_link_is_mailed_where_mails_are_sent(team: Team, team_server: TeamServer) -> None:
    team_server.mails.works = True
    sent = {"message": "Hello\r\nhttp://fanion.test", "first_name": "Ada"}

    made = await team.owner.post(INVITES, target_email="ada@example.com", **sent)
    other = await team.owner.post(INVITES, target_email="bea@example.com", send_email=False)

    [(to, subject, text)] = team_server.mails.sent
    assert (to, subject) == ("ada@example.com", "You are invited to Team")
    mailed = made["link"].replace("http://fanion.test/", f"{MAIL_URL}/")
    assert mailed != made["link"]
    assert f"\n{mailed}\n" in text
    assert "\n> Hello\n> http://fanion.test\n" in text
    assert f"{team.owner.name} ({team.owner.name}@example.com) invites you" in text
    assert (made["emailing_attempt_made"], other["emailing_attempt_made"]) == (True, False)
    stored = {
        invite_body["id"]: invite_body["emailing_attempt_made"]
        for invite_body in await listed(team.owner)
    }
    assert stored == {made["id"]: True, other["id"]: False}


async def test_a_name_cannot_add_headers_to_a_mail(team: Team, team_server: TeamServer) -> None:
    team_server.mails.works = True
    async with team_server.records.write() as connection:
        await connection.execute(
            update(organizations)
            .where(organizations.c.id == team.organization_id)
            .values(name="Team\r\nBcc: a@example.com\r\n" + "x" * 200)
        )

    await team.owner.post(INVITES, target_email="ada@example.com")

    [(_, subject, _)] = team_server.mails.sent
    assert subject.startswith("You are invited to Team Bcc: a@example.com xxx")
    assert len(subject) < 110
    assert subject.isprintable()


async def test_a_mail_that_is_not_taken_leaves_the_link(team: Team) -> None:
    made = await team.owner.post(INVITES, target_email="ada@example.com")

    assert made["emailing_attempt_made"] is False
    assert made["link"].startswith("http://fanion.test/api/signup/")


async def test_a_right_that_was_taken_meanwhile_does_not_count(team: Team) -> None:
    adam = await team.add("adam", Level.ADMIN)
    await adam.get(INVITES)
    async with team.server.records.write() as connection:
        await connection.execute(
            update(memberships).where(memberships.c.user_id == adam.user_id).values(level=1)
        )

    assert await invite(adam) == (403, TOO_LOW)
    assert await count(team) == 0


async def test_invites_of_others_are_not_there(team: Team, team_server: TeamServer) -> None:
    async with open_team(team_server) as neighbours:
        theirs = await neighbours.owner.post(INVITES, target_email="ada@example.com")
        answers = [
            await team.owner.client.delete(f"{INVITES}{theirs['id']}/"),
            await team.owner.client.get(
                f"/api/organizations/{neighbours.organization_id}/invites/"
            ),
        ]
        invites = InviteStore(team_server.records)
        _, left = await invites.list_invites(neighbours.organization_id, 10, 0)

    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, NOT_FOUND)] * 2
    assert left == 1
    assert await listed(team.owner) == []
