"""Names that any version of PostHog's API, clients or interface writes into managed objects.

They are in addition to the fields of Fanion's own structs.

`MAINTAINED_…` are ids, authors, times, counts and states: they are part of a response, are sent
back with it, and are ignored. `UNSUPPORTED_…` have an effect in PostHog and none here: they must be
idle (null, false or empty), and each has advice what to do instead. The names of flags are in
`flags.definitions.validation.posthog_fields`, those of an insight's query in
`rest.posthog_insight_fields`.

Source: PostHog's published schema, interface and clients, 2021 to 2026.
"""

from collections.abc import Mapping

# Metadata that clients send with any change; it has no effect.
ACCOMPANYING = frozenset({"creation_context", "_create_in_folder", "access_control_version"})
_EVERYWHERE = frozenset({"id", "team_id", "project_id", "user_access_level"}) | ACCOMPANYING

MAINTAINED_OF_PROJECT = _EVERYWHERE | {
    *("uuid", "organization", "organization_id", "api_token", "created_at", "updated_at"),
    *("secret_api_token", "secret_api_token_backup", "live_events_token", "ingested_event"),
    *("effective_membership_level", "has_group_types", "group_types", "default_modifiers"),
    *("person_on_events_querying_enabled", "groups_on_events_querying_enabled"),
    *("product_intents", "managed_viewsets", "available_setup_task_ids", "is_pending_deletion"),
    *("plugins_opt_in", "opt_out_capture", "event_names", "event_properties"),
    *("event_names_with_usage", "event_properties_with_usage", "event_properties_numerical"),
    # The progress of PostHog's interface with a project.
    *("completed_snippet_onboarding", "has_completed_onboarding_for", "onboarding_tasks"),
    *("signup_token", "is_demo"),
    "former_api_tokens",
}
_NO_RECORDINGS = "Sessions are not recorded."
_ON_CLIENTS = "Set it where the client starts."
UNSUPPORTED_OF_PROJECT: Mapping[str, str] = {
    "anonymize_ips": "Set ingestion.anonymize_ips.",
    "product_description": "",
    **dict.fromkeys(
        (
            *("session_recording_opt_in", "session_recording_sample_rate"),
            *("session_recording_minimum_duration_milliseconds", "session_recording_linked_flag"),
            *("session_recording_network_payload_capture_config", "session_replay_config"),
            *("session_recording_masking_config", "session_recording_url_trigger_config"),
            *("session_recording_url_blocklist_config", "session_recording_event_trigger_config"),
            *("session_recording_trigger_match_type_config", "session_recording_trigger_groups"),
            *("session_recording_retention_period", "session_recording_version"),
            *("recording_domains", "capture_console_log_opt_in", "capture_performance_opt_in"),
        ),
        _NO_RECORDINGS,
    ),
    **dict.fromkeys(
        (
            *("autocapture_opt_out", "autocapture_exceptions_opt_in", "capture_dead_clicks"),
            *("autocapture_exceptions_errors_to_ignore", "autocapture_web_vitals_opt_in"),
            *("autocapture_web_vitals_allowed_metrics", "heatmaps_opt_in", "inject_web_apps"),
            *("surveys_opt_in", "survey_config", "flags_persistence_default"),
            *("cookieless_server_hash_mode", "person_processing_opt_out"),
        ),
        _ON_CLIENTS,
    ),
    **dict.fromkeys(
        (
            *("app_urls", "slack_incoming_webhook", "test_account_filters_default_checked"),
            *("data_attributes", "person_display_name_properties"),
            *("correlation_config", "live_events_columns", "extra_settings"),
            *("human_friendly_comparison_periods", "modifiers", "default_data_theme"),
            *("feature_flag_confirmation_enabled", "feature_flag_confirmation_message"),
            *("default_evaluation_contexts_enabled", "require_evaluation_contexts"),
            *("default_evaluation_environments_enabled", "require_evaluation_environment_tags"),
            *("revenue_analytics_config", "marketing_analytics_config"),
            *("customer_analytics_config", "base_currency", "business_model", "logs_settings"),
            *("web_analytics_pre_aggregated_tables_enabled", "conversations_enabled"),
            *("web_analytics_pre_aggregated_tables_version", "conversations_settings"),
            *("receive_org_level_activity_logs", "proactive_tasks_enabled", "workflows_config"),
            *("access_control", "api_query_rate_limit", "drop_events_older_than"),
            *("event_retention_months", "session_recordings_config", "tree", "experiments_config"),
        ),
        "",
    ),
}

MAINTAINED_OF_KEY = _EVERYWHERE | {
    *("user", "user_id", "mask_value", "value", "created_at", "last_used_at", "last_rolled_at"),
}
UNSUPPORTED_OF_KEY: Mapping[str, str] = dict.fromkeys(
    ("scoped_teams", "scoped_organizations"), "A key reaches whatever its owner does."
)

