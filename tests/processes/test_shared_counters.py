"""Counters in shared memory."""

from pathlib import Path

from fanion.processes.shared_counters import SharedCounters


def test_each_process_sees_the_counters_of_the_others(tmp_path: Path) -> None:
    with (tmp_path / "counters").open("w+b") as file:
        server, worker = SharedCounters.create(file.fileno(), 2), SharedCounters(file.fileno(), 2)

        server.changes += 3
        server.writes[0] += 5
        worker.answered(1)[0] += 7
        worker.closed(0)[0] += 9

        assert (worker.changes, worker.writes[0]) == (3, 5)
        assert [server.answered(number)[0] for number in range(2)] == [0, 7]
        assert [server.closed(number)[0] for number in range(2)] == [9, 0]
        server.reset(1)
        assert (worker.answered(1)[0], worker.closed(0)[0]) == (0, 9)
