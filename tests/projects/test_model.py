"""E-mail addresses, levels and names as an operator may write them."""

import pytest

from fanion.projects.model import Level, read_email, read_first_name, read_level


def test_a_level_is_known_by_its_name_in_any_case() -> None:
    assert [read_level(text) for text in ("member", " Admin", "OWNER")] == list(Level)


@pytest.mark.parametrize("text", ["boss", "", "15", "mem ber"])
def test_an_unknown_level_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a level; use member, admin or owner\.$"):
        read_level(text)


def test_an_address_is_stored_in_lower_case() -> None:
    assert read_email(" Ada@Example.COM ") == "ada@example.com"
    assert read_email("a" * 248 + "@ex.io") == "a" * 248 + "@ex.io"


@pytest.mark.parametrize(
    "text", ["", "ada", "@x.io", "ada@", "a da@x.io", "ada@x@y", "ada@x\x1b[1m", "a\u200b@x.io"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an e-mail address, such as"):
        read_email(text)


def test_a_long_address_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 254 characters\.$"):
        read_email("a" * 249 + "@ex.io")


def test_a_first_name_has_some_characters() -> None:
    assert read_first_name(" Ada ") == "Ada"
    for text in ("", "  ", "x" * 151):
        with pytest.raises(ValueError, match=r"1 to 150 characters\.$"):
            read_first_name(text)
