"""Runs the command line: `python -m opset` is `opset`."""

from opset.cli import main

if __name__ == "__main__":
    main()
