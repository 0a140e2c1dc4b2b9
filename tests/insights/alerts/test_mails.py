"""Mails about alerts: to whom they go, what they say, and what becomes of them without a reply."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from fanion.accounts.mail.client import MailClient
from fanion.config.mail import SmtpServer
from fanion.db.schema.insights import alert_mails, alerts
from fanion.db.schema.tables import memberships, users
from fanion.insights.alerts.mails_store import AlertMailStore
from fanion.insights.alerts.mails_worker import TRIED_FOR, AlertMailWorker
from fanion.insights.alerts.worker import AlertWorker
from tests.support.application import Json, Tenant
from tests.support.management import MAIL_URL, Person, add_member
from tests.support.smtp_server import MailServer, smtp_server

pytestmark = pytest.mark.every_engine
HOSTILE = 'Sign-ups\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script> "x" \u202e' + "é" * 300


@pytest.fixture
def server() -> Iterator[MailServer]:
    with smtp_server() as server:
        yield server


class Post:
    """The loops that check alerts and send their mails, with a mail server."""

    def __init__(self, tenant: Tenant, server: MailServer) -> None:
        app, self.outcomes = tenant.server, Counter[str]()
        service = app.running.questions.alerts
        store = replace(service.store, mail_url=MAIL_URL)
        project_of = app.running.public.flags.projects.by_id
        smtp = SmtpServer(scheme="smtp+plain", host="127.0.0.1", port=server.port)
        client = MailClient(smtp, ("Fanion", "fanion@example.com"), app.clock.now)
        self._checks = AlertWorker(store, service.checks, project_of, app.clock.now)
        self._mails = AlertMailWorker(
            AlertMailStore(app.records), client.send, project_of, app.clock.now, self._count
        )

    async def check(self) -> None:
        while await self._checks.work_once():
            pass

    async def send(self) -> None:
        await self._mails.work_once()

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1


@pytest.fixture
async def post(tenant: Tenant, server: MailServer) -> Post:
    """Return the loops; those check all alerts, so that earlier tests must have left none."""
    async with tenant.server.records.write() as connection:
        for table in (alert_mails, alerts):
            await connection.execute(delete(table).where(table.c.project_id != tenant.project_id))
    return Post(tenant, server)


def address(tenant: Tenant, name: str) -> str:
    return f"{name}-{tenant.project_id:x}@example.com"


async def colleague(tenant: Tenant, name: str) -> Person:
    unique, _ = address(tenant, name).split("@")
    return await add_member(tenant.server.records, unique, organization_id=tenant.organization_id)


async def alert(tenant: Tenant, **sent: Any) -> Json:
    """Create an alert that fires as long as nothing is captured."""
    shown = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-3d"}
    insight = await tenant.api.post("/insights/", json={"name": "Daily visits", "filters": shown})
    given = {"name": "Few", "condition": "below", "threshold": 1_000_000, **sent}
    made = await tenant.api.post("/alerts/", json={"insight": insight.json()["id"], **given})
    assert made.status_code == 201, made.text
    body: Json = made.json()
    return body


async def set_threshold(tenant: Tenant, alert_id: int, threshold: float) -> None:
    """Change a threshold without a new start of the alert."""
    async with tenant.server.records.write() as connection:
        this = alerts.c.id == alert_id
        await connection.execute(update(alerts).where(this).values(threshold=threshold))


async def waiting(tenant: Tenant) -> int:
    count = select(func.count()).where(alert_mails.c.project_id == tenant.project_id)
    async with tenant.server.records.read() as connection:
        number: int = (await connection.execute(count)).scalar_one()
        return number


async def test_subscribed_members_get_a_mail_when_an_alert_starts_and_stops_firing(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    ann, bob = await colleague(tenant, "ann"), await colleague(tenant, "bob")
    made = await alert(tenant, subscribed_users=[ann.user_id, bob.user_id])
    place = f"/alerts/{made['id']}/"

    await post.check()
    await post.send()
    tenant.server.clock.move(minutes=15)
    await post.check()  # it still fires
    await post.send()
    await tenant.capture(
        {"event": "seen", "distinct_id": "ann", "timestamp": "2024-02-29T10:00:00Z"}
    )
    await set_threshold(tenant, made["id"], 1.0)
    tenant.server.clock.move(minutes=15)
    await post.check()
    await post.send()

    mails = await asyncio.to_thread(server.received, 4)
    assert [mail.recipients for mail in mails] == [
        (address(tenant, "ann"),),
        (address(tenant, "bob"),),
    ] * 2
    assert [mail.message["Subject"] for mail in mails[::2]] == [
        "Alert firing: Few",
        "Alert no longer firing: Few",
    ]
    link = f"{MAIL_URL}/project/{tenant.project_id}/insights/{made['insight']}?tab=alerts"
    assert mails[0].text == (
        'The alert "Few" on "Daily visits" is firing.\n'
        "\n"
        "Value: 0\n"
        "Fires at: less than 1,000,000\n"
        "Checked at: 2024-03-01 12:00 UTC\n"
        "\n"
        f"{link}\n"
        "\n"
        "You get this mail because you are subscribed to the alert. You can change that there.\n"
    )
    checks = (await tenant.get(f"{place}checks/"))["results"]
    assert [(check["state"], check["mails"]) for check in checks] == [
        ("not_firing", 2),
        ("firing", 0),
        ("firing", 2),
    ]
    assert (post.outcomes, await waiting(tenant)) == ({"sent": 4}, 0)


async def test_users_who_left_or_were_deactivated_get_no_mail(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    gone, off, later = [await colleague(tenant, name) for name in ("gone", "off", "later")]
    subscribed = [person.user_id for person in (gone, off, later)]
    made = await alert(tenant, subscribed_users=[*subscribed, tenant.user_id])
    await remove(tenant, gone)
    async with tenant.server.records.write() as connection:
        this = users.c.id == off.user_id
        await connection.execute(update(users).where(this).values(is_active=False))

    await post.check()
    await remove(tenant, later)
    await post.send()
    kept = await tenant.api.patch(
        f"/alerts/{made['id']}/", json={"subscribed_users": [gone.user_id]}
    )

    [mail] = await asyncio.to_thread(server.received)
    assert mail.recipients == (tenant.owner["email"],)
    assert post.outcomes == {"sent": 1, "dropped": 1}
    assert kept.status_code == 200  # a user who was subscribed already is not looked up again


async def remove(tenant: Tenant, person: Person) -> None:
    async with tenant.server.records.write() as connection:
        theirs = memberships.c.user_id == person.user_id
        await connection.execute(delete(memberships).where(theirs))


async def test_a_hostile_name_changes_nothing_but_the_text(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    await alert(tenant, name=HOSTILE, subscribed_users=[tenant.user_id])

    await post.check()
    await post.send()

    [mail] = await asyncio.to_thread(server.received)
    message = mail.message
    assert mail.recipients == (tenant.owner["email"],)
    assert (message["Bcc"], message.get_content_type()) == (None, "text/plain")
    subject = str(message["Subject"])
    assert subject.startswith("Alert firing: Sign-ups Bcc: all@example.com <script>")
    assert len(subject) <= 150
    assert "Sign-ups Bcc: all@example.com <script>" in mail.text


async def test_a_mail_is_tried_again_for_a_day_and_survives_a_restart(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    server.replies["RCPT"] = ["451 later"] * 3
    await alert(tenant, subscribed_users=[tenant.user_id])
    await post.check()

    await post.send()
    delayed = await waiting(tenant)
    tenant.server.clock.move(seconds=60)
    again = Post(tenant, server)
    await again.send()
    tenant.server.clock.move(seconds=TRIED_FOR.total_seconds())
    await again.send()

    assert (delayed, await waiting(tenant)) == (1, 0)
    assert (post.outcomes, again.outcomes, server.mails) == ({}, {"failed": 1}, [])


async def test_a_refused_address_is_given_up_at_once(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    server.replies["RCPT"] = ["550 no such user"]
    await alert(tenant, subscribed_users=[tenant.user_id])

    await post.check()
    await post.send()

    assert (post.outcomes, await waiting(tenant)) == ({"failed": 1}, 0)


async def test_mails_of_a_deleted_alert_are_not_sent(
    tenant: Tenant, server: MailServer, post: Post
) -> None:
    made = await alert(tenant, subscribed_users=[tenant.user_id])
    await post.check()

    await tenant.api.delete(f"/alerts/{made['id']}/")
    await post.send()

    assert (post.outcomes, await waiting(tenant), server.mails) == ({}, 0, [])


async def test_without_a_mail_server_nothing_is_kept(tenant: Tenant) -> None:
    made = await alert(tenant, subscribed_users=[tenant.user_id])

    while await tenant.server.running.questions.alerter.work_once():
        pass

    [check] = (await tenant.get(f"/alerts/{made['id']}/checks/"))["results"]
    assert (check["state"], check["mails"], await waiting(tenant)) == ("firing", 0, 0)
