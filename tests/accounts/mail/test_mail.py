"""Encoded mails: nothing that a user has chosen can add a header or a recipient."""

from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import default

import pytest

from fanion.accounts.mail.message import (
    Mail,
    email_changed_mail,
    encode,
    is_sendable,
    password_changed_mail,
    reset_mail,
)

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)
SENDER = "Fanion", "fanion@example.com"
LINK = "https://fanion.example.com/api/reset/" + "x" * 43 + "/"


def mail_to(address: str, subject: str = "Hello", text: str = "Text\n") -> Mail:
    return Mail("test", address, subject, text)


def sent(mail: Mail, sender: tuple[str, str] = SENDER) -> tuple[bytes, dict[str, str]]:
    """Return the mail's bytes on the wire, and the headers that a reader sees."""
    raw = encode(mail, sender, NOW, "1@example.com").as_bytes()
    return raw, dict(message_from_bytes(raw, policy=default).items())


def test_a_mail_names_its_sender_recipient_and_time() -> None:
    raw, headers = sent(mail_to("ada@example.com"))

    assert headers == {
        "From": "Fanion <fanion@example.com>",
        "To": "ada@example.com",
        "Subject": "Hello",
        "Date": "Fri, 01 Mar 2024 12:00:00 +0000",
        "Message-ID": "<1@example.com>",
        "Auto-Submitted": "auto-generated",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "7bit",
        "MIME-Version": "1.0",
    }
    assert raw.isascii()


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com\r\nBcc: eve@example.com",
        "ada@example.com\nBcc:eve@example.com",
        "ada@example.com,eve@example.com",
        "ada@example.com>,<eve@example.com",
        "<ada@example.com>",
        '"ada@example.com, eve"@example.com',
        "ada(comment)@example.com",
        "ada;eve@example.com",
        "ada@[127.0.0.1]",
        "ada@example..com",
        ".ada@example.com",
        "ada@-example.com",
        "ada\x00@example.com",
        "ädä@example.com",
        "a" * 65 + "@example.com",
        "a@" + "b" * 253,
        "@example.com",
        "ada",
        "",
    ],
)
def test_no_mail_is_made_for_an_address_with_a_meaning_of_its_own(address: str) -> None:
    assert not is_sendable(address)
    with pytest.raises(ValueError, match=r"^no mail can be sent to the address$"):
        sent(mail_to(address))


@pytest.mark.parametrize(
    ("address", "on_the_wire"),
    [
        ("ada.o'neil+tag@mail.example.com", "ada.o'neil+tag@mail.example.com"),
        ("root@localhost", "root@localhost"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    ],
)
def test_an_ordinary_address_is_kept(address: str, on_the_wire: str) -> None:
    assert sent(mail_to(address))[1]["To"] == on_the_wire


@pytest.mark.parametrize("text", ["a\r\nBcc: eve@example.com", "a\nb", "a\rb"])
def test_a_line_break_in_a_header_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"linefeed|carriage return|CR or LF|invalid"):
        sent(mail_to("ada@example.com", subject=text))
    with pytest.raises(ValueError, match=r"CR or LF|invalid|linefeed|carriage return"):
        sent(mail_to("ada@example.com"), (text, "fanion@example.com"))


def test_other_letters_survive() -> None:
    raw, headers = sent(mail_to("ada@example.com", "Grüße", "ö\n"), ("Fänion", SENDER[1]))

    assert raw.isascii()
    assert (headers["Subject"], headers["From"]) == ("Grüße", "Fänion <fanion@example.com>")
    body = message_from_bytes(raw, policy=default).get_content()
    assert body == "ö\r\n"


@pytest.mark.parametrize(
    ("lasts", "words"),
    [
        (timedelta(hours=1), "within one hour:"),
        (timedelta(hours=24), "within 24 hours:"),
        (timedelta(days=7), "within 7 days:"),
    ],
)
def test_a_mail_for_a_new_password_holds_the_link_on_a_line_of_its_own(
    lasts: timedelta, words: str
) -> None:
    mail = reset_mail("ada@example.com", LINK, lasts)

    raw, _ = sent(mail)

    assert f"\r\n{LINK}\r\n".encode() in raw
    assert words in mail.text
    assert LINK not in repr(mail)


def test_news_of_a_change_hold_no_link_that_signs_in() -> None:
    for made in (password_changed_mail, email_changed_mail):
        mail = made("ada@example.com", "https://fanion.example.com")

        assert "https://fanion.example.com" in mail.text
        assert "/api/" not in mail.text
