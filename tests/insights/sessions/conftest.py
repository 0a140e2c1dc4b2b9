from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from fanion.insights.kinds.service import Calculator, read_sent_query
from tests.support.histories import NOW, Analyst, History

Ask = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="session")
def web(analyst: Analyst) -> Ask:
    """Return the function `web`, which answers a question of web analytics about a history.

    await web(history, "WebOverviewQuery", dateRange=...)
    """

    async def ask(
        history: History,
        kind: str,
        *,
        now: datetime = NOW,
        cleaning: Sequence[Mapping[str, Any]] = (),
        test_accounts: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> Any:
        project = replace(
            await analyst.store(history),
            path_cleaning_filters=tuple(cleaning),
            test_account_filters=tuple(test_accounts),
        )
        query = read_sent_query({"kind": kind, **options}, "")
        calculator = Calculator(analyst.analysis)
        return await calculator.result(project, query, now)

    return ask
