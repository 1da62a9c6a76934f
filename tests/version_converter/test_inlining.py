"""Functions inlined: the same values by onnxruntime, by our evaluator, and from what onnx's inliner makes."""

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
import pytest

import opset
from opset.budget import Budget
from opset.errors import ConversionError, ModelError, UsageError
from opset.model.graph.index import index_model
from opset.model.text.syntax import parse_model
from opset.version_converter import calls, inlining

X = np.array([[-2.0, -0.5, 3.0]], np.float32)
IMPORTS = 'ir_version: 10, opset_import: ["": 18, "d": 1]'
F18 = '<domain: "d", opset_import: ["": 18, "d": 1]>'


def model(body, *functions, head=IMPORTS):
    text = f"<{head}> main (float[N, 3] x) => (float[M, 3] y) {body} {' '.join(functions)}"
    return onnx.ModelProto.FromString(parse_model(text).SerializeToString())


def ran(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def same(before, *names, native=True, **also):
    after = opset.inline_functions(before, names or None, **also)
    onnx.checker.check_model(after, full_check=True)
    feeds = {"x": X}
    results = [
        ran(after, feeds),
        opset.ReferenceEvaluator(before).run(None, feeds),
        opset.ReferenceEvaluator(after).run(None, feeds),
    ]
    if native:
        results.append(ran(before, feeds))
        if not any(function.attribute_proto for function in before.functions):  # onnx's inliner loses defaults
            results.append(ran(onnx.inliner.inline_local_functions(before), feeds))
    for each in results[1:]:
        for expected, got in zip(results[0], each, strict=True):
            np.testing.assert_array_equal(expected, got)
    return after


# Not a Constant: onnxruntime takes no default for its value.
SCALE = f"{F18} Scale <factor: float = 2.0> (a) => (b) {{ k = Neg (a)  b = LeakyRelu <alpha: float = @factor> (k) }}"
TWICE = f"{F18} Twice <k> (a) => (b) {{ t = d.Scale <factor: float = @k> (a)  b = d.Scale (t) }}"


def operators(proto):
    return [(node.domain, node.op_type) for node in proto.graph.node]


def test_nested_calls_without_defaults():
    scale, twice = SCALE.replace(": float = 2.0", ""), TWICE.replace("d.Scale (t)", "d.Scale <factor = 7.0> (t)")
    same(model("{ t = d.Twice <k = 3.0> (x)  y = d.Scale <factor = 0.5> (t) }", scale, twice))


def test_nested_calls_with_attributes_and_defaults():
    after = same(model("{ t = d.Twice <k = 3.0> (x)  k = Neg (t)  y = d.Scale <factor = 0.5> (k) }", SCALE, TWICE))
    assert not after.functions and [each.domain for each in after.opset_import] == [""]
    assert {domain for domain, _ in operators(after)} == {""}


def test_an_attribute_that_no_call_gives_leaves_the_inner_default():
    after = same(model("{ y = d.Twice (x) }", SCALE, TWICE))
    factors = [node.attribute[0].f for node in after.graph.node if node.op_type == "LeakyRelu"]
    assert factors == [2.0, 2.0]


def test_overloads_are_different_functions():
    one = '<domain: "d", opset_import: ["": 18], overload: "one"> F (a) => (b) { b = Neg (a) }'
    two = '<domain: "d", opset_import: ["": 18], overload: "two"> F (a) => (b) { b = Abs (a) }'
    before = model("{ t = d.F:one (x)  u = d.F:two (x)  y = Add (t, u) }", one, two)
    same(before)
    after = same(before, "d.F:two")
    assert operators(after) == [("d", "F"), ("", "Abs"), ("", "Add")]
    assert [each.overload for each in after.functions] == ["one"]


BRANCHES = f"""{F18} Pick (a, limit) => (b) {{
    t = Neg (a)
    sum = ReduceSum <keepdims = 0> (a)
    c = Greater (sum, limit)
    b = If (c) <
        then_branch = g () => (u) {{ t2 = Add (t, a)  u = d.Scale (t2) }},
        else_branch = h () => (u) {{ t2 = Abs (t)  u = Sub (t2, t) }}
    >
}}"""


@pytest.mark.parametrize("limit", ["-5.0", "5.0"])
def test_calls_in_branches_whose_names_are_those_of_the_graph_around(limit):
    body = f"""{{
        t = Relu (x)
        zero = Constant <value_float = {limit}> ()
        sum = ReduceMax <keepdims = 0> (t)
        c = Greater (sum, zero)
        y = If (c) <
            then_branch = a () => (u) {{ k = d.Pick (t, zero)  u = d.Pick (k, zero) }},
            else_branch = b () => (u) {{ u = d.Scale (t) }}
        >
    }}"""
    after = same(model(body, SCALE, BRANCHES))
    names = [output for node in walked(after.graph) for output in node.output]
    inner = [name for name in names if name != "u"]  # both branches of the given model compute `u`
    assert len(inner) == len({*inner})


def walked(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from walked(attribute.g)


def test_a_loop_in_a_function():
    function = f"""{F18} Sum (a, n) => (b) {{
        c = Constant <value = bool {{1}}> ()
        b = Loop (n, c, a) <body = g (int64 i, bool go, float[K, 3] v) => (bool more, float[K, 3] w)
            {{ more = Identity (go)  w = Add (v, a) }}>
    }}"""
    after = same(model("{ n = Constant <value_int = 4> ()  y = d.Sum (x, n) }", function))
    loop = next(node for node in after.graph.node if node.op_type == "Loop")
    # K of the function is no size of the graph.
    sizes = [dim.WhichOneof("value") for dim in loop.attribute[0].g.input[2].type.tensor_type.shape.dim]
    assert sizes == [None, "dim_value"]


def test_inputs_and_outputs_that_calls_omit():
    function = f"""{F18} Bound (a, low, high) => (b, c, d) {{ b = Clip (a, low, high)  c = Neg (b)  d = Abs (c) }}"""
    body = "{ one = Constant <value_float = 1.0> ()  t, , u = d.Bound (x, , one)  v = d.Bound (u)  y = Add (t, v) }"
    after = same(model(body, function), native=False)
    clips = [list(node.input) for node in after.graph.node if node.op_type == "Clip"]
    assert clips == [["x", "", "one"], ["u", "", ""]]


def test_names_select_functions():
    before = model("{ t = d.Twice <k = 3.0> (x)  y = d.Scale (t) }", SCALE, TWICE.replace("<k>", "<k: float = 5.0>"))
    only = same(before, "Twice")
    assert operators(only) == [("d", "Scale")] * 3 and [each.name for each in only.functions] == ["Scale"]
    kept = same(before, exclude=["d.Twice"])
    assert operators(kept) == [("d", "Twice"), ("", "Neg"), ("", "LeakyRelu")]
    assert [node.op_type for node in kept.functions[0].node] == ["Neg", "LeakyRelu"] * 2
    assert [each.domain for each in kept.opset_import] == ["", "d"]
    with pytest.raises(UsageError, match="no function 'Other'") as caught:
        opset.inline_functions(before, ["Other"])
    assert caught.value.code == "U103" and "d.Twice" in caught.value.help


def test_names_are_a_list_or_one_text():
    before = model("{ t = d.Scale (x)  y = d.Other (t) }", SCALE, SCALE.replace("Scale <", "Other <"))
    for names in ("Scale", "Scale, d.Other", ["Scale", "d.Other"]):
        after = opset.inline_functions(before, names)
        left = [] if "Other" in str(names) else ["Other"]
        assert [function.name for function in after.functions] == left
    assert [function.name for function in opset.inline_functions(before, exclude="Scale").functions] == ["Scale"]
    with pytest.raises(UsageError, match="the model has no function 'Scala'"):
        opset.inline_functions(before, "Scala")


def test_in_a_function_that_stays_a_default_is_not_lost():
    kept = f"{F18} Keep <k> (a) => (b) {{ b = d.Scale <factor: float = @k> (a) }}"
    before = model("{ t = d.Keep <k = 4.0> (x)  y = d.Scale (t) }", SCALE, kept)
    with pytest.raises(ConversionError, match="inline the function around") as caught:
        opset.inline_functions(before, exclude=["Keep"])
    assert caught.value.code == "C501" and "d.Scale" in caught.value.place
    same(model("{ t = d.Keep (x)  y = d.Scale (t) }", SCALE, kept.replace("<k>", "<k: float = 3.0>")), exclude=["Keep"])


def test_functions_of_other_versions_are_converted_first():
    old = '<domain: "d", opset_import: ["": 11]> Old (a) => (b) { b = Squeeze <axes = [0]> (a) }'
    back = '<domain: "d", opset_import: ["": 11]> Back (a) => (b) { b = Unsqueeze <axes = [0]> (a) }'
    before = model("{ t = d.Old (x)  y = d.Back (t) }", old, back)
    after = same(before, native=False)  # the others take functions of the model's own version alone
    assert len(after.graph.node[-1].input) == 2
    notes = inlining.inline_model(opset.load(before), None, (), inlining.registry_with(())).notes
    assert notes == ["functions were converted to the versions that the model imports"]


def test_functions_whose_operators_are_the_same_need_no_conversion():
    old = '<domain: "d", opset_import: ["": 16]> Old (a) => (b) { b = Neg (a) }'
    before = model("{ y = d.Old (x) }", old)
    assert inlining.inline_model(opset.load(before), None, (), inlining.registry_with(())).notes == []
    same(before)


def test_a_domain_that_only_functions_import():
    head = '<domain: "d", opset_import: ["": 18, "ai.onnx.ml": 3]>'
    ml = f'{head} F (a) => (b) {{ b = ai.onnx.ml.Normalizer <norm = "L1"> (a) }}'
    after = same(model("{ y = d.F (x) }", ml))
    assert [(each.domain, each.version) for each in after.opset_import] == [("", 18), ("ai.onnx.ml", 3)]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ('<domain: "d", opset_import: ["": 18]> F (a) => (b) { b = other.Op (a) }', "does not import it"),
        ('<domain: "d", opset_import: ["other": 2]> F (a) => (b) { b = other.Op (a) }', "other 2, and the model 1"),
        ('<domain: "d", opset_import: ["": 18]> F () => (b) { b = Constant <value_int = 1> () }', "why .* 1 inputs"),
    ],
)
def test_what_cannot_be_inlined(function, why):
    head = 'ir_version: 10, opset_import: ["": 18, "d": 1, "other": 1]'
    with pytest.raises(ConversionError, match=why) as caught:
        opset.inline_functions(model("{ t = d.F (x)  y = d.F (t) }", function, head=head))
    # The last one is about each call, the others about the function.
    assert [each.code for each in caught.value.findings] == ["C501"] * (1 + ("inputs" in why))
    finding = caught.value.findings[0]
    assert (finding.message, bool(finding.help)) == ("the function cannot be inlined", True)
    if "and the model" in why:
        assert (finding.place, finding.help) == ("function 'd.F'", "make the two equal")


