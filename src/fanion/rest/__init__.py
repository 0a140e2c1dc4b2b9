"""What every endpoint of the management API shares: reading a body, refusing it, paging.

An endpoint group is a Litestar `Controller` in the `api.py` of its package:

    class NewCohort(Struct, kw_only=True):      # POST: what is required has no default
        name: Annotated[str, Meta(min_length=1, max_length=400)]  # min_length=1: not blank
        filters: dict[str, Any] | None = None                     # null is allowed

    class CohortChanges(Struct, kw_only=True):  # PATCH: everything may be left out
        name: Annotated[str, Meta(min_length=1, max_length=400)] | UnsetType = UNSET

    class CohortsApi(Controller):
        path = "/api/projects/{project_id:str}/cohorts"
        tags = ("Cohorts",)
        opt = scoped("cohort")

        @get("/", summary="List cohorts")
        async def cohorts(
            self, request: ManagementRequest, store: NamedDependency[CohortStore]
        ) -> Paged[CohortBody]:
            page = request.page
            rows, count = await store.page(request.project.id, page.limit, page.offset)
            return page.of([shown(row) for row in rows], count)

        @patch("/{cohort_id:str}", summary="Update a cohort")
        async def change(
            self,
            request: ManagementRequest,
            cohort_id: ObjectId,
            data: RequestBody[CohortChanges],
            store: NamedDependency[CohortStore],
        ) -> CohortBody: ...

Before the handler runs, in this order, the guard (web/guard.py) has authenticated the key,
found the project of `{project_id}` and checked the scope; then `data` has been read with
`rest.validation` from JSON or a form. So a handler meets `request.principal`, `request.project`
and a struct whose fields have the right kinds; it raises AppErrors for the rest.

- `scope` in `opt` is an object name: `:read` is needed for GET, `:write` otherwise. A handler
  may say another one whole: `@get("/activity", scope="activity_log:read")`. Without a scope only
  keys without restriction may call. `public=True` in `opt` switches the guard off;
  `project=True` finds the caller's current project where the path names none.
- Viewers may call GET, what says `reads=True` (a question by POST, because of long parameters; it
  needs the `:read` scope), and what says `own=True` (it changes the caller's own account alone). A
  GET that changes something, as PostHog has one, says `reads=False`.
- Query parameters that the operation does not take are refused, by name. Those are the handler's
  `FromQuery` ones, `limit` and `offset` or `page` where its answer is a page, what `query_names`
  lists for a handler that reads the query by itself, and a few that every operation takes
  (`rest.unknown_fields`). Known to PostHog and without effect here: `rest.posthog_fields`.
- A body struct says `forbid_unknown_fields=True`; its `also_known` are names that are passed over,
  its `unsupported` those that must ask for nothing. Without `data` a body must be empty, but for
  the names in `body_names`; `reads_body=True` is for handlers that read it by themselves.
- Path parameters are written `{name:str}` and typed in the handler: `ObjectId` or
  `FromPath[UUID]`; what does not fit is 404. Query parameters are `FromQuery[...]` with a default.
- One `NamedDependency` in a handler is free. Litestar resolves two or more in a task group,
  which costs 140 µs a request: give a handler one object that knows what it needs.
- `takes_files=True` lets a multipart form be as large as an upload may be. It is read while it
  comes in; `(await request.values()).files` has its fields as open files.
- The body struct's field order is the order in which problems are reported.
- Docstrings, `summary`, `tags` and struct types are the OpenAPI document.
"""
