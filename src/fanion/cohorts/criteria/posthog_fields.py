"""Field names that PostHog's API, clients and interface, of any version, write into a cohort,
apart from those that the structs of `cohorts.schemas` declare.

source: PostHog's published schema and clients, 2021 to 2026
"""

# Read-only fields that clients send back with a cohort.
MAINTAINED = frozenset(
    {
        *("id", "team_id", "created_by", "created_at", "version", "pending_version"),
        *("is_calculating", "count", "last_calculation", "errors_calculating"),
        *("last_error_message", "last_error_at", "last_backfill_person_properties_at"),
        *("cohort_type", "experiment_set", "user_access_level"),
    }
)
# Sent by the interface; no result depends on it.
ACCOMPANYING = frozenset({"_create_in_folder"})
OF_COHORT = MAINTAINED | ACCOMPANYING

OF_FILTERS = frozenset({"properties"})
OF_GROUP = frozenset({"type", "values", "id", "sort_key"})

# On every condition: fields of the interface, and what PostHog compiles.
_OF_ANY = frozenset(
    {
        *("type", "key", "value", "negation", "id", "sort_key"),
        *("label", "conditionHash", "bytecode", "bytecode_error"),
    }
)
OF_PERSON = _OF_ANY | {"operator", "group_type_index", "group_key_names"}
OF_EVENT_FILTER = OF_PERSON
OF_NESTED = _OF_ANY | {"operator", "cohort_name"}
OF_BEHAVIORAL = _OF_ANY | {
    *("event_type", "operator", "operator_value", "event_filters", "explicit_datetime"),
    *("time_value", "time_interval", "seq_event", "seq_event_type", "seq_time_value"),
    *("seq_time_interval", "min_periods", "total_periods", "value_property", "group_type_index"),
}

# Of a query for a static cohort. The unsupported ones would change which persons are found.
OF_QUERY = frozenset({"kind", "properties", "tags", "version", "response", "modifiers"})
UNSUPPORTED_OF_QUERY = frozenset(
    {"source", "select", "search", "fixedProperties", "orderBy", "limit", "offset"}
)
