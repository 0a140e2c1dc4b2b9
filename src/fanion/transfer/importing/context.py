"""What the parts of an import share while it goes on."""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.transfer.document import Document
from fanion.transfer.references import Ids, Names
from fanion.transfer.result import Report
from fanion.transfer.snapshot import Keys, Stored


@dataclass
class ImportTarget:
    """connection: of the one transaction
    stored:     the project as it was, with `keys` and `names` for it that the document uses
    cohorts, flags, group_types, dashboards, insights: ids of what the document names, as far
                as the import has come; flags in decimal
    """

    connection: Connection
    author: Author
    document: Document
    stored: Stored
    keys: Keys
    names: Names
    report: Report
    cohorts: dict[str, int] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    group_types: dict[str, int] = field(default_factory=dict)
    dashboards: dict[str, int] = field(default_factory=dict)
    insights: dict[str, int] = field(default_factory=dict)

    @property
    def project_id(self) -> int:
        return self.author.project_id

    @property
    def ids(self) -> Ids:
        return Ids(self.cohorts, self.flags, self.group_types)