MAINTAINED_OF_ORGANIZATION_MEMBER = _EVERYWHERE | {
    *("user", "joined_at", "updated_at", "is_2fa_enabled", "has_social_auth", "last_login"),
    *("organization", "organization_id"),
}
MAINTAINED_OF_INVITE = _EVERYWHERE | {
    *("emailing_attempt_made", "is_expired", "created_by", "created_at", "updated_at"),
    *("expires_at", "link"),
}
UNSUPPORTED_OF_INVITE: Mapping[str, str] = {
    "private_project_access": "Every member reaches all projects of the organization.",
    "combine_pending_invites": "An invite replaces the former one to the same address.",
}
MAINTAINED_OF_USER = _EVERYWHERE | {
    *("uuid", "distinct_id", "date_joined", "is_email_verified", "pending_email", "has_password"),
    *("is_staff", "is_impersonated", "is_impersonated_until", "is_impersonated_read_only"),
    *("sensitive_session_expires_at", "team", "project", "organization", "organizations"),
    *("is_2fa_enabled", "has_social_auth", "has_sso_enforcement", "pending_invites"),
    *("is_organization_first_user", "requires_credential_review"),
}
UNSUPPORTED_OF_USER: Mapping[str, str] = {
    "last_name": "Set first_name to the whole name.",
    **dict.fromkeys(
        (
            *("notification_settings", "anonymize_data", "allow_impersonation", "toolbar_mode"),
            *("events_column_config", "has_seen_product_intro_for", "scene_personalisation"),
            *("theme_mode", "hedgehog_config", "role_at_organization", "shortcut_position"),
            *("allow_sidebar_suggestions", "passkeys_enabled_for_2fa"),
        ),
        "",
    ),
}

MAINTAINED_OF_ROLE = _EVERYWHERE | {
    *("created_at", "created_by", "members", "associated_flags", "is_default", "organization"),
}
MAINTAINED_OF_ROLE_MEMBER = _EVERYWHERE | {
    *("user", "role", "role_id", "joined_at", "updated_at", "organization_member", "uuid"),
}
MAINTAINED_OF_RESOURCE_ACCESS = _EVERYWHERE | {
    *("organization", "created_at", "updated_at", "created_by", "roles"),
}

MAINTAINED_OF_PERSON = _EVERYWHERE | {
    *("type", "uuid", "name", "distinct_ids", "created_at", "updated_at", "is_identified"),
    *("is_user_id", "matched_recordings", "value_at_data_point", "last_seen_at", "version"),
}

MAINTAINED_OF_DEFINITION = _EVERYWHERE | {
    *("is_action", "action_id", "is_calculating", "last_calculated_at", "created_by"),
    *("last_updated_at", "updated_at", "updated_by", "verified_at", "verified_by"),
    *("volume_30_day", "query_usage_30_day", "media_preview_urls"),
}
UNSUPPORTED_OF_DEFINITION: Mapping[str, str] = {
    "post_to_slack": "Set post_to_chat.",
    **dict.fromkeys(
        (
            *("default_columns", "primary_property", "promoted_property", "enforcement_mode"),
            "schemas",
        ),
        "",
    ),
}

MAINTAINED_OF_PROPERTY = _EVERYWHERE | {
    *("name", "type", "group_type_index", "is_numerical", "event_names", "column_bytes"),
    *("updated_at", "updated_by", "verified_at", "verified_by", "created_at"),
    *("is_seen_on_filtered_events", "is_event_property", "is_optimized", "query_usage_30_day"),
}

MAINTAINED_OF_WEBHOOK = frozenset(
    {"id", "former_secret_valid_until", "created_by", "created_at", "updated_at"}
)
UNSUPPORTED_OF_WEBHOOK: Mapping[str, str] = {"secret": "The server makes it."}

MAINTAINED_OF_BATCH_EXPORT = _EVERYWHERE | {
    *("created_at", "last_updated_at", "last_paused_at", "latest_runs", "latest_error"),
    *("next_start", "schema"),
}
UNSUPPORTED_OF_BATCH_EXPORT: Mapping[str, str] = {
    "end_at": "Pause the export when it is to end.",
    "hogql_query": "All columns of events are written.",
    "filters": "All events are written.",
    "timezone": "Hours and days are in UTC.",
    "offset_day": "Days begin at midnight in UTC.",
    "offset_hour": "Days begin at midnight in UTC.",
}
UNSUPPORTED_OF_S3: Mapping[str, str] = {
    "compression": "Parquet files are compressed.",
    "encryption": "Set it for the bucket.",
    "kms_key_id": "Set it for the bucket.",
    "exclude_events": "All events are written.",
    "include_events": "All events are written.",
    "max_file_size_mb": "A file has at most 100,000 events.",
    "use_virtual_style_addressing": "The bucket is named in the path.",
}

MAINTAINED_OF_INSIGHT = _EVERYWHERE | {
    *("short_id", "filters_hash", "dashboard_tiles", "last_refresh", "cache_target_age"),
    *("next_allowed_client_refresh", "refreshing", "refresh_attempt", "result", "columns"),
    *("hasMore", "has_more", "types", "hogql", "query_status", "resolved_date_range"),
    *("created_at", "created_by", "updated_at", "last_modified_at", "last_modified_by"),
    *("last_viewed_at", "is_sample", "effective_restriction_level", "is_cached", "timezone"),
    *("effective_privilege_level", "alerts", "search_match_type", "order", "viewers"),
}
UNSUPPORTED_OF_INSIGHT: Mapping[str, str] = {
    "query_from_filters": "Ask with filters.",
    "dashboard": "Set dashboards.",
    "dive_dashboard": "",
    "layouts": "Set it in the tiles of a dashboard.",
    "color": "Set it in the tiles of a dashboard.",
    "variables_override": "",
    "filters_override": "",
}

