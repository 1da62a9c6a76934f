"""Breaking changes: two states of schemas, compared by rules that rest on ONNX's document on versioning.

report = compare(old, new)      # registries, operators read from YAML, or states
report.breaks                   # what fails the comparison
"""

from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.report import Break, ComparisonReport
from opset.workflow.breaking.rules import BREAKING
from opset.workflow.breaking.states import State

__all__ = ["BREAKING", "Break", "ComparisonReport", "State", "compare"]
