#!/bin/sh
# Run Fanion's tests of the event store on a ClickHouse cluster, and write deploy/clickhouse/report/clickhouse-report.md.
# Please send us that file, also if everything passes: Fanion has never run on a real cluster.
#
#   deploy/clickhouse/check.sh                                          # on a cluster in containers, removed afterwards
#   deploy/clickhouse/check.sh 'clickhouse://user:pw@host/db?cluster=c' # on an empty database of yours
set -eu
cd "$(dirname "$0")"
mkdir -p report
if [ $# -gt 0 ]; then
  URL=$1 exec docker compose run --rm --no-deps tests
fi
trap 'docker compose --profile tests down --volumes' EXIT
docker compose up --detach --wait
docker compose run --rm tests
