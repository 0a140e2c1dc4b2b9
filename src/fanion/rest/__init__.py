"""The parts that all endpoints of the management API share: reading bodies, errors and paging.

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
            return page.with_results([shown(row) for row in rows], count)

        @patch("/{cohort_id:str}", summary="Update a cohort")
        async def change(
            self, request: ManagementRequest, cohort_id: ObjectId, data: RequestBody[CohortChanges],
            store: NamedDependency[CohortStore],
        ) -> CohortBody: ...

Before the handler runs, in this order: the guard (web/guard.py) authenticates the key, finds the
project of `{project_id}` and checks the scope; then `rest.validation` reads `data` from JSON or a
form. The handler therefore gets `request.principal`, `request.project` and a struct whose fields
have the right types; it raises AppErrors for everything else.

- `scope` in `opt` is an object name: GET needs `:read`, other methods need `:write`. A handler may
  set a whole scope: `@get("/activity", scope="activity_log:read")`. Without a scope, only
  unrestricted keys may call. `public=True` in `opt` disables the guard; `project=True` finds the
  caller's current project if the path names none.
- Viewers may call GET, handlers with `reads=True` (a query that uses POST because of long
  parameters; it needs the `:read` scope), and handlers with `own=True` (which change only the
  caller's own account). A GET that changes something, as PostHog has one, sets `reads=False`.
- Query parameters that the operation does not take are refused by name. It takes the handler's
  `FromQuery` parameters, `limit` and `offset` or `page` if it returns a page, the names in
  `query_names` if the handler reads the query itself, and a few that every operation takes
  (`rest.unknown_fields`). Names that PostHog knows and that have no effect here are in
  `rest.posthog_fields`.
- A body struct sets `forbid_unknown_fields=True`. Its `also_known` lists names that are ignored,
  its `unsupported` those that must be idle. Without `data` a body must be empty, except for the
  names in `body_names`; `reads_body=True` is for handlers that read it themselves.
- Path parameters are written `{name:str}` and typed in the handler: `ObjectId` or `FromPath[UUID]`;
  anything that does not fit is 404. Query parameters are `FromQuery[...]` with a default.
- One `NamedDependency` in a handler is free. Litestar resolves two or more in a task group, which
  costs 140 µs per request: give a handler one object that has what it needs.
- `takes_files=True` allows a multipart form as large as an upload may be. It is read while it
  arrives; `(await request.values()).files` has its fields as open files.
- Problems are reported in the order of the body struct's fields.
- Docstrings, `summary`, `tags` and struct types make up the OpenAPI document.
"""
