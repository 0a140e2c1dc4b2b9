"""A child process that sends each frame back, and exits with the code after `exit `.

Its arguments are its socket, and how many seconds it lives on after the end of the channel.
"""

import sys
import time

from fanion.processes.channel import BlockingChannel, socket_to_parent


def echo(channel: BlockingChannel) -> None:
    while (frame := channel.receive()) is not None:
        if frame.content.startswith(b"exit "):
            sys.exit(int(frame.content[5:]))
        channel.send(frame.content, frame.descriptor)


if __name__ == "__main__":
    with BlockingChannel(socket_to_parent()) as parent:
        echo(parent)
    time.sleep(float(sys.argv[2]))
