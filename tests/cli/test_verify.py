"""`opset verify`, and --verify of verbs that write models."""

import json

import pytest

from tests.cli.runner import run
