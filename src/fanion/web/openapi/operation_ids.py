"""The ids of operations, which generated clients use as the names of their methods.

An id follows from the method and the path, so that it stays when code is renamed.
"""

from collections.abc import Mapping

_VERBS = {"get": "get", "post": "create", "put": "replace", "patch": "update", "delete": "delete"}
# Parts of paths that nearly all operations share. An operation on one of these itself has an
# entry below.
_SCOPES = ("/api/projects/{}/", "/api/organizations/{}/", "/api/users/@me/", "/api/")
# Ids of operations that are actions, or that the general rule gives a misleading id.
_IDS: Mapping[str, str] = {
    "get /_preflight/": "getPreflight",
    "post /api/login/": "signIn",
    "get /api/login/oidc/": "beginOidcSignIn",
    "get /api/login/oidc/callback/": "completeOidcSignIn",
    "post /api/login/reauthenticate/": "confirmPassword",
    "post /api/login/token/": "completeSignIn",
    "post /api/logout/": "signOut",
    "post /api/reset/": "requestPasswordReset",
    "get /api/reset/{}/": "getPasswordReset",
    "post /api/reset/{}/": "resetPassword",
    "get /api/signup/{}/": "getSignup",
    "post /api/signup/{}/": "acceptInvite",
    "post /api/sign_in_links/{}/": "useSignInLink",
    "delete /api/sessions/": "deleteOtherSessions",
    "get /api/organizations/{}/": "getOrganization",
    "patch /api/organizations/{}/": "updateOrganization",
    "post /api/organizations/{}/invites/bulk/": "createInvites",
    "get /api/projects/{}/": "getProject",
    "patch /api/projects/{}/": "updateProject",
    "patch /api/projects/{}/reset_token/": "resetToken",
    "post /api/projects/{}/secret_key/": "rotateSecretKey",
    "post /api/projects/{}/query/": "query",
    "delete /api/projects/{}/query/{}/": "cancelQuery",
    "get /api/personal_api_keys/@current/": "getCurrentPersonalApiKey",
    "get /api/users/@me/": "getMe",
    "patch /api/users/@me/": "updateMe",
    "post /api/users/@me/two_factor_backup_codes/": "replaceBackupCodes",
    "post /api/users/@me/two_factor_disable/": "disableTwoFactor",
    "post /api/users/@me/two_factor_start_setup/": "startTwoFactorSetup",
    "post /api/users/@me/two_factor_validate/": "validateTwoFactor",
    "post /api/projects/{}/cohorts/preview/": "previewCohort",
    "patch /api/projects/{}/cohorts/{}/add_persons_to_static_cohort/": "addPersonsToCohort",
    "patch /api/projects/{}/cohorts/{}/remove_person_from_static_cohort/": "removePersonFromCohort",
    "get /api/projects/{}/cohorts/{}/duplicate_as_static_cohort/": "duplicateCohort",
    "get /api/projects/{}/cohorts/{}/explain/": "explainCohort",
    "get /api/projects/{}/events/stream/": "streamEvents",
    "get /api/projects/{}/feature_flags/changes/stream/": "streamFlagChanges",
    **{
        f"post /api/projects/{{}}/feature_flags/{{}}/guarded_release/{step}/": (
            f"{step}GuardedRelease"
        )
        for step in ("cancel", "check", "complete", "pause", "resume")
    },
    "get /api/projects/{}/feature_flags/{}/guarded_release/": "getGuardedRelease",
    "patch /api/projects/{}/feature_flags/{}/guarded_release/": "updateGuardedRelease",
    "post /api/projects/{}/feature_flags/{}/guarded_release/": "startGuardedRelease",
    **{
        f"post /api/projects/{{}}/experiments/{{}}/{step}/": f"{name}Experiment"
        for step, name in {
            "archive": "archive",
            "duplicate": "duplicate",
            "end": "end",
            "launch": "launch",
            "pause": "pause",
            "reset": "reset",
            "resume": "resume",
            "ship_variant": "ship",
            "unarchive": "unarchive",
        }.items()
    },
    "get /api/projects/{}/experiments/{}/people/": "listExperimentPeople",
    "post /api/projects/{}/experiments/{}/people/save_as_cohort/": "saveExperimentPeople",
    "post /api/projects/{}/experiments/{}/create_exposure_cohort_for_experiment/": (
        "createExposureCohort"
    ),
    "get /api/projects/{}/feature_flags/evaluation_reasons/": "getEvaluationReasons",
    "post /api/projects/{}/feature_flags/evaluation_reasons/": "evaluateUnsavedFlag",
    "get /api/projects/{}/feature_flags/my_flags/": "listMyFlags",
    "post /api/projects/{}/feature_flags/preview_change/": "previewFeatureFlagChange",
    "post /api/projects/{}/feature_flags/reach/": "estimateFeatureFlagReach",
    "post /api/projects/{}/feature_flags/user_blast_radius/": "estimateUserBlastRadius",
    "post /api/projects/{}/feature_flags/{}/create_static_cohort_for_flag/": "createFlagCohort",
    "post /api/projects/{}/feature_flags/{}/enrich_usage_dashboard/": "enrichUsageDashboard",
    "get /api/projects/{}/groups/find/": "getGroup",
    "get /api/projects/{}/groups_types/": "listGroupTypes",
    "post /api/projects/{}/ingestion/dead_letters/retry/": "retryDeadLetters",
    "post /api/projects/{}/ingestion/dead_letters/{}/retry/": "retryDeadLetter",
    "post /api/projects/{}/persons/{}/delete_property/": "deletePersonProperty",
    "get /api/projects/{}/persons/{}/merges/": "listPersonMerges",
    "post /api/projects/{}/persons/{}/merge/": "mergePersons",
    "post /api/projects/{}/persons/{}/merge/preview/": "previewPersonMerge",
    "post /api/projects/{}/persons/{}/split/": "splitPerson",
    "post /api/projects/{}/persons/{}/split/preview/": "previewPersonSplit",
    "post /api/projects/{}/persons/{}/update_property/": "updatePersonProperty",
    "post /api/projects/{}/batch_exports/{}/pause/": "pauseBatchExport",
    "post /api/projects/{}/batch_exports/{}/unpause/": "unpauseBatchExport",
    "post /api/projects/{}/batch_exports/{}/backfills/": "backfillBatchExport",
    "get /api/projects/{}/batch_exports/{}/runs/": "listBatchExportRuns",
    "post /api/projects/{}/webhooks/{}/rotate_secret/": "rotateWebhookSecret",
    **{
        f"{method} /api/projects/{{}}/insights/{path}/": f"{verb}{name}"
        for path, name in {
            "funnel": "Funnel",
            "funnel/correlation": "FunnelCorrelation",
            "path": "Paths",
            "retention": "Retention",
            "trend": "Trend",
        }.items()
        for method, verb in (("get", "get"), ("post", "calculate"))
    },
    **{
        f"{method} /api/projects/{{}}/persons/{path}/": f"{verb}{name}Actors"
        for path, name in {
            "funnel": "Funnel",
            "funnel/correlation": "FunnelCorrelation",
            "lifecycle": "Lifecycle",
            "path": "Path",
            "retention": "Retention",
            "stickiness": "Stickiness",
            "trends": "Trend",
        }.items()
        for method, verb in (("get", "list"), ("post", "find"))
    },
}


def operation_id(method: str, path: str, *, is_list: bool) -> str:
    """Return the id of an operation, such as `listFeatureFlags`.

    Args:
        method: In lower case.
        path: With its parameters in braces, and a slash at its end.
        is_list: Whether the response is a list or a page of one.
    """
    parts = ["{}" if part.startswith("{") else part for part in path.split("/")]
    plain = "/".join(parts)
    if known := _IDS.get(f"{method} {plain}"):
        return known
    scope = next((scope for scope in _SCOPES if plain.startswith(scope) and plain != scope), "/")
    words = plain.removeprefix(scope).strip("/").split("/")
    names = [
        _singular(word) if after == "{}" else word
        for word, after in zip(words, [*words[1:], ""], strict=True)
        if word != "{}"
    ]
    verb = "list" if method == "get" and is_list else _VERBS[method]
    if method == "post":
        names[-1] = _singular(names[-1])
    # `role_memberships` of a role say whose they are.
    named = [
        name
        for name, after in zip(names, [*names[1:], ""], strict=True)
        if not after.startswith(f"{name}_")
    ]
    return verb + "".join(word.title() for name in named for word in name.split("_"))


def _singular(name: str) -> str:
    return name if name.endswith("ss") else name.removesuffix("s")