def test_a_function_that_stays_may_import_what_it_wants():
    head = 'ir_version: 10, opset_import: ["": 18, "d": 1, "other": 1]'
    kept = '<domain: "d", opset_import: ["other": 2]> Kept (a) => (b) { b = other.Op (a) }'
    for imports in (head, IMPORTS):
        before = model("{ t = d.Scale (x)  y = d.Kept (t) }", kept, SCALE, head=imports)
        assert [each.name for each in opset.inline_functions(before, ["Scale"]).functions] == ["Kept"]
    calling = kept.replace('"other": 2', '"": 18, "d": 1, "other": 2').replace("(a) }", "(t) }")
    before = model("{ y = d.Kept (x) }", calling.replace("b =", "t = d.Scale (a)  b ="), SCALE)
    (function,) = opset.inline_functions(before, ["Scale"]).functions
    assert [node.op_type for node in function.node] == ["Neg", "LeakyRelu", "Op"]
    assert sorted((each.domain, each.version) for each in function.opset_import) == [("", 18), ("d", 1), ("other", 2)]
    before = model("{ t = d.Scale (x)  y = d.Kept (t) }", kept, SCALE.replace("LeakyRelu", "other.Op"), head=head)
    with pytest.raises(ConversionError, match="does not import it") as caught:
        opset.inline_functions(before, ["Scale"])
    assert [each.place for each in caught.value.findings] == ["function 'd.Scale'"]