MAINTAINED_OF_DASHBOARD = _EVERYWHERE | {
    *("created_at", "created_by", "updated_at", "last_modified_at", "last_modified_by"),
    *("last_accessed_at", "last_viewed_at", "last_refresh", "is_shared", "creation_mode", "items"),
    *("effective_restriction_level", "effective_privilege_level", "share_token"),
    *("persisted_filters", "persisted_variables", "group", "featured_image"),
}
UNSUPPORTED_OF_DASHBOARD: Mapping[str, str] = {
    "use_dashboard": "Create the insights one by one.",
    "duplicate_tiles": "",
    "delete_insights": "Delete the insights one by one.",
    "delete_dashboard": "Set deleted.",
    **dict.fromkeys(
        ("variables", "breakdown_colors", "data_color_theme_id", "quick_filter_ids", "layouts"), ""
    ),
}
MAINTAINED_OF_TILE = _EVERYWHERE | {
    *("insight", "insight_id", "dashboard", "dashboard_id", "order", "last_refresh", "is_cached"),
    *("refreshing", "refresh_attempt", "filters_hash", "error"),
}
MAINTAINED_OF_TEXT = _EVERYWHERE | {
    *(
        "created_by",
        "created_at",
        "last_modified_by",
        "last_modified_at",
        "dashboard_tiles",
        "team",
    ),
}
_SHOWN = "Tiles show insights and texts."
UNSUPPORTED_OF_TILE: Mapping[str, str] = {
    "button_tile": _SHOWN,
    "widget": _SHOWN,
    **dict.fromkeys(("filters_overrides", "transparent_background", "show_description"), ""),
}

OF_EXPERIMENT = _EVERYWHERE | {
    *("feature_flag", "holdout", "saved_metrics", "status", "phases", "exposure_cohort"),
    *("created_by", "created_at", "updated_at", "is_legacy", "variant_screenshot_media_ids"),
    "latest_verdict",
    *("health_metrics", "last_refresh", "uuid", "scheduling_config"),
}
OF_HOLDOUT = _EVERYWHERE | {"created_by", "created_at", "updated_at"}
MAINTAINED_OF_ACTION = _EVERYWHERE | {
    *("created_by", "created_at", "updated_at", "last_calculated_at", "last_updated_at"),
    *("is_calculating", "is_action", "bytecode_error", "pinned_at", "verified"),
    "bytecode",
}
UNSUPPORTED_OF_ACTION: Mapping[str, str] = {
    "post_to_slack": "Use a webhook.",
    "slack_message_format": "Use a webhook.",
}
# Names that PostHog's interface writes into a step.
OF_ACTION_STEP = frozenset({"id", "name", "isNew", "action_id", "created_at"})
OF_SAVED_METRIC = _EVERYWHERE | {"created_by", "created_at", "updated_at", "uuid"}

OF_ANNOTATION = _EVERYWHERE | {
    *("created_by", "created_at", "updated_at", "dashboard_name", "insight_short_id"),
    *("insight_name", "insight_derived_name", "is_emoji", "tagged_users"),
}
UNSUPPORTED_OF_ANNOTATION: Mapping[str, str] = {"recording_id": "There are no recordings."}

# Scopes of PostHog's activity log, and those that only Fanion has.
ACTIVITY_SCOPES = frozenset(
    {
        *("FeatureFlag", "Cohort", "Insight", "Dashboard", "Person", "EventDefinition", "Project"),
        *("Role", "ResourceAccess", "PersonalAPIKey", "Webhook"),
        *("Group", "Plugin", "PluginConfig", "HogFunction", "HogFlow", "DataManagement", "Team"),
        *("PropertyDefinition", "Notebook", "Replay", "Experiment", "ExperimentHoldout"),
        *("ExperimentSavedMetric", "Survey", "EarlyAccessFeature", "SessionRecordingPlaylist"),
        *("Comment", "Organization", "OrganizationMembership", "OrganizationInvite", "UserGroup"),
        *("OrganizationDomain", "BatchExport", "BatchImport", "Integration", "Annotation", "Tag"),
        *("TaggedItem", "Subscription", "User", "Action", "AlertConfiguration", "Threshold"),
        *("AlertSubscription", "ExternalDataSource", "ExternalDataSchema", "LLMTrace", "Endpoint"),
        *("EndpointVersion", "WebAnalyticsFilterPreset", "CustomerProfileConfig", "Log"),
        *("ErrorTrackingIssue", "DashboardTemplate", "DataWarehouseSavedQuery", "ProductTour"),
        *("EventSchema", "SchemaPropertyGroup", "Task", "TaskRun", "SharingConfiguration"),
        "Segment",
    }
)
