"""The command `make bench`: every case, as one table. Give names of cases to run only those."""

import sys

from bench import (
    backlog,
    blast_radius,
    capacity,
    capacity_kafka,
    capacity_parts,
    capture,
    cohort_service,
    cohorts,
    console,
    console_insights,
    decide,
    distributed,
    evaluation,
    event_list,
    experiments,
    exports,
    flag_change,
    flags,
    guards,
    imports,
    ingestion,
    insights,
    load,
    peers,
    postgres_capture,
    sql,
    start,
    sustained,
    walk,
)
from bench.report import Row, show

CASES = {
    "evaluation": evaluation.run,
    "start": start.run,
    "capture": capture.run,
    "capture-sizes": capture.sizes,
    "postgres-capture": postgres_capture.run,
    "decide": decide.run,
    "flags": flags.run,
    "ingestion": ingestion.run,
    "imports": imports.run,
    "sustained": sustained.run,
    "backlog": backlog.run,
    "event-list": event_list.run,
    "cohorts": cohorts.run,
    "cohort-service": cohort_service.run,
    "blast-radius": blast_radius.run,
    "flag-change": flag_change.run,
    "console": console.run,
    "console-insights": console_insights.run,
    "cohort-upload": cohort_service.upload,
    "insights": insights.run,
    "sql": sql.run,
    "distributed": distributed.run,
    "exports": exports.run,
    "experiments": experiments.run,
    "guards": guards.run,
}
# A part of another case runs with that case. Cases with questions would first make 20 M events.
ALL = [
    name
    for name in CASES
    if name not in ("cohort-upload", "insights", "console-insights", "experiments", "guards")
]


def main() -> None:
    if sys.argv[1:2] == ["walk"]:  # it counts, and measures no time
        walk.main(sys.argv[2:])
        return
    if not load.available():
        sys.exit("The HTTP cases need wrk (Debian package `wrk`) on the PATH.")
    if sys.argv[1:2] == ["capacity"]:  # its figures stand side by side, with what follows from them
        if sys.argv[2:3] == ["kafka"]:
            capacity_kafka.main()
        elif sys.argv[2:3] == ["parts"]:
            capacity_parts.main()
        else:
            capacity.main()
        return
    if sys.argv[1:2] == ["peers"]:
        peers.main()
        return
    rows: list[Row] = []
    for name in sys.argv[1:] or ALL:
        rows.extend(CASES[name]())
    show(rows)


main()
