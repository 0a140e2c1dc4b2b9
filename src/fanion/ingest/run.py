"""A run: the envelopes that are ingested together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fanion.ingest.items import read_items
from fanion.ingest.prepare import prepare
from fanion.ingest.prepared import Context, Drop, GeoIp, ProjectRules
from fanion.ingest.resolve import Arrived
from fanion.log.port import Entry

RulesOf = Callable[[int], ProjectRules]


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """arrived: by project, in the order of arrival; dropped: items by reason"""

    first: int
    last: int
    arrived: Mapping[int, Sequence[Arrived]]
    dropped: Mapping[Drop, int] = field(default_factory=dict)

    @property
    def events(self) -> int:
        return sum(map(len, self.arrived.values()))


def prepare_run(
    entries: Sequence[Entry], rules_of: RulesOf, geoip: GeoIp | None = None
) -> PreparedRun:
    """entries: at least one, in the order of their ids"""
    arrived: dict[int, list[Arrived]] = {}
    dropped: Counter[Drop] = Counter()
    for entry in entries:
        envelope = entry.envelope
        context = Context(
            envelope.project_id,
            entry.id,
            envelope.received_at,
            envelope.sent_at,
            envelope.client_ip,
            envelope.user_agent,
            rules_of(envelope.project_id),
            geoip,
        )
        of_project = arrived.setdefault(envelope.project_id, [])
        for index, item in enumerate(read_items(envelope.body)):
            outcome = prepare(item, context, index)
            if isinstance(outcome, Drop):
                dropped[outcome] += 1
            else:
                of_project.append(Arrived(outcome, envelope.received_at))
    return PreparedRun(entries[0].id, entries[-1].id, arrived, dropped)
