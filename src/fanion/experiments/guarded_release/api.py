"""API of the guarded release of a flag.

Source: experiments.md section 5b.
"""

from litestar import Controller, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.experiments.guarded_release.checks_service import ReleaseChecks
from fanion.experiments.guarded_release.schemas import (
    NewRelease,
    ReleaseBody,
    ReleaseChanges,
    release_body,
)
from fanion.experiments.guarded_release.service import GuardedRelease
from fanion.flags.definitions.access_api import with_flag_access
from fanion.flags.definitions.model import FlagAccess
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId


async def _release(
    request: ManagementRequest,
    flag_id: FromPath[ObjectId],
    access: NamedDependency[FlagAccess],
    release_checks: NamedDependency[ReleaseChecks],
) -> GuardedRelease:
    """Return the guarded release of the flag in the path, as the caller steers it."""
    return GuardedRelease(release_checks, request.author, access, flag_id)


class GuardedReleaseApi(Controller):
    """The guarded release of one flag.

    Members of the organization may read it; users who may edit the flag may write it.
    """

    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}/guarded_release"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")
    dependencies = with_flag_access(release=_release)

    @get("/", summary="Retrieve the guarded release of a flag")
    async def release(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        release_checks: NamedDependency[ReleaseChecks],
    ) -> ReleaseBody:
        """Return the last one, also after it has ended."""
        return release_body(await release_checks.store.get_newest(request.project.id, flag_id))

    @post("/", summary="Start a guarded release of a flag")
    async def start(
        self, data: RequestBody[NewRelease], release: NamedDependency[GuardedRelease]
    ) -> ReleaseBody:
        """Set the percentage of the first step, and go on while no guardrail is harmed.

        Each metric is tested every five minutes and before each step. The test is valid no matter
        how often it is repeated. A flag has one release at a time.
        """
        return release_body(await release.start(data))

    @patch("/", summary="Update the guarded release of a flag")
    async def change(
        self, data: RequestBody[ReleaseChanges], release: NamedDependency[GuardedRelease]
    ) -> ReleaseBody:
        """Change a release that has not ended; its metrics and passed steps are fixed."""
        return release_body(await release.change(data))

    @post("/pause", status_code=200, summary="Pause the guarded release of a flag")
    async def pause(self, release: NamedDependency[GuardedRelease]) -> ReleaseBody:
        """Leave the percentage as it is, without checks."""
        return release_body(await release.pause())

    @post("/resume", status_code=200, summary="Resume the guarded release of a flag")
    async def resume(self, release: NamedDependency[GuardedRelease]) -> ReleaseBody:
        """Set the percentage of the current step again, and begin that step again."""
        return release_body(await release.resume())

    @post("/complete", status_code=200, summary="Complete the guarded release of a flag")
    async def complete(self, release: NamedDependency[GuardedRelease]) -> ReleaseBody:
        """Set the percentage of the last step at once."""
        return release_body(await release.complete())

    @post("/cancel", status_code=200, summary="Cancel the guarded release of a flag")
    async def cancel(self, release: NamedDependency[GuardedRelease]) -> ReleaseBody:
        """End the release; the percentage stays as it is."""
        return release_body(await release.cancel())

    @post("/check", status_code=200, summary="Check the guarded release of a flag")
    async def check(
        self, request: ManagementRequest, release: NamedDependency[GuardedRelease]
    ) -> ReleaseBody:
        """Test the guardrails now, and act on what is found."""
        return release_body(await release.check(request.project))