def test_training_graphs_and_annotations():
    proto = parse_model(f"<{IMPORTS}> main (float[1, 3] x) => (float[1, 3] y) {{ y = d.Scale (x) }} {SCALE}")
    proto.training_info.add().algorithm.CopyFrom(proto.graph)
    proto.training_info[0].algorithm.node[0].output[0] = "z"
    proto.training_info[0].algorithm.output[0].name = "z"
    made = opset.inline_functions(proto.SerializeToString()).proto
    assert [node.op_type for node in made.training_info[0].algorithm.node] == ["Neg", "LeakyRelu"]
    names = [node.output[0] for graph in (made.graph, made.training_info[0].algorithm) for node in graph.node]
    assert len(names) == len({*names})


def test_explosions_are_refused_before_anything_is_made():
    functions = [f"{F18} F0 (a) => (b) {{ b = Neg (a) }}"]
    functions += [f"{F18} F{n} (a) => (b) {{ t = d.F{n - 1} (a)  b = d.F{n - 1} (t) }}" for n in range(1, 26)]
    before = model("{ y = d.F25 (x) }", *functions)
    with pytest.raises(ConversionError, match="steps are needed") as caught:
        opset.inline_functions(before)
    assert caught.value.code == "C401"
    large = parse_model(f"<{IMPORTS}> main (float[1, 3] x) => (float[1, 3] y) {{ y = d.Scale (x) }} {SCALE}")
    large.graph.doc_string = "of which there is much " * (1 << 18)
    assert not opset.inline_functions(large.SerializeToString()).proto.functions
    made = opset.inline_functions(before, ["F25", "F24"])
    assert operators(made) == [("d", "F23")] * 4 and len(made.functions) == 24
    fat = parse_model(f"<{IMPORTS}> main (float[1] x) => (float[1] y) {{ y = d.Scale (x) }} {SCALE}")
    fat.graph.node[0].metadata_props.add(key="k", value="v" * 1_000_000)
    fat.functions[0].node.extend([fat.functions[0].node[0]] * 200)
    for number, node in enumerate(fat.functions[0].node[2:]):
        node.output[0] = f"k{number}"
    with pytest.raises(ConversionError, match="bytes"):
        opset.inline_functions(fat.SerializeToString(), limits=opset.Limits(max_bytes=1_000_000))
    with pytest.raises(ConversionError, match="bytes"):
        opset.inline_functions(fat.SerializeToString())
    small = model("{ y = d.Scale (x) }", SCALE)
    assert operators(opset.inline_functions(small, limits=opset.Limits(max_steps=48))) == [
        ("", "Neg"),
        ("", "LeakyRelu"),
    ]
    with pytest.raises(ConversionError, match="steps are needed"):
        opset.inline_functions(small, limits=opset.Limits(max_steps=47))


