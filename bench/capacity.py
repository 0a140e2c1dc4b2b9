"""The command `python -m bench capacity`: the processor time of each role.

It measures what a request and an event cost each role, and whether an event costs the same with
one, two and four servers that ingest. From that it computes what an installation needs for a
number of events per second.

Rates on a machine that everything shares say nothing about a larger installation; processor time
does. Each figure is the least of ROUNDS rounds, which alternate.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.capacity_roles import (
    EVENTS,
    INGEST,
    POSTGRES,
    STORE,
    WEB,
    Answered,
    Ingested,
    Log,
    accept,
    answer,
    engines,
    ingest,
)
from bench.capacity_table import EVENTS_OF_REQUEST, Costs, table

ROUNDS = 2
SIZES = (1, EVENTS_OF_REQUEST, 100)
INGESTERS = (1, 2, 4)
FLAT = 1.15


def main() -> None:
    with TemporaryDirectory() as folder, engines(Path(folder)) as on:
        answered = _least_answered(
            [measured for _ in range(ROUNDS) for measured in answer(on, SIZES)]
        )
        _say(_answered_lines(answered))
        log = accept(on)
        ingested: dict[int, list[Ingested]] = {number: [] for number in INGESTERS}
        for turn in range(ROUNDS):
            for number in INGESTERS:
                ingested[number].append(ingest(on, log, number, f"by_{number}_{turn}"))
        least = {number: _least(run.us for run in runs) for number, runs in ingested.items()}
        _say(_ingested_lines(log, ingested, least))
        costs = _costs(answered, least[1], log, ingested[1][0])
        _say(("computed", "", *table(costs)))


def _costs(
    answered: Mapping[int, Mapping[str, float]],
    of_one: Mapping[str, float],
    log: Log,
    ingested: Ingested,
) -> Costs:
    request, single = answered[EVENTS_OF_REQUEST], answered[1]
    return Costs(
        request[WEB],
        single[WEB],
        request[POSTGRES],
        of_one[INGEST],
        of_one[POSTGRES],
        of_one[STORE],
        log.bytes / EVENTS,
        ingested.stored_bytes,
    )


def _least_answered(answers: Sequence[Answered]) -> dict[int, dict[str, float]]:
    """Return the least figures, by the number of events in a request."""
    return {
        size: _least(answer.us for answer in answers if answer.events == size) for size in SIZES
    }


def _least(figures: Iterator[Mapping[str, float]]) -> dict[str, float]:
    every = list(figures)
    return {role: min(figure[role] for figure in every) for role in every[0]}


def _answered_lines(answered: Mapping[int, Mapping[str, float]]) -> Iterator[str]:
    yield "measured: microseconds of a core, of a request, while nothing ingests"
    yield ""
    yield f"| Events of a request | {WEB} | {POSTGRES} | an event, both |"
    yield "|---|---|---|---|"
    for size, us in answered.items():
        both = (us[WEB] + us[POSTGRES]) / size
        yield f"| {size} | {us[WEB]:.1f} | {us[POSTGRES]:.1f} | {both:.1f} |"


def _ingested_lines(
    log: Log, ingested: Mapping[int, Sequence[Ingested]], least: Mapping[int, Mapping[str, float]]
) -> Iterator[str]:
    yield (
        f"measured: microseconds of a core, of an event, {EVENTS:,} events in requests with "
        f"{EVENTS_OF_REQUEST}, {log.entries:,} entries, "
        f"{log.bytes / EVENTS:.0f} B an event in the log; and cores while idle"
    )
    yield ""
    roles = (INGEST, POSTGRES, STORE)
    idle = " | ".join(f"{role} idle" for role in roles)
    yield f"| Servers that ingest | {' | '.join(roles)} | all | batches | B stored | {idle} |"
    yield "|" + "---|" * 9
    for number, runs in ingested.items():
        for run in runs:
            of_roles = " | ".join(f"{run.us[role]:.1f}" for role in roles)
            idle = " | ".join(f"{run.idle[role]:.3f}" for role in roles)
            yield (
                f"| {number} | {of_roles} | {sum(run.us.values()):.1f} "
                f"| {run.batches} | {run.stored_bytes:.0f} | {idle} |"
            )
    for role in roles:
        yield _flat(role, [us[role] for us in least.values()])
    yield _flat("all", [sum(us.values()) for us in least.values()])


def _flat(role: str, us: Sequence[float]) -> str:
    ratio = max(us[1:]) / us[0]
    return f"{role}: {ratio:.2f} times that of one server{'' if ratio <= FLAT else '  MISSED'}"


def _say(lines: Iterator[str] | Sequence[str]) -> None:
    print("\n".join(lines), end="\n\n", flush=True)
