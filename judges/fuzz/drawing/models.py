"""Builds a model around a drawn node: where its inputs come from, what is declared, what it lies in.

`make_case("ai.onnx/Resize/13/7.21")` gives the same case for the same name, by the draws of `drawing.nodes`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judges.fuzz.drawing import ml, networks, structures  # noqa: F401  (they fill DRAWS)
from judges.fuzz.drawing.edits import Edit, edit, initializer_to_node, make_sparse
from judges.fuzz.drawing.nodes import DRAWS, NARROW, Argument, Given, Listed, Mapped, draft

__all__ = ["DRAWS", "ML", "Case", "make_case", "schema_at"]

ML = "ai.onnx.ml"
CASTS = {"bfloat16": 13, "int4": 21, "uint4": 21}
"""Opset since which Cast reads a narrow type; for the others it is 19."""
BODIES = ("If", "Loop", "Scan")
"""Operators of which onnxruntime crashes where an output is left out."""


@dataclass
class Case:
    """A model with one drawn node, the inputs of two runs, and where it came from."""

    name: str
    domain: str
    operator: str
    version: int
    model: onnx.ModelProto
    feeds: list[dict[str, Any]]


def schema_at(domain: str, name: str, version: int) -> int:
    try:
        return int(onnx.defs.get_schema(name, version, domain).since_version)
    except onnx.defs.SchemaError:
        return 0


class Builder:
    """Turns a draft and its second drawing into a model: where inputs come from, what is declared, what is around."""

    def __init__(self, domain: str, operator: str, version: int, seed: str) -> None:
        self.domain, self.version, self.seed = domain, version, seed
        self.rng, self.rarer = random.Random(f"{seed} model"), random.Random(f"{seed} rarer")
        self.standard = version if domain == "" else self.rng.choice([9, 13, 18, 21])
        self.schema = onnx.defs.get_schema(operator, version, domain)
        self.drafts = [draft(self.schema, version, seed, again) for again in (0, 1)]
        least = helper.OP_SET_ID_VERSION_MAP["ai.onnx", self.standard]
        self.ir = self.rng.choice([least, least, max(least, 8), max(least, 10)])
        self.declare = self.rng.choice(["static", "mixed", "mixed", "symbols", "ranks", "nothing"])
        self.hidden = self.rng.random() < 0.2
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.before: list[onnx.NodeProto] = []
        self.feeds: list[dict[str, Any]] = [{}, {}]

    def value_info(self, name: str, element: str, arrays: Sequence[np.ndarray]) -> onnx.ValueInfoProto:
        """Return a declaration that the arrays of both runs fit, as far as that can be."""
        shape: list[Any] = []
        for sizes in zip(*(a.shape for a in arrays), strict=True):
            known = sizes[0] == sizes[1] and (self.declare == "mixed" and self.rng.random() < 0.7)
            if self.declare == "static" or known:
                shape.append(sizes[0])
            elif self.declare == "ranks":
                shape.append(None)
            else:
                shape.append(f"d{sizes[0]}_{sizes[1]}")
        told = None if self.declare == "nothing" else shape
        return helper.make_tensor_value_info(name, TensorProto.DataType.Value(element.upper()), told)

    def give(self, position: int, first: Argument, second: Argument | None) -> str:
        """Make an input of the node available; give its name."""
        name, element, early = f"i{position}", first.element, self.ir < 4
        weights = [3, 7, 0 if early else 1] if first.side else [17, 3, 1]
        form = self.rng.choices(["input", "initializer", "overridable"], weights)[0]
        if element in NARROW and (form == "overridable" or self.standard < CASTS.get(element, 19)):
            form = "initializer"
        fits = second is not None and second.element == element and second.value.ndim == first.value.ndim
        arrays = [first.value, second.value if fits and second is not None else first.value]
        if form == "input":
            outer = f"{name}f" if element in NARROW else f"{name}x" if self.hidden else name
            if element in NARROW:
                to = TensorProto.DataType.Value(element.upper())
                self.before.append(helper.make_node("Cast", [outer], [name], to=to))
                element, arrays = "float", [array.astype(np.float32) for array in arrays]
            elif self.hidden:
                self.before.append(helper.make_node("Identity", [outer], [name]))
            self.inputs.append(self.value_info(outer, element, arrays))
            for feed, array in zip(self.feeds, arrays, strict=True):
                feed[outer] = array
            return name
        self.initializers.append(numpy_helper.from_array(first.value, name))
        if early or form == "overridable":
            self.inputs.append(self.value_info(name, element, [first.value] * 2))
        if form == "overridable" and arrays[1].shape == first.value.shape:
            self.feeds[1][name] = arrays[1]
        return name

    def give_any(self, position: int, first: Given, second: Given) -> str:
        """Make an input of any kind available; give its name, "" for one that is left out."""
        if isinstance(first, Argument):
            return self.give(position, first, second if isinstance(second, Argument) else None)
        if isinstance(first, Mapped):
            name = f"i{position}"
            value = helper.make_tensor_type_proto(TensorProto.DataType.Value(first.element.upper()), [])
            kind = helper.make_map_type_proto(TensorProto.DataType.Value(first.keys.upper()), value)
            self.inputs.append(helper.make_value_info(name, kind))
            for feed in self.feeds:
                feed[name] = first.value
            return name
        return "" if first is None else self.give_listed(position, first)

    def give_listed(self, position: int, listed: Listed) -> str:
        """Make a sequence or an optional available; give its name."""
        name, number = f"i{position}", TensorProto.DataType.Value(listed.element.upper())
        if listed.optional == "nothing":
            kind = helper.make_tensor_type_proto(number, None)
            self.before.append(helper.make_node("Optional", [], [name], type=kind))
            return name
        parts = [self.give(100 * (position + 1) + index, value, None) for index, value in enumerate(listed.values)]
        if listed.optional == "tensor":
            self.before.append(helper.make_node("Optional", parts, [name]))
            return name
        made = name if not listed.optional else f"{name}s"
        if parts:
            self.before.append(helper.make_node("SequenceConstruct", parts, [made]))
        else:
            self.before.append(helper.make_node("SequenceEmpty", [], [made], dtype=number))
        if listed.optional:
            self.before.append(helper.make_node("Optional", [made], [name]))
        return name

    def build(self) -> tuple[onnx.ModelProto, list[dict[str, np.ndarray]]]:
        first, second = self.drafts
        if [a is None for a in first.inputs] != [a is None for a in second.inputs]:
            second = first
        names = [
            self.give_any(position, argument, second.inputs[position]) for position, argument in enumerate(first.inputs)
        ]
        if self.rng.random() < 0.7 or self.schema.name == "DFT":  # an axis "" is the end of onnxruntime
            while names and not names[-1]:
                names.pop()
        attributes = dict(first.attributes)
        most = attributes.pop("__outputs", None)
        formals = self.schema.outputs
        count = most or self.rng.randint(max(self.schema.min_output, 1), max(len(formals), 1))
        outputs = [f"o{index}" for index in range(count)]
        if most is None and count > 1 and self.schema.outputs[0].option.name == "Optional" and self.rng.random() < 0.3:
            outputs[self.rng.randrange(count)] = ""
            if not any(outputs):
                raise LookupError("no outputs")
        elif count > 1 and self.schema.name not in BODIES and self.rarer.random() < 0.15:
            outputs[self.rarer.randrange(count)] = ""
        node = helper.make_node(self.schema.name, names, outputs, domain=self.domain)
        node.attribute.extend(attribute_of(self.schema, name, value) for name, value in sorted(attributes.items()))
        if self.rng.random() < 0.5:
            node.name = "it"
        return self.edited(self.around(node))

    def around(self, node: onnx.NodeProto) -> onnx.ModelProto:
        """Return the model with the node in its main graph."""
        outputs = [name for name in node.output if name]
        bare = self.model([*self.before, node], [onnx.ValueInfoProto(name=name) for name in outputs])
        inferred = onnx.shape_inference.infer_shapes(bare)
        kinds = {value.name: value.type for value in (*inferred.graph.output, *inferred.graph.value_info)}
        for name in outputs:
            if kinds[name].WhichOneof("value") is None and (element := self.declared(node, name)):
                kinds[name].tensor_type.elem_type = TensorProto.DataType.Value(element.upper())
        if len(outputs) > 1 and self.rng.random() < 0.15:
            outputs.pop(self.rng.randrange(len(outputs)))
        results, after = [], []
        for name in outputs:
            kind = kinds[name]
            if kind.WhichOneof("value") is None:
                raise LookupError(f"the type of {name} is not known")
            if kind.HasField("tensor_type"):
                kind.tensor_type.ClearField("shape")
                element = TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()
                if element in NARROW:
                    if self.standard < CASTS.get(element, 19):
                        raise LookupError("Cast does not read it")
                    after.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
                    results.append(helper.make_tensor_value_info(f"{name}_f", TensorProto.FLOAT, None))
                    continue
            results.append(onnx.ValueInfoProto(name=name, type=kind))
        model = self.model([*self.before, node, *after], results)
        if self.rng.random() < 0.4:
            shaped = onnx.shape_inference.infer_shapes(model)
            model.graph.value_info.extend(shaped.graph.value_info)
        return model

    def edited(self, model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[dict[str, Any]]]:
        """Return the model and the inputs of its runs after edits that keep what it computes, often none."""
        floats = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
        first: list[Edit] = []
        if self.standard >= 9 or all(tensor.data_type in floats for tensor in self.initializers):
            first += [initializer_to_node] * (self.rng.random() < 0.35)
        first += [make_sparse] * (self.rarer.random() < 0.2)
        count = self.rng.choices([0, 1, 2, 4], [6, 3, 1, 1])[0]
        return edit(model, self.feeds, {}, self.seed, [*first, *[None] * count])

    def declared(self, node: onnx.NodeProto, name: str) -> str:
        """Return the element type that the schema alone says an output has, "" where it does not."""
        formal = self.schema.outputs[min(list(node.output).index(name), len(self.schema.outputs) - 1)]
        elements = {
            argument.element
            for position, argument in enumerate(self.drafts[0].inputs)
            if argument and self.schema.inputs[min(position, len(self.schema.inputs) - 1)].type_str == formal.type_str
        } or {kind[7:-1] for kind in formal.types}
        return elements.pop() if len(elements) == 1 else ""

    def model(self, nodes: list[Any], results: list[Any]) -> onnx.ModelProto:
        imports = [helper.make_opsetid(self.domain, self.version)]
        if self.domain:
            imports.append(helper.make_opsetid("", self.standard))
        graph = helper.make_graph(nodes, "g", self.inputs, results, self.initializers)
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir)


def attribute_of(schema: onnx.defs.OpSchema, name: str, value: Any) -> onnx.AttributeProto:
    """Return an AttributeProto of the type that the schema declares, for empty lists too."""
    return helper.make_attribute(name, value, attr_type=int(schema.attributes[name].type.value))


def make_case(name: str) -> Case:
    """Return the case of a name, "domain/operator/version/seed". Raises LookupError where it cannot be drawn."""
    domain, operator, version, _ = name.split("/")
    domain = "" if domain == "ai.onnx" else domain
    model, feeds = Builder(domain, operator, int(version), name).build()
    return Case(name, domain, operator, int(version), model, feeds)
