"""Every name that PostHog's API, of any version, its clients and its interface write into a cohort.

Names of fields that Fanion stores stand in the structs of `cohorts.schemas`; here is the rest.
source: PostHog's published schema and clients, 2021 to 2026
"""

# Shown with a cohort and sent back with it: ids, authors, times, counts and states.
MAINTAINED = frozenset(
    {
        *("id", "team_id", "created_by", "created_at", "version", "pending_version"),
        *("is_calculating", "count", "last_calculation", "errors_calculating"),
        *("last_error_message", "last_error_at", "last_backfill_person_properties_at"),
        *("cohort_type", "experiment_set", "user_access_level"),
    }
)
# What the interface tells about a change, and what no answer depends on.
ACCOMPANYING = frozenset({"_create_in_folder"})
OF_COHORT = MAINTAINED | ACCOMPANYING

OF_FILTERS = frozenset({"properties"})
OF_GROUP = frozenset({"type", "values", "id", "sort_key"})

# What every condition may carry along: what the interface sorts by, and what servers compile.
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

# A question that makes a static cohort. The others are known, and would narrow who is found.
OF_QUERY = frozenset({"kind", "properties", "tags", "version", "response", "modifiers"})
UNSUPPORTED_OF_QUERY = frozenset(
    {"source", "select", "search", "fixedProperties", "orderBy", "limit", "offset"}
)
