"""Answers of tools: of a bounded size, with what was left out."""

import json
from typing import Any

from fanion.mcp.answers import ANSWER_BYTES_MAX, RECEIVED_BYTES_MAX, answer_text, is_error
from fanion.mcp.model import ApiAnswer
from fanion.mcp.tools import TOOLS

FLAGS, SQL, FLAG = TOOLS["list_flags"], TOOLS["run_sql"], TOOLS["get_flag"]


def answered(body: Any, status: int = 200, **headers: str) -> ApiAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiAnswer(status, named, json.dumps(body).encode())


def test_rows_have_the_columns_of_the_tool_only() -> None:
    answer = answered({"count": 1, "results": [{"id": 1, "key": "a", "filters": {}}]})

    assert json.loads(answer_text(FLAGS, answer)) == {
        "count": 1,
        "results": [{"id": 1, "key": "a"}],
    }


def test_the_version_of_a_header_is_part_of_the_answer() -> None:
    answer = answered({"id": 1}, x_flag_version="3")

    assert json.loads(answer_text(FLAG, answer)) == {"version": 3, "id": 1}


def test_rows_that_do_not_fit_are_left_out_and_the_answer_says_how_to_get_them() -> None:
    rows = [[number, "x" * 1000] for number in range(100)]

    text = answer_text(SQL, answered({"columns": ["a", "b"], "results": rows}))

    answer = json.loads(text)
    shown = len(answer["results"])
    assert ANSWER_BYTES_MAX - 2_000 < len(text) <= ANSWER_BYTES_MAX
    assert list(answer) == ["note", "columns", "results"]
    assert answer["results"] == rows[:shown]
    assert answer["note"] == (
        f"Cut: the first {shown} of 100 results of this answer. Ask for fewer columns, aggregate, "
        "or page with LIMIT and OFFSET."
    )


def test_the_size_is_that_of_bytes() -> None:
    text = answer_text(SQL, answered({"results": [["é" * 500] for _ in range(100)]}))

    assert len(text.encode()) <= ANSWER_BYTES_MAX
    assert json.loads(text)["results"]


def test_a_list_and_the_result_of_a_saved_insight_are_cut_too() -> None:
    rows = [{"name": "x" * 1000} for _ in range(100)]

    listed = json.loads(answer_text(TOOLS["list_property_values"], answered(rows)))
    insight = json.loads(answer_text(TOOLS["get_insight"], answered({"id": 1, "result": rows})))

    assert listed["note"].startswith("Cut: the first 4")
    assert (insight["id"], len(insight["result"])) == (1, len(listed["results"]))


def test_an_answer_without_rows_that_fit_is_an_error() -> None:
    for body in ({"filters": "x" * ANSWER_BYTES_MAX}, {"results": [["x" * ANSWER_BYTES_MAX]]}):
        error = json.loads(answer_text(SQL, answered(body)))

        assert (error["status"], error["code"]) == (413, "answer_too_large")
        assert error["detail"].endswith(
            f"a tool answers at most {ANSWER_BYTES_MAX:,}. Ask for fewer columns, aggregate, or "
            "page with LIMIT and OFFSET."
        )


def test_an_answer_that_was_not_received_is_an_error() -> None:
    answer = ApiAnswer(200, {}, None)

    assert is_error(answer)
    assert f"more than {RECEIVED_BYTES_MAX:,} bytes" in answer_text(SQL, answer)


def test_an_error_is_that_of_the_api_with_its_status() -> None:
    error = {"type": "invalid_request", "code": "not_found", "detail": "Not found.", "attr": None}
    answer = answered(error, 404)

    assert is_error(answer)
    assert json.loads(answer_text(FLAG, answer)) == {"status": 404, **error}


def test_an_error_of_a_proxy_has_its_status() -> None:
    answer = ApiAnswer(502, {}, b"<html>Bad Gateway")

    assert json.loads(answer_text(FLAG, answer)) == {"status": 502, "detail": "Status 502."}
