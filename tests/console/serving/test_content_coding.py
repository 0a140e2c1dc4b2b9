"""The content coding that a client prefers."""

import pytest

from fanion.console.content_coding import preferred_coding

AVAILABLE = ("br", "gzip", "identity")
CASES = {
    "": "identity",
    "gzip, deflate, br, zstd": "br",
    "gzip": "gzip",
    "GZIP": "gzip",
    "x-gzip": "gzip",
    "br;q=0.5, gzip;q=0.8": "gzip",
    "br;q=0.5,gzip;q=0.5": "br",
    "br; q=0, gzip; q=0": "identity",
    "*": "br",
    "br;q=0, *": "gzip",
    "*;q=0": "identity",
    "identity": "identity",
    "identity, gzip;q=0.5": "identity",
    "identity;q=0.5, gzip": "gzip",
    "identity;q=0": "identity",
    "deflate, zstd": "identity",
    "gzip;q=1.000": "gzip",
    "gzip;q=nan": "gzip",  # an unreadable quality is ignored
    ",,;;,gzip": "gzip",
    "x," * 40 + "gzip": "identity",
    ";" * 60_000 + "gzip": "identity",
}


@pytest.mark.parametrize("accept", CASES, ids=lambda accept: accept[:40])
def test_the_best_coding_that_the_client_reads_is_sent(accept: str) -> None:
    assert preferred_coding(accept, AVAILABLE) == CASES[accept]


def test_what_is_not_there_is_not_sent() -> None:
    assert preferred_coding("br, gzip", ("gzip", "identity")) == "gzip"
    assert preferred_coding("br, gzip", ("identity",)) == "identity"
