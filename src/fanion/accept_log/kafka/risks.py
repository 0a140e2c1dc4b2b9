"""The settings of topics with which acknowledged requests can be lost."""

from collections.abc import Sequence

from fanion.accept_log.kafka.topics import TopicState

_HOUR_MS = 3_600_000
PARTITIONS_MIN = 4  # fewer cannot be divided among servers that come and go
RETENTION_MS_MIN = 24 * _HOUR_MS


def find_risks(state: TopicState) -> Sequence[str]:
    """Return what a setting of the topics risks, each with its name and value."""
    risks = []
    settings = state.settings
    if state.replicas < 2:
        risks.append(f"replicas {state.replicas}: requests are lost with the disk of one broker")
    if state.replicas > 1 and int(settings.get("min.insync.replicas", "1")) < 2:
        risks.append(
            f"min.insync.replicas {settings.get('min.insync.replicas', '1')}: a request is "
            "acknowledged while only one broker has it"
        )
    if settings.get("unclean.leader.election.enable") == "true":
        risks.append(
            "unclean.leader.election.enable true: a broker that lacks acknowledged requests may "
            "become the leader"
        )
    if "compact" in settings.get("cleanup.policy", "delete"):
        risks.append(f"cleanup.policy {settings['cleanup.policy']}: requests have no key")
    return [*risks, *_retention_risks(state), *_partition_risks(state)]


def _retention_risks(state: TopicState) -> list[str]:
    kept_ms = int(state.settings.get("retention.ms", "-1"))
    kept_bytes = int(state.settings.get("retention.bytes", "-1"))
    risks = []
    if 0 <= kept_ms < RETENTION_MS_MIN:
        risks.append(
            f"retention.ms {kept_ms}: requests are deleted after {kept_ms / _HOUR_MS:.1f} hours, "
            "ingested or not"
        )
    if kept_bytes >= 0:
        risks.append(f"retention.bytes {kept_bytes}: requests are deleted by size, ingested or not")
    return risks


def _partition_risks(state: TopicState) -> list[str]:
    if state.partitions >= PARTITIONS_MIN:
        return []
    return [f"partitions {state.partitions}: no more servers than that can ingest"]