@pytest.mark.parametrize(
    ("call", "function", "nodes", "names", "copied"),
    [
        ("y = d.F (x)", "F (a) => (b) { b = Neg (a) }", 1, 3, 0),
        ("y = d.F (x)", "F (a) => (b) { t = Neg (a)  b = Add (t, a) }", 2, 7, 0),
        ("[a_long_name_of_a_call] y_of_length = d.F (x)  y = Neg (y_of_length)",
         "F (a) => (b) { b = Neg (a) }", 1, 3, 0),
        ("y = d.F <k: float = 3.0> (x)",
         "F <k> (a) => (b) { t = LeakyRelu <alpha: float = @k> (a)  b = Elu <alpha: float = @k> (t) }", 2, 6, 2),
        ("y = d.F <k: float = 3.0, more: int = 1> (x)", "F <k, more> (a) => (b) { b = Neg (a) }", 1, 3, 0),
    ],
)  # fmt: skip
def test_what_a_call_makes_is_charged(call, function, nodes, names, copied, monkeypatch):
    made = []

    def budget(*arguments, **named):
        made.append(Budget(*arguments, **named))
        return made[-1]

    monkeypatch.setattr(calls, "Budget", budget)
    before = parse_model(
        f"<{IMPORTS}> main (float[1, 3] x) => (float[1, 3] y) {{ {call} }}"
        f'<domain: "d", opset_import: ["": 18]> {function}'
    )
    node = before.graph.node[0]
    node.metadata_props.add(key="from", value="a tool")
    after = opset.inline_functions(before.SerializeToString())
    assert after.proto.graph.ByteSize() <= before.graph.ByteSize() + made[0].live
    longest = 16 + len(node.name) + max(len(each) for each in (*node.input, *node.output))
    held = nodes * node.metadata_props[0].ByteSize()
    copies = copied * sum(each.ByteSize() for each in node.attribute)
    assert made[0].live == before.functions[0].ByteSize() + held + copies + names * longest
    assert made[0].steps == 16 * (1 + nodes)
    size = before.ByteSize()
    assert (made[0].max_steps, made[0].max_bytes) == ((1 << 21) + 8 * size, (1 << 27) + 8 * size)


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        ([], 16 * (1 + 4)),
        (["Inner"], 16 * (1 + 1)),  # in the function that stays
        (["Outer"], 16 * (1 + 2)),
    ],
)
def test_a_function_is_charged_where_its_nodes_end_up(names, steps, monkeypatch):
    made = []
    monkeypatch.setattr(calls, "Budget", lambda *each, **more: made.append(Budget(*each, **more)) or made[-1])
    inner = f"{F18} Inner (a) => (b) {{ b = Neg (a) }}"
    outer = f"{F18} Outer (a) => (b) {{ c = Abs (a)  b = d.Inner (c) }}"
    opset.inline_functions(model("{ y = d.Outer (x) }", inner, outer), names or None)
    assert made[0].steps == steps


