"""The names for authors of operators; extend.py imports each from its module when it is first used."""

from opset.inference.building.call import Call as Call
from opset.inference.building.call import Constant as Constant
from opset.inference.building.call import Unknown as Unknown
from opset.inference.building.dimensions import Dim as Dim
from opset.inference.building.dimensions import Size as Size
from opset.inference.building.dimensions import broadcast as broadcast
from opset.inference.building.dimensions import ceil_div as ceil_div
from opset.inference.building.dimensions import equal as equal
from opset.inference.building.dimensions import less as less
from opset.inference.building.dimensions import maximum as maximum
from opset.inference.building.dimensions import minimum as minimum
from opset.inference.building.dimensions import product as product
from opset.inference.building.dimensions import variable as variable
from opset.inference.building.types import Shape as Shape
from opset.inference.building.types import Type as Type
from opset.inference.building.types import optional as optional
from opset.inference.building.types import sequence as sequence
from opset.inference.building.types import tensor as tensor
from opset.inference.registration import data as data
from opset.inference.registration import infer as infer
from opset.model.elements import NUMBERS as NUMBERS
from opset.model.elements import element_name as element_name
from opset.model.text.syntax import parse_model as parse_model
from opset.opsets.registry import registry_with as registry_with
from opset.reference.comparison import differences as differences
from opset.reference.example_models import feeds_of as feeds_of
from opset.reference.example_models import model_of as model_of
from opset.reference.example_models import value_of as value_of
from opset.reference.numerics.small_floats import rounded_once as rounded_once
from opset.reference.registration import KernelContext as KernelContext
from opset.reference.registration import kernel as kernel
from opset.schemas.constraints.violation import Violation as Violation
from opset.schemas.example import example_versions as example_versions
from opset.version_converter.registration import down as down
from opset.version_converter.registration import lower as lower
from opset.version_converter.registration import up as up
from opset.version_converter.rewrite import Builder as Builder
from opset.version_converter.rewrite import Node as Node
from opset.version_converter.rewrite import Refusal as Refusal
from opset.version_converter.rewrite import Result as Result

__all__: list[str]
