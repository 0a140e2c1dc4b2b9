"""The settings of topics with which acknowledged requests can be lost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fanion.accept_log.kafka.records import HISTORICAL, LIVE
from fanion.accept_log.kafka.topics import TopicState

_HOUR_MS = 3_600_000
PARTITIONS_MIN = 4  # fewer cannot be divided among servers that come and go
RETENTION_MS_MIN = 24 * _HOUR_MS


def find_risks(state: TopicState) -> Sequence[str]:
    """Return what a setting of the topics risks, each with its name and value.

    A risk of one topic begins with the name of its lane.
    """
    risks = []
    if state.replicas < 2:
        risks.append(f"replicas {state.replicas}: requests are lost with the disk of one broker")
    if state.partitions < PARTITIONS_MIN:
        risks.append(f"partitions {state.partitions}: no more servers than that can ingest")
    lanes: dict[str, list[str]] = defaultdict(list)
    for lane, settings in zip((LIVE, HISTORICAL), state.settings, strict=True):
        for risk in _topic_risks(settings, state.replicas):
            lanes[risk].append(lane)
    of_topics = [risk if len(of) > 1 else f"{of[0]}: {risk}" for risk, of in lanes.items()]
    return [*risks, *of_topics]


def _topic_risks(settings: Mapping[str, str], replicas: int) -> Iterator[str]:
    in_sync = settings.get("min.insync.replicas", "1")
    if replicas > 1 and int(in_sync) < 2:
        yield (
            f"min.insync.replicas {in_sync}: a request is acknowledged while only one broker has it"
        )
    if settings.get("unclean.leader.election.enable") == "true":
        yield (
            "unclean.leader.election.enable true: a broker that lacks acknowledged requests may "
            "become the leader"
        )
    if "compact" in settings.get("cleanup.policy", "delete"):
        yield f"cleanup.policy {settings['cleanup.policy']}: requests have no key"
    kept_ms = int(settings.get("retention.ms", "-1"))
    if 0 <= kept_ms < RETENTION_MS_MIN:
        yield (
            f"retention.ms {kept_ms}: requests are deleted after {kept_ms / _HOUR_MS:.1f} hours, "
            "ingested or not"
        )
    kept_bytes = int(settings.get("retention.bytes", "-1"))
    if kept_bytes >= 0:
        yield f"retention.bytes {kept_bytes}: requests are deleted by size, ingested or not"
