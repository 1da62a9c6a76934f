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
from judges.fuzz.drawing.nodes import DRAWS, NARROW, Argument, Given, Listed, Mapped, draft
from judges.fuzz.drawing.sparse import LEAST_IR, sparse_of

__all__ = ["DRAWS", "ML", "Case", "make_case", "schema_at"]

ML = "ai.onnx.ml"
CASTS = {"bfloat16": 13, "int4": 21, "uint4": 21}
"""Opset since which Cast reads a narrow type; for the others it is 19."""
BODIES = ("If", "Loop", "Scan")
"""Operators of which onnxruntime crashes where an output is left out."""
HOSTILE = ("o0__const", "o0__Cast", "o0__Shape", "o0__const_1", "o0__wide", "o0__Reshape", "it__Constant")
"""Names that a converter might think of itself."""


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
        self.domain, self.version = domain, version
        self.rng, self.rarer = random.Random(f"{seed} model"), random.Random(f"{seed} rarer")
        self.standard = version if domain == "" else self.rng.choice([9, 13, 18, 21])
        self.schema = onnx.defs.get_schema(operator, version, domain)
        self.drafts = [draft(self.schema, version, seed, again) for again in (0, 1)]
        least = helper.OP_SET_ID_VERSION_MAP["ai.onnx", self.standard]
        self.ir = self.rng.choice([least, least, max(least, 8), max(least, 10)])
        self.around = self.rng.choices(["", "If", "Loop", "function"], [10, 1, 1, 1])[0]
        if self.around == "function" and (self.ir < 8 or self.standard < 14):
            self.around = ""
        if self.around == "Loop" and self.standard < 11:
            self.around = ""
        self.declare = self.rng.choice(["static", "mixed", "mixed", "symbols", "ranks", "nothing"])
        self.hidden = self.rng.random() < 0.2
        self.hostile, self.twice = self.rng.random() < 0.1, self.rng.random() < 0.15
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.sparse: list[onnx.SparseTensorProto] = []
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
        name = HOSTILE[position] if self.hostile and position < len(HOSTILE) else f"i{position}"
        element = first.element
        early = self.ir < 4
        weights = [3, 4, 3, 0 if early else 1] if first.side else [17, 2, 1, 1]
        if self.standard < 9 and element not in ("float", "double", "float16"):
            weights[2] = 0
        form = self.rng.choices(["input", "initializer", "Constant", "overridable"], weights)[0]
        narrow = element in NARROW
        if narrow and self.standard < CASTS.get(element, 19):
            form = "initializer"
        if form in ("input", "overridable"):
            fits = second is not None and second.element == element and second.value.ndim == first.value.ndim
            arrays = [first.value, second.value if fits and second is not None else first.value]
            if narrow and form == "input":
                self.inputs.append(self.value_info(f"{name}f", "float", arrays))
                to = TensorProto.DataType.Value(element.upper())
                self.before.append(helper.make_node("Cast", [f"{name}f"], [name], to=to))
                for feed, array in zip(self.feeds, arrays, strict=True):
                    feed[f"{name}f"] = array.astype(np.float32)
                return name
            if form == "overridable" and not narrow:
                self.initializers.append(numpy_helper.from_array(first.value, name))
                self.inputs.append(self.value_info(name, element, [first.value] * 2))
                if arrays[1].shape == first.value.shape:
                    self.feeds[1][name] = arrays[1]
                return name
            if form == "input":
                outer = f"{name}x" if self.hidden else name
                self.inputs.append(self.value_info(outer, element, arrays))
                if self.hidden:
                    self.before.append(helper.make_node("Identity", [outer], [name]))
                for feed, array in zip(self.feeds, arrays, strict=True):
                    feed[outer] = array
                return name
        tensor = numpy_helper.from_array(first.value, name)
        if form == "Constant":
            attributes: dict[str, Any] = {"value": tensor}
            if self.standard >= 12 and self.rng.random() < 0.5:
                plural = {0: "", 1: "s"}.get(first.value.ndim)
                stem = {"int64": "value_int", "float": "value_float"}.get(element)
                if stem and plural is not None and first.value.size:
                    attributes = {stem + plural: first.value.tolist()}
            node = helper.make_node("Constant", [], [name], **attributes)
            self.before.append(node)
            return name
        if self.ir >= LEAST_IR and self.rarer.random() < 0.25 and (sparse := sparse_of(first.value, name, self.rarer)):
            self.sparse.append(sparse)
            return name
        self.initializers.append(tensor)
        if early:
            self.inputs.append(self.value_info(name, element, [first.value] * 2))
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
        return self.wrap(node), self.feeds

    def wrap(self, node: onnx.NodeProto) -> onnx.ModelProto:
        """Return the model with the node in it, in a branch, a loop, a function, or none of them."""
        outputs = [name for name in node.output if name]
        bare = self.model([*self.before, node], [onnx.ValueInfoProto(name=name) for name in outputs], [])
        inferred = onnx.shape_inference.infer_shapes(bare)
        kinds = {value.name: value.type for value in (*inferred.graph.output, *inferred.graph.value_info)}
        for name in outputs:
            if kinds[name].WhichOneof("value") is None and (element := self.declared(node, name)):
                kinds[name].tensor_type.elem_type = TensorProto.DataType.Value(element.upper())
        results, after = [], []
        if len(outputs) > 1 and self.rng.random() < 0.15:
            outputs.pop(self.rng.randrange(len(outputs)))
        around = self.around if all(kinds[n].HasField("tensor_type") for n in outputs) else ""
        if around == "Loop" and any(kinds[n].tensor_type.elem_type == TensorProto.STRING for n in outputs):
            around = ""  # onnxruntime does not put strings together
        inside = [value_info(name, kinds[name], self.rng.random() < 0.5) for name in outputs]
        functions = []
        main = [node]
        if self.twice and not around:
            # What one of two nodes no longer needs, the other may.
            again = onnx.NodeProto()
            again.CopyFrom(node)
            again.name = node.name and "other"
            again.output[:] = [name and f"z{name}" for name in node.output]
            main.append(again)
            for name in outputs.copy():
                outputs.append(f"z{name}")
                kinds[f"z{name}"] = kinds[name]
        if around == "If":
            other = onnx.NodeProto()
            other.CopyFrom(node)
            branches = []
            for branch, one in (("t", node), ("e", other)):
                for index, name in enumerate(one.output):
                    if name:
                        one.output[index] = f"{branch}{name}"
                declared = [value_info(f"{branch}{name}", kinds[name], self.rng.random() < 0.5) for name in outputs]
                branches.append(helper.make_graph([one], branch, [], declared))
            self.inputs.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
            for number, feed in enumerate(self.feeds):
                feed["cond"] = np.array(number == 0)
            main = [helper.make_node("If", ["cond"], outputs, then_branch=branches[0], else_branch=branches[1])]
        elif around == "Loop":
            body_nodes = [helper.make_node("Identity", ["go"], ["on"]), node]
            one = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
            go = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
            turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
            body = helper.make_graph(body_nodes, "body", [turn, go], [one, *inside])
            self.initializers.append(numpy_helper.from_array(np.array(2), "turns"))
            main = [helper.make_node("Loop", ["turns", ""], [f"{name}_all" for name in outputs], body=body)]
            for name in outputs:
                kinds[f"{name}_all"] = kinds[name]
            outputs = [f"{name}_all" for name in outputs]
        elif around == "function":
            given = [name for name in dict.fromkeys(node.input) if name]
            imports = [helper.make_opsetid(self.domain, self.version)]
            if self.domain:
                imports.append(helper.make_opsetid("", self.standard))
            functions.append(helper.make_function("local", "F", given, outputs, [node], imports))
            main = [helper.make_node("F", given, outputs, domain="local")]
        for name in outputs:
            kind = kinds[name]
            if kind.HasField("tensor_type"):
                element = TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()
                if element in NARROW:
                    if self.standard < CASTS.get(element, 19):
                        raise LookupError("Cast does not read it")
                    after.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
                    results.append(helper.make_tensor_value_info(f"{name}_f", TensorProto.FLOAT, None))
                    continue
            results.append(value_info(name, kind, False))
        model = self.model([*self.before, *main, *after], results, functions)
        if self.rng.random() < 0.4:
            shaped = onnx.shape_inference.infer_shapes(model)
            model.graph.value_info.extend(shaped.graph.value_info)
        return model

    def declared(self, node: onnx.NodeProto, name: str) -> str:
        """Return the element type that the schema alone says an output has, "" where it does not."""
        formal = self.schema.outputs[min(list(node.output).index(name), len(self.schema.outputs) - 1)]
        elements = {
            argument.element
            for position, argument in enumerate(self.drafts[0].inputs)
            if argument and self.schema.inputs[min(position, len(self.schema.inputs) - 1)].type_str == formal.type_str
        } or {kind[7:-1] for kind in formal.types}
        return elements.pop() if len(elements) == 1 else ""

    def model(self, nodes: list[Any], results: list[Any], functions: list[Any]) -> onnx.ModelProto:
        imports = [helper.make_opsetid(self.domain, self.version)]
        if self.domain:
            imports.append(helper.make_opsetid("", self.standard))
        if functions:
            imports.append(helper.make_opsetid("local", 1))
        graph = helper.make_graph(nodes, "g", self.inputs, results, self.initializers, sparse_initializer=self.sparse)
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir, functions=functions)


def value_info(name: str, kind: onnx.TypeProto, shape: bool) -> onnx.ValueInfoProto:
    if kind.WhichOneof("value") is None:
        raise LookupError(f"the type of {name} is not known")
    found = onnx.ValueInfoProto(name=name, type=kind)
    if kind.HasField("tensor_type") and not shape:
        found.type.tensor_type.ClearField("shape")
    return found


def attribute_of(schema: onnx.defs.OpSchema, name: str, value: Any) -> onnx.AttributeProto:
    """Return an AttributeProto of the type that the schema declares, for empty lists too."""
    return helper.make_attribute(name, value, attr_type=int(schema.attributes[name].type.value))


def make_case(name: str) -> Case:
    """Return the case of a name, "domain/operator/version/seed". Raises LookupError where it cannot be drawn."""
    domain, operator, version, _ = name.split("/")
    domain = "" if domain == "ai.onnx" else domain
    model, feeds = Builder(domain, operator, int(version), name).build()
    return Case(name, domain, operator, int(version), model, feeds)
