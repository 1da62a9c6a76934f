"""Runs the command line: as the script `opset`, and as `python -m opset`.

`python -m` imports from the working folder before anything else, and so does a PYTHONPATH with an empty or relative
entry. That folder may be a stranger's, so it is taken from the path before anything but `os` and `sys` is imported:
hence no `from __future__ import annotations` here, which is a module, too.
"""

import os
import sys


def main() -> None:
    """Run the command line."""
    leave_working_folder()
    import gc
    import signal

    # Modules and a command make many objects and few cycles: looking for these took a tenth of the time.
    gc.set_threshold(200_000, 20, 20)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback while modules are imported
    from opset.cli import main

    main()


def leave_working_folder() -> None:
    """Remove the working folder and relative entries of PYTHONPATH from sys.path.

    They stay if this package itself comes from them, or if they follow the standard library: installed packages, such
    as an editable installation, put them behind it. Mutates `sys.path` and `os.environ`.
    """
    try:
        working = os.getcwd()
    except OSError:  # it was removed
        return
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    relative = [folder for folder in entries if not os.path.isabs(folder)]
    refused = {os.path.realpath(folder) for folder in (working, *relative)}
    refused.discard(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    library = os.path.dirname(os.__file__)
    ours = sys.path.index(library) if library in sys.path else len(sys.path)
    sys.path[:ours] = [folder for folder in sys.path[:ours] if os.path.realpath(folder) not in refused]
    # Processes that are started from here, workers of other interpreters among them, search no more than this one.
    os.environ["PYTHONSAFEPATH"] = "1"
    if "PYTHONPATH" in os.environ:
        kept = [folder for folder in entries if os.path.realpath(folder) not in refused]
        os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(folder) for folder in kept)


if __name__ == "__main__":
    main()
