"""A process that has imported the package, and runs each attack in a copy of itself: `python -m judges.hostile.server`.

The start of Python and the imports take ten times as long as most attacks. A copy has its own limits, streams, folder
and environment, as a process of its own would; only what is imported, and from where, the attack does not decide.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import resource
import signal
import socket
import sys
import traceback
from importlib import import_module
from typing import Any


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Answer requests with the id, then with the status and peak memory of a copy; return the request in that copy."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
        if not head:
            return None
        data = b""
        while len(data) < int.from_bytes(head, "big"):
            data += connection.recv(1 << 20)
        request: dict[str, Any] = json.loads(data)
        child = os.fork()
        if not child:
            connection.close()
            become(request, descriptors)
            return request
        for each in descriptors:
            os.close(each)
        connection.sendall(b"%d\n" % child)
        _, status, usage = os.wait4(child, 0)
        connection.sendall(b"%d %d\n" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))


def become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Make of this copy the process that a request is for."""
    os.setsid()
    for name, descriptor in zip(("stdin", "stdout", "stderr"), descriptors, strict=True):
        stream = getattr(sys, name)
        os.dup2(descriptor, number := stream.fileno())
        os.close(descriptor)
        lines = 1 if name == "stderr" else -1  # as Python opens them
        made = os.fdopen(number, stream.mode, lines, encoding="utf-8", errors=stream.errors, closefd=False)
        made.buffer.raw.name = f"<{name}>"
        setattr(sys, name, made)
    for limit, soft, hard in request["limits"]:
        resource.setrlimit(limit, (soft, hard))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = request["argv"]


def run(code: str) -> int:
    """Return the exit status with which Python would end code."""
    try:
        exec(code, {"__name__": "__main__"})
        status: Any = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else int(status is not None)


def import_all() -> None:
    """Import every module of the package, and leave them out of the garbage collections of copies."""
    import opset
    from opset.opsets.registry import default_registry

    for module in pkgutil.walk_packages(opset.__path__, "opset."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    default_registry()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import_all()
    if request := serve(socket.socket(fileno=int(sys.argv[1]))):
        os._exit(run(request["code"]))
