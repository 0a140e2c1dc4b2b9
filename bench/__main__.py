"""`make bench`: every case, as one table. Give names of cases to run only those."""

import sys

from bench import capture, cohort_service, cohorts, decide, evaluation, ingestion, load
from bench.report import Row, show

CASES = {
    "evaluation": evaluation.run,
    "capture": capture.run,
    "decide": decide.run,
    "ingestion": ingestion.run,
    "cohorts": cohorts.run,
    "cohort-service": cohort_service.run,
}


def main() -> None:
    if not load.available():
        sys.exit("The HTTP cases need wrk (Debian package `wrk`) on the PATH.")
    rows: list[Row] = []
    for name in sys.argv[1:] or CASES:
        rows.extend(CASES[name]())
    show(rows)


main()
