"""Counters in shared memory."""

from pathlib import Path

from fanion.processes.shared_counters import Board


def test_each_process_sees_the_numbers_of_the_others(tmp_path: Path) -> None:
    with (tmp_path / "board").open("w+b") as file:
        server, front = Board.make(file.fileno(), 2), Board(file.fileno(), 2)

        server.changes += 3
        server.writes[0] += 5
        front.answered(1)[0] += 7
        front.closed(0)[0] += 9

        assert (front.changes, front.writes[0]) == (3, 5)
        assert [server.answered(number)[0] for number in range(2)] == [0, 7]
        assert [server.closed(number)[0] for number in range(2)] == [9, 0]
        server.begin(1)
        assert (front.answered(1)[0], front.closed(0)[0]) == (0, 9)
