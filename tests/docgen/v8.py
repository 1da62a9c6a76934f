"""Scripts of the site as a browser runs them: V8 in a process of its own.

V8 reserves more address space than the processes may have that tests with bounds on memory fork.
"""

import json
import subprocess
import sys
from contextlib import contextmanager

_V8 = """
import json, sys
from py_mini_racer import MiniRacer
context = MiniRacer()
context.eval("globalThis.window = globalThis")
function, texts = json.loads(sys.stdin.readline())
for text in texts:
    context.eval(text)
for line in sys.stdin:
    print(context.eval(f"JSON.stringify({function}(...{line}))").encode("unicode_escape").decode(), flush=True)
"""


@contextmanager
def run_scripts(scripts, function):
    """A function that returns what a JavaScript function of these scripts returns for its arguments."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "ascii"}
    with subprocess.Popen([sys.executable, "-c", _V8], **pipes) as process:

        def write(data):
            process.stdin.write(f"{json.dumps(data)}\n")
            process.stdin.flush()

        def call(*arguments):
            write(arguments)
            return json.loads(process.stdout.readline().encode().decode("unicode_escape"))

        write([function, scripts])
        try:
            yield call
        finally:
            # Killed, not asked to leave: V8 can wait for ever for its own threads when the interpreter shuts down.
            process.kill()
