"""The public names; __init__.py imports each from its module when it is first used."""

from opset.budget import Limits as Limits
from opset.checker.checking import check as check
from opset.checker.checking import check_model as check_model
from opset.checker.parts import check_attribute as check_attribute
from opset.checker.parts import check_function as check_function
from opset.checker.parts import check_graph as check_graph
from opset.checker.parts import check_node as check_node
from opset.checker.parts import check_sparse_tensor as check_sparse_tensor
from opset.checker.parts import check_tensor as check_tensor
from opset.checker.parts import check_value_info as check_value_info
from opset.checker.repairing import Repair as Repair
from opset.checker.repairing import repair as repair
from opset.composition.extraction import extract as extract
from opset.composition.merging import merge as merge
from opset.description.comparison import ModelComparison as ModelComparison
from opset.description.comparison import compare_models as compare_models
from opset.description.interface import InterfaceComparison as InterfaceComparison
from opset.description.interface import compare_interfaces as compare_interfaces
from opset.description.report import ModelDescription as ModelDescription
from opset.description.report import info as info
from opset.errors import CheckError as CheckError
from opset.errors import ConversionError as ConversionError
from opset.errors import Finding as Finding
from opset.errors import InferenceError as InferenceError
from opset.errors import ModelError as ModelError
from opset.errors import OpsetError as OpsetError
from opset.errors import RunError as RunError
from opset.errors import SchemaError as SchemaError
from opset.errors import UsageError as UsageError
from opset.inference.engine.result import Inference as Inference
from opset.inference.engine.result import infer as infer
from opset.inference.engine.result import infer_shapes as infer_shapes
from opset.model import Model as Model
from opset.model import load as load
from opset.model.model_version import ModelVersion as ModelVersion
from opset.model.text.printing import to_text as to_text
from opset.model.text.syntax import parse_function as parse_function
from opset.model.text.syntax import parse_graph as parse_graph
from opset.model.text.syntax import parse_model as parse_model
from opset.model.text.syntax import parse_node as parse_node
from opset.opsets.documents.collecting import get_operator_set as get_operator_set
from opset.opsets.documents.operator_set import OperatorSet as OperatorSet
from opset.opsets.documents.reading import load_operator_set as load_operator_set
from opset.opsets.registry import Registry as Registry
from opset.opsets.registry import get_schema as get_schema
from opset.reduction.reducing import reduce as reduce
from opset.reference.engine.evaluator import ReferenceEvaluator as ReferenceEvaluator
from opset.schemas.model import OpSchema as OpSchema
from opset.version_converter import Conversion as Conversion
from opset.version_converter import convert as convert
from opset.version_converter import lower as lower
from opset.version_converter import plan as plan
from opset.version_converter.inlining import inline_functions as inline_functions

__version__: str
__all__: list[str]
