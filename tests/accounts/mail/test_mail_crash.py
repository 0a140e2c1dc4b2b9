"""A forgotten password, with a real server and a real mail server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer
from tests.support.smtp_server import MailServer, smtp_server

pytestmark = pytest.mark.long("starts real servers")

OWNER = "admin@fanion.local"
PUBLIC_URL = "https://fanion.example.com"
NEW = {"password": "quite another passphrase"}


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with smtp_server() as server:
        yield server


@pytest.fixture
def server(tmp_path: Path, mails: MailServer) -> Iterator[RealServer]:
    settings = {
        "FANION_SMTP_URL": f"smtp+plain://127.0.0.1:{mails.port}",
        "FANION_MAIL_FROM": "Fanion <fanion@example.com>",
        "FANION_PUBLIC_URL": PUBLIC_URL,
    }
    server = PreloadedServer(tmp_path / "data", settings)
    server.setup()
    server.start()
    yield server
    server.close()


def test_a_mail_leads_to_a_new_password(server: RealServer, mails: MailServer) -> None:
    with plain_http.Client(base_url=server.url) as browser:
        preflight = browser.get("/_preflight/").json()
        unknown = browser.post("/api/reset/", json={"email": "nobody@example.com"})
        known = browser.post("/api/reset/", json={"email": OWNER})
        mail = mails.received()[0]
        [link] = re.findall(r"^https://\S+$", mail.text, re.MULTILINE)
        path = link.removeprefix(PUBLIC_URL)
        done = browser.post(path, json=NEW)
        again = browser.post(path, json=NEW)
        login = browser.post("/api/login/", json={"email": OWNER, **NEW})
    notice = mails.received(2)[1]

    assert preflight["email_service_available"] is True
    assert (unknown.status_code, known.status_code) == (204, 204)
    assert (mail.sender, mail.recipients) == ("fanion@example.com", (OWNER,))
    assert mail.message["From"] == "Fanion <fanion@example.com>"
    assert (done.status_code, again.status_code, login.status_code) == (200, 400, 200)
    assert notice.message["Subject"] == "Your password was changed"
    assert len(mails.mails) == 2  # none to the address that has no account
    log = server.log_path.read_text()
    assert path.split("/")[-2] not in log and NEW["password"] not in log
    assert OWNER not in log


def test_a_mail_server_that_is_silent_delays_no_request(
    server: RealServer, mails: MailServer
) -> None:
    mails.silent.add("EHLO")
    with plain_http.Client(base_url=server.url) as browser:
        answer = browser.post("/api/reset/", json={"email": OWNER})
        mails.said("EHLO")
        statuses = [browser.get("/_preflight/").status_code for _ in range(20)]
        stopped = server.stop()

    assert (answer.status_code, set(statuses), stopped) == (204, {200}, 0)
    assert mails.mails == []


def test_a_mail_that_the_server_does_not_take_is_sent_later(
    server: RealServer, mails: MailServer
) -> None:
    mails.replies["RCPT"] = ["451 try again later"]
    with plain_http.Client(base_url=server.url) as browser:
        browser.post("/api/reset/", json={"email": OWNER})
        mail = mails.received()[0]

    assert mail.recipients == (OWNER,)
    until(lambda: '"mail_sent"' in server.log_path.read_text(), "the mail is not logged")
    assert '"mail_delayed"' in server.log_path.read_text()