def test_cycles_are_an_error_and_models_without_functions_stay_as_they_are():
    with pytest.raises(ModelError) as caught:
        opset.inline_functions(model("{ y = d.F (x) }", f"{F18} F (a) => (b) {{ b = d.F (a) }}"))
    assert caught.value.code == "M114"
    plain = opset.load(model("{ y = Neg (x) }").SerializeToString())
    assert opset.inline_functions(plain).proto is plain.proto


def test_functions_of_functions_that_are_gone_are_removed_too():
    unused = f"{F18} Unused (a) => (b) {{ b = d.Scale (a) }}"
    lost = f"{F18} Lost (a) => (b) {{ b = Neg (a) }}"
    caller = f"{F18} Caller (a) => (b) {{ b = d.Lost (a) }}"
    dead = f"{F18} Dead (a) => (b) {{ b = d.Caller (a) }}"
    before = model("{ y = d.Scale (x) }", SCALE, unused, lost, caller, dead)
    after = opset.inline_functions(before, ["Scale", "Dead"])
    # `Unused` was called by nothing before.
    assert [each.name for each in after.functions] == ["Unused"]
    before = model("{ t = d.Lost (x)  y = d.Scale (t) }", SCALE, unused, lost, caller, dead)
    after = opset.inline_functions(before, ["Scale", "Dead"])
    assert [each.name for each in after.functions] == ["Unused", "Lost"]


def test_operators_are_named_beside_functions():
    text = model(
        "{ a = d.f (x) b = LayerNormalization <axis: int = -1> (a, w) y = Softmax (b) }",
        f"{F18} f (p) => (q) {{ q = Relu (p) }}",
    )
    text.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), "w"))
    after = same(text, "f", "LayerNormalization", "Softmax")
    assert not after.functions and not {node.op_type for node in after.graph.node} & {"LayerNormalization", "Softmax"}
    assert [node.op_type for node in opset.inline_functions(text, ["ai.onnx.Softmax"]).graph.node].count("f") == 1
    added = model("{ y = Add (x, x) }")
    with pytest.raises(ConversionError, match="Add cannot be expressed"):
        opset.inline_functions(added, ["Add"])
    with pytest.raises(UsageError, match="no function 'Nonesuch'"):
        opset.inline_functions(added, ["Nonesuch"])


def test_opsets_that_only_functions_import_come_in_order_of_their_names():
    names = ["k", "a", "z", "c", "b", "m"]
    nodes = "  ".join(f"{name} = d.F{name} (x)" for name in names)
    functions = [
        f'<domain: "d", opset_import: ["": 18, "q": {number}, "{name}": 1]> '
        f"F{name} (p) => (r) {{ t = q.X (p)  r = {name}.Y (t) }}"
        for number, name in enumerate(names, 1)
    ]
    before = opset.load(model(f"{{ {nodes}  y = Sum ({', '.join(names)}) }}", *functions))
    index = index_model(before.proto, ())
    imports = calls._imports_of(index, {*index.functions})
    assert [*imports.items()] == [("", 18), ("d", 1), ("a", 1), ("q", 2), *[(name, 1) for name in "bckmz"]]
