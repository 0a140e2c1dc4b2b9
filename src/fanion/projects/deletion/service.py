"""The deletion of a project by a request: at once for its users, in the background for its data."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fanion.activity.model import Author
from fanion.db.engine import Records
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.cache import Projects
from fanion.projects.deletion.model import ProjectContents
from fanion.projects.deletion.store import begin_deletion, count_records


@dataclass(frozen=True, slots=True)
class ProjectDeletions:
    """The deletions of projects.

    Attributes:
        count_events: Counts the stored events of a project.
        begun: Called when a deletion has begun, so that the rest follows soon.
    """

    records: Records
    projects: Projects
    secret_keys: SecretKeys
    count_events: Callable[[int], Awaitable[int]]
    begun: Callable[[], None]

    async def count_contents(self, project_id: int) -> ProjectContents:
        """Count what a project holds."""
        events = await self.count_events(project_id)
        async with self.records.read() as connection:
            return await connection.run_sync(count_records, project_id, events)

    async def delete_project(self, by: Author) -> ProjectContents:
        """Delete the project of the author, whose keys are refused at once.

        Returns:
            What the project held, which is deleted in the background.

        Raises:
            NotFound: The project was deleted meanwhile.
            Invalid: It is the only project of its organization.
        """
        events = await self.count_events(by.project_id)
        async with self.records.write() as connection:
            contents = await connection.run_sync(begin_deletion, by, by.project_id, events)
        self.projects.forget_everywhere(by.project_id)
        self.secret_keys.keys_changed(by.project_id)
        self.begun()
        return contents
