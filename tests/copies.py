"""Runs commands in copies of one process that has imported the package, as most of a short command is its start.

A copy has the streams, the folder and the environment of the command, and ends with its status. What a start does is
for `tests/cli/test_process.py` and `tests/hostile/test_trust.py`, which begin with processes of their own.
"""

import json
import os
import select
import shlex
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from judges.hostile.server import become, import_all, run

ROOT = Path(__file__).parents[1]
COMMAND = "from opset.__main__ import main\nmain()"
# What stands for `opset`: it hands arguments and streams to the process that makes copies, and waits for the status.
CLIENT = """
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
request = {"argv": ["opset", *sys.argv[2:]], "cwd": os.getcwd(), "env": dict(os.environ), "limits": []}
socket.send_fds(connection, [b"."], [0, 1, 2])
connection.sendall(json.dumps(request).encode())
connection.shutdown(socket.SHUT_WR)
sys.exit(int(connection.recv(8) or 70))
"""


@contextmanager
def served(environment):
    """Yield the shell's words that stand for `opset`, while a process makes copies of itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "socket")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.copies", path],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout.read(1) == b"."  # it listens
        yield shlex.join([sys.executable, "-I", "-S", "-c", CLIENT, path])
        process.communicate()  # its stdin is closed, and it ends


def serve(listener):
    """Make a copy for each connection until stdin ends; return the connection and the request in the copy."""
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return None
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
            become(json.load(connection.makefile("rb")), descriptors)
            return connection
        connection.close()
        _reap()


def _reap():
    """Take note of the copies that have ended, so that the system forgets them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def main():
    """Listen at a path until stdin ends."""
    import_all()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(16)
    os.write(1, b".")
    if connection := serve(listener):
        status = run(COMMAND)
        connection.sendall(b"%d" % status)
        os._exit(status)


if __name__ == "__main__":
    main()
