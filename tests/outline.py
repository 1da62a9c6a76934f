"""Plain data as lines of text that people compare."""

import json


def outlined(data, without=(), wide=160, key="", indent=""):
    """Plain data as lines: a short part stands on one, a longer one has a line for each of its parts.

    Parts of data that are among `without` are left out.
    """
    text = f"{indent}{key}{json.dumps(data)}"
    if len(text) <= wide or not isinstance(data, dict | list):
        return [text]
    parts = data.items() if isinstance(data, dict) else enumerate(data)
    lines = [outlined(part, without, wide, f"{name} ", f"{indent} ") for name, part in parts if part not in without]
    return [f"{indent}{key}".rstrip(), *(line for each in lines for line in each)]
