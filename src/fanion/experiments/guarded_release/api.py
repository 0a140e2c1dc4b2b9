"""API of the guarded release of a flag.

Source: experiments.md section 5b.
"""

from litestar import Controller, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.experiments.guarded_release.schemas import (
    NewRelease,
    ReleaseBody,
    ReleaseChanges,
    release_body,
)
from fanion.experiments.guarded_release.service import GuardedReleases
from fanion.flags.definitions.access_store import access_of
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.service import FlagService
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId


class GuardedReleaseApi(Controller):
    """The guarded release of one flag.

    Members of the organization may read it; users who may edit the flag may write it.
    """

    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}/guarded_release"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="Retrieve the guarded release of a flag")
    async def release(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Return the last one, also after it has ended."""
        return release_body(await releases.store.get_newest(request.project.id, flag_id))

    @post("/", summary="Start a guarded release of a flag")
    async def start(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[NewRelease],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Set the percentage of the first step, and go on while no guardrail is harmed.

        Every five minutes and before each step each metric is tested; the test holds however often
        one looks. A flag has one release at a time.
        """
        access = await _access(request, releases)
        return release_body(await releases.start(request.author, access, flag_id, data))

    @patch("/", summary="Update the guarded release of a flag")
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[ReleaseChanges],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Change a release that has not ended; its metrics and passed steps are fixed."""
        access = await _access(request, releases)
        return release_body(await releases.change(request.author, access, flag_id, data))

    @post("/pause", status_code=200, summary="Pause the guarded release of a flag")
    async def pause(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Leave the percentage as it is, without checks."""
        access = await _access(request, releases)
        return release_body(await releases.pause(request.author, access, flag_id))

    @post("/resume", status_code=200, summary="Resume the guarded release of a flag")
    async def resume(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Set the percentage of the current step again, and begin that step again."""
        access = await _access(request, releases)
        return release_body(await releases.resume(request.author, access, flag_id))

    @post("/complete", status_code=200, summary="Complete the guarded release of a flag")
    async def complete(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Set the percentage of the last step at once."""
        access = await _access(request, releases)
        return release_body(await releases.complete(request.author, access, flag_id))

    @post("/cancel", status_code=200, summary="Cancel the guarded release of a flag")
    async def cancel(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """End the release; the percentage stays as it is."""
        access = await _access(request, releases)
        return release_body(await releases.cancel(request.author, access, flag_id))

    @post("/check", status_code=200, summary="Check the guarded release of a flag")
    async def check(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
        releases: NamedDependency[GuardedReleases],
    ) -> ReleaseBody:
        """Test the guardrails now, and act on what is found."""
        project = request.project
        await flags.get_editable_flag(request.principal, project, flag_id)
        return release_body(await releases.check(project, flag_id, request.app.state.now()))


async def _access(request: ManagementRequest, releases: GuardedReleases) -> FlagAccess:
    return await access_of(releases.store.records, request.principal, request.project)
