"""Sessions of chDB, each used by one statement at a time, with the settings of its request."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import chdb
from chdb import ChdbError

from tests.support.clickhouse.alone import alone
from tests.support.clickhouse.message import Message
from tests.support.clickhouse.policies import Denied, settings_of

_CODE = re.compile(r"Code: (\d+)\. DB::Exception")
_FORMAT = re.compile(rb"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
UNKNOWN_DATABASE = 81


class Refused(Exception):
    """A refusal by the engine.

    Attributes:
        code: The code of the engine's exception.
        text: The engine's message.
    """

    def __init__(self, text: str) -> None:
        match = _CODE.search(text)
        self.code = int(match[1]) if match else 1002
        self.text = text[match.start() :] if match else text
        super().__init__(self.text)


@dataclass(frozen=True)
class Answer:
    """The answer to a statement.

    Attributes:
        format: "" for a statement without a result.
    """

    data: bytes
    format: str = ""
    rows_read: int = 0


@dataclass
class Session:
    """One handle on the engine, and what was set on it."""

    handle: Any
    database: str = "default"
    settings: dict[str, str] = field(default_factory=dict)

    def become(self, database: str, settings: Mapping[str, str]) -> None:
        """Switch to a database and settings.

        Raises:
            ChdbError: The engine does not know one of them.
        """
        if database != self.database:
            self.handle.query(f"USE {quoted(database, '`')}", "TabSeparated")
            self.database = database
        for name in set(self.settings) - set(settings):
            self.handle.query(f"SET {quoted(name, '`')} = DEFAULT", "TabSeparated")
            del self.settings[name]
        for name, value in settings.items():
            if self.settings.get(name) != value:
                self.handle.query(f"SET {quoted(name, '`')} = {quoted(value)}", "TabSeparated")
                self.settings[name] = value


class Engine:
    """The engine of one folder; a process can have only one.

    Args:
        defaults: Settings by database, to which those of a request are added.
    """

    def __init__(self, address: str, defaults: Mapping[str, Mapping[str, str]]) -> None:
        self._address = address
        self._defaults = defaults
        self._free: SimpleQueue[Session] = SimpleQueue()
        self._keep_open = _connect(address)

    def run(self, message: Message) -> "Answer":
        """Run a statement.

        Raises:
            Refused: The engine has refused it.
        """
        session = self._session()
        try:
            own = self._defaults.get(message.database, {})
            session.become(message.database, settings_of(message, own))
            return _run(session.handle, message)
        except (ChdbError, RuntimeError, Denied) as error:
            raise Refused(str(error)) from None
        finally:
            if "readonly" in session.settings:  # nothing can be set there any more
                session.handle.close()
            else:
                self._free.put(session)

    def _session(self) -> Session:
        try:
            return self._free.get_nowait()
        except Empty:
            return Session(_connect(self._address))


# Its module has types in some environments and none in others.
_connect: Callable[[str], Any] = chdb.connect


def _run(handle: Any, message: Message) -> Answer:
    if insert := message.insert:
        with handle.send_insert(insert.statement, insert.format) as stream:
            if insert.data:
                stream.append(insert.data)
            stream.finish()
        return Answer(b"")
    text = alone(message.text.decode())
    named = _FORMAT.search(message.text)
    if named is not None:
        answer = handle.query(text, "TabSeparated", params=dict(message.parameters))
        return Answer(answer.bytes() or b"", named[1].decode(), answer.storage_rows_read())
    # The line of names tells a result without rows from a statement without a result.
    answer = handle.query(text, "TabSeparatedWithNames", params=dict(message.parameters))
    names, _, rows = (answer.bytes() or b"").partition(b"\n")
    return Answer(rows, "TabSeparated" if names else "", answer.storage_rows_read())


def quoted(text: str, mark: str = "'") -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, f"\\{mark}") + mark
