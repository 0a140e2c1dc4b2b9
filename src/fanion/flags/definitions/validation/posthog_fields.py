"""Names that any version of PostHog's API, clients or interface writes into a flag.

The structs of `flags.definitions.schemas` have the fields that Fanion stores; the others are here.

Source: PostHog's published schema and clients, 2021 to 2026.
"""

# Fields that are returned with a flag and sent back with it: ids, authors, times, counts, states.
READ_ONLY = frozenset(
    {
        *("id", "team_id", "created_by", "updated_at", "last_modified_by", "version"),
        *(
            "can_edit",
            "is_simple_flag",
            "user_access_level",
            "status",
            "last_called_at",
            "usage_dashboard",
        ),
        *("experiment_set", "experiment_set_metadata", "surveys", "features"),
        "is_used_in_replay_settings",
    }
)
# Fields that clients and the interface send about a change, without effect on any response.
IGNORED = frozenset(
    {
        *("creation_context", "_create_in_folder", "_should_create_usage_dashboard"),
        *("description", "is_remote_configuration", "original_flag", "auto-rollback"),
    }
)
OF_FLAG = READ_ONLY | IGNORED

# Fields of scheduled changes, which PostHog lists by project and Fanion by flag.
OF_SCHEDULED_CHANGE = frozenset(
    {
        *("id", "team_id", "record_id", "model_name", "feature_flag"),
        *("executed_at", "failure_reason", "created_at", "created_by", "updated_at"),
    }
)

# Fields of a role's permission to edit a flag, all maintained by the server.
OF_ROLE_ACCESS = frozenset({"id", "feature_flag", "role", "added_at", "updated_at"})
