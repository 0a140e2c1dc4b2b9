"""A project with flags for providers of OpenFeature, and programs that read them with a provider.

A program reads one question a line, as JSON, and answers each with what its client returned:
`value`, `variant`, `reason`, `error` and `metadata`.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.clients.management import Api, Json, serving
from tests.support import plain_http
from tests.support.preloaded import is_readable
from tests.support.server import Keys, RealServer

# Providers give up after ten seconds.
ANSWER_S = 60

VARIANTS = {"variants": [{"key": "blue", "rollout_percentage": 100}]}
PRO = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
LARGE = {"type": "group", "group_type_index": 0, "key": "seats", "operator": "gt", "value": 5}
FLAGS: dict[str, dict[str, Any]] = {
    "everyone": {"groups": [{}], "payloads": {"true": json.dumps({"n": 1})}},
    "most": {"groups": [{"rollout_percentage": 99.99}]},
    "pros": {"groups": [{"properties": [PRO]}]},
    "nobody": {"groups": []},
    "inactive": {"groups": [{}]},
    "color": {"groups": [{}], "multivariate": VARIANTS},
    "pro-color": {"groups": [{"properties": [PRO]}], "multivariate": VARIANTS},
    "large": {"groups": [{"properties": [LARGE]}], "aggregation_group_type_index": 0},
}


@contextmanager
def serving_flags(folder: Path) -> Iterator[tuple[RealServer, Keys]]:
    """Run a server whose project has these flags, and the group type `company`."""
    with serving(folder) as (server, keys):
        api = Api(server, keys)
        try:
            _create_group_type(server, keys, api)
            _create_flags(server, keys)
        finally:
            api.close()
        yield server, keys


def _create_group_type(server: RealServer, keys: Keys, api: Api) -> None:
    event = {"event": "signed in", "properties": {"$groups": {"company": "acme"}}}
    body = {"api_key": keys.project_api_key, "distinct_id": "for-its-group", **event}
    plain_http.post(f"{server.url}/capture/", json=body).raise_for_status()
    api.events("for-its-group", 1)


def _create_flags(server: RealServer, keys: Keys) -> None:
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    path = f"{server.url}/api/projects/{keys.project_id}/feature_flags/"
    for key, filters in FLAGS.items():
        body = {"key": key, "filters": filters, "active": key != "inactive"}
        if not filters["groups"]:
            body["filters"] = {"groups": [{}]}
        made = plain_http.post(path, json=body, headers=headers)
        made.raise_for_status()
        if not filters["groups"]:
            path_of_flag, sent = f"{path}{made.json()['id']}/", {"filters": filters}
            plain_http.patch(path_of_flag, json=sent, headers=headers).raise_for_status()


@dataclass(frozen=True)
class Reader:
    """A running program that reads flags with a provider."""

    process: "subprocess.Popen[bytes]"

    def read(self, flag: str, default: bool | str, **context: Any) -> Json:
        """Return what the client returns.

        Args:
            context: Attributes; `targetingKey` is `user-1` unless it is None.
        """
        context = {"targetingKey": "user-1", **context}
        present = {name: value for name, value in context.items() if value is not None}
        question = {"flag": flag, "default": default, "context": present}
        stdin, stdout = _pipes(self.process)
        stdin.write(json.dumps(question).encode() + b"\n")
        assert is_readable(stdout, ANSWER_S), f"no answer to {question}"
        line = stdout.readline()
        assert line, f"the program ended at {question}"
        answer: Json = json.loads(line)
        return answer


@contextmanager
def reading(command: Sequence[str], folder: Path, server: RealServer, key: str) -> Iterator[Reader]:
    """Run a program whose provider sends this key."""
    environment: Mapping[str, str] = {"HOST": server.url, "KEY": key}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield Reader(process)
    finally:
        for pipe in _pipes(process):
            pipe.close()
        process.kill()
        process.wait()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
