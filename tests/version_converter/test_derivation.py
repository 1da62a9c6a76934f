"""What is derived of a transition: names, values, types and defaults of attributes, operators under another name."""

import pytest
from onnx import TensorProto, helper, parser

import opset
from opset.errors import ConversionError
from opset.extend import Refusal, down
from opset.opsets.hooks import unregister
from opset.opsets.registry import registry_with
from opset.version_converter.derivation import derive_adapter

OPERATOR = """\
operator: Scale
family: acme
versions:
- since: 3
  deprecated: true
  replacement: Stretch
  change:
    deprecated: true
    renamed: true
    adapters: {up: derived, down: derived}
  doc: Scales.
  inputs:
  - {name: X, type: tensor(float), doc: what is scaled}
  outputs:
  - {name: Y, type: tensor(float), doc: the result}
  attributes:
    by: {type: int, default: 2, doc: factor}
    kind: {type: int, kind: data_type, constraint: C1, doc: type of the result}
    size: {type: ints, doc: sizes}
    step: {type: int, required: true, doc: step}
    way: {type: string, default: up, choices: [up, down, same], constraint: C2, doc: direction}
    ways: {type: strings, doc: directions}
  shape: same(X)
- since: 2
  change:
    attributes:
      by: {type: [float, int], default: [2.0, 2]}
      kind: {type: [string, int], undefined: UINT8}
      size: {added: ints, renamed: sizes}
      sizes: {removed: ints}
      step: {required: [false, true], old: 1}
      way: {default: [ud, up], values: {ud: up, dd: down}}
      ways: {values: {ud: up, dd: down}, undefined: [none]}
    adapters: {up: derived, down: derived}
  like: 3
  deprecated: null
  replacement: null
- since: 1
  like: 2
  attributes:
    by: {type: float, default: 2.0}
    kind: {type: string}
    size: null
    sizes: {type: ints, range: ">= 0", constraint: C3, doc: sizes}
    step: {required: null}
    way: {default: ud, choices: [ud, dd, same]}
"""
REPLACEMENT = """\
operator: Stretch
family: acme
versions:
- since: 3
  doc: Scales.
  inputs:
  - {name: X, type: tensor(float), doc: what is scaled}
  outputs:
  - {name: Y, type: tensor(float), doc: the result}
  attributes:
    by: {type: int, default: 3, doc: factor}
    kind: {type: int, kind: data_type, constraint: C1, doc: type of the result}
    size: {type: ints, doc: sizes}
    step: {type: int, required: true, doc: step}
    way: {type: string, default: up, choices: [up, down], constraint: C2, doc: direction}
    ways: {type: strings, doc: directions}
  shape: same(X)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Scale.yaml").write_text(OPERATOR)
    (tmp_path / "com.acme" / "Stretch.yaml").write_text(REPLACEMENT)
    return tmp_path


def scale(version, **attributes):
    node = helper.make_node("Scale", ["x"], ["y"], domain="com.acme", **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("com.acme", version)], ir_version=8)


def moved(folder, version, to, **attributes):
    """Return the operator and its attributes after the conversion of one node."""
    (node,) = opset.convert(scale(version, **attributes), {"com.acme": to}, schemas=[folder]).graph.node
    return node.op_type, {each.name: helper.get_attribute_value(each) for each in node.attribute}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"step": 5}, {"step": 5}),
        ({"sizes": [1, 2], "step": 5}, {"size": [1, 2], "step": 5}),
        ({"way": "dd", "step": 5}, {"way": b"down", "step": 5}),
        ({"way": "same", "step": 5}, {"way": b"same", "step": 5}),
        ({"ways": [b"dd", b"same", b"ud"], "step": 5}, {"ways": [b"down", b"same", b"up"], "step": 5}),
        ({"ways": [b"none", b"none"], "step": 5}, {"ways": [b"none", b"none"], "step": 5}),
        ({"by": 4.0, "kind": "INT64", "step": 5}, {"by": 4, "kind": 7, "step": 5}),
    ],
)
def test_attributes_go_up_and_back(folder, before, after):
    assert moved(folder, 1, 2, **before) == ("Scale", after)
    back = {key: value.encode() if isinstance(value, str) else value for key, value in before.items()}
    given = {key: value.decode() if isinstance(value, bytes) else value for key, value in after.items()}
    assert moved(folder, 2, 1, **given) == ("Scale", back)


def test_what_an_absent_attribute_meant_is_stated(folder):
    assert moved(folder, 1, 2) == ("Scale", {"step": 1})


def test_a_value_that_means_nothing_is_refused_on_the_way_up_alone(folder):
    assert moved(folder, 2, 1, ways=["none"], step=5) == ("Scale", {"ways": [b"none"], "step": 5})


@pytest.mark.parametrize("number", [0, 99, -1, 2**40])
def test_a_number_of_no_element_type_has_no_name(folder, number):
    (folder / "com.acme" / "Scale.yaml").write_text(OPERATOR.replace("constraint: C1, ", "", 1))
    with pytest.raises(ConversionError) as caught:
        moved(folder, 2, 1, kind=number, step=5)
    assert (caught.value.code, caught.value.why) == ("C204", f"'kind' is {number}, which version 1 cannot say")


@pytest.mark.parametrize(
    ("version", "to", "attributes", "code", "why"),
    [
        (1, 2, {"by": 2.5}, "C204", "'by' is 2.5, which version 2 cannot say"),
        (1, 2, {"by": float("inf")}, "C204", "'by' is inf"),
        (1, 2, {"by": 2.0**63}, "C204", "'by' is 9.223372036854776e+18, which version 2 cannot say"),
        (1, 2, {"kind": "UINT8"}, "C204", "'kind' is UINT8, which has no meaning before 2"),
        (1, 2, {"ways": ["none"], "step": 5}, "C204", "'ways' is ['none'], which has no meaning before 2"),
        (1, 2, {"way": "up"}, "C103", "the attribute 'way' is 'up': it has to be ud, dd or same (constraint C2)"),
        (1, 2, {"kind": "FLAOT"}, "C103", "constraint C1"),
        (1, 2, {"sizes": [3, -1]}, "C103", "constraint C3"),
        (2, 1, {"size": [3, -1], "step": 5}, "C204", "'sizes' is [3, -1]; at version 1 it has to be >= 0"),
        (2, 1, {"by": 2**24 + 1, "step": 5}, "C204", "'by' is 16777217, which version 1 cannot say"),
        (2, 3, {"way": "same", "step": 5}, "C204", "'way' is 'same'; at version 3 it has to be up or down"),
    ],
)
def test_what_the_other_version_cannot_say_is_refused(folder, version, to, attributes, code, why):
    with pytest.raises(ConversionError) as raised:
        moved(folder, version, to, **attributes)
    (finding,) = raised.value.findings
    assert finding.code == code and why in finding.why


def test_an_operator_goes_on_under_another_name(folder):
    assert moved(folder, 2, 3, step=5) == ("Stretch", {"step": 5, "by": 2})  # which has another default
    assert moved(folder, 1, 3, sizes=[1], by=3.0) == ("Stretch", {"size": [1], "by": 3, "step": 1})


def test_a_function_with_the_name_of_an_operator_that_is_needed_refuses(folder):
    model = scale(2, step=5)
    model.opset_import.add(domain="", version=17)
    for name, count in (("Stretch", 1), ("Abs", 0)):
        del model.functions[:]
        model.functions.append(
            parser.parse_function(f'<opset_import: ["": 17], domain: "com.acme"> {name} (a) => (b) {{ b = Relu (a) }}')
        )
        refusals = opset.plan(model, {"com.acme": 3}, schemas=[folder]).refusals
        why = "it needs the operator Stretch, and the model has a function of that name in its domain"
        assert [(each.code, each.why) for each in refusals] == [("C204", why)] * count


def test_a_transition_that_is_declared_impossible_is_refused_with_the_reason(folder):
    stated = "adapters: {up: 'impossible: nobody scales upwards', down: written}"
    text = OPERATOR.replace("adapters: {up: derived, down: derived}\n  like", stated + "\n  like")
    (folder / "com.acme" / "Scale.yaml").write_text(text)
    for version, to, why, help in (
        (1, 2, "nobody scales upwards", "convert to com.acme 1 or older"),
        (1, 3, "nobody scales upwards", "convert to com.acme 1 or older"),
        (2, 1, "no adapter is written for it", "convert to com.acme 2 or newer"),
    ):
        with pytest.raises(ConversionError) as caught:
            moved(folder, version, to, step=5)
        assert (caught.value.code, caught.value.why, caught.value.help) == ("C208", why, help)
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "com.acme": 2]>
        g (float[2] x) => (float[2] y) { y = com.acme.Scale <step = 5> (x) }""")
    with pytest.raises(ConversionError, match="Scale cannot be expressed by other operators of version 2") as caught:
        opset.lower(model, ["com.acme.Scale"], schemas=[folder])
    help = "keep the operator, or express what the node computes by other operators"
    assert (caught.value.code, caught.value.why, caught.value.help) == ("C208", "no adapter is written for it", help)


@pytest.mark.parametrize("instead", ["", "convert to com.acme 3"])
def test_a_refusal_of_an_adapter_may_name_another_target(folder, instead):
    stated = "adapters: {up: derived, down: written}\n  like"
    text = OPERATOR.replace("adapters: {up: derived, down: derived}\n  like", stated)
    (folder / "com.acme" / "Scale.yaml").write_text(text)

    @down("Scale", since=2, domain="com.acme")
    def scale_2_down(op, node):
        raise Refusal("C204", "so it is", instead=instead)

    try:
        with pytest.raises(ConversionError) as caught:
            moved(folder, 2, 1, step=5)
    finally:
        unregister("down", "com.acme", "Scale")
    assert (caught.value.why, caught.value.help) == ("so it is", instead or "convert to com.acme 2 or newer")


def test_attributes_are_checked_also_where_nothing_moves(folder):
    with pytest.raises(ConversionError, match="'way' is 'sideways'") as raised:
        moved(folder, 2, 2, way="sideways", step=5)
    assert raised.value.code == "C103"


def test_an_attribute_that_alone_keeps_a_node_from_crossing_is_refused(tmp_path):
    (tmp_path / "com.acme").mkdir()
    lines = [
        "operator: Scale", "family: acme", "versions:", "- since: 2", "  change:",
        "    attributes: {gone: {removed: string}}", "    adapters: {up: derived, down: derived}", "  doc: Scales.",
        "  inputs: [{name: X, type: tensor(float), doc: x}]", "  outputs: [{name: Y, type: tensor(float), doc: y}]",
        "  shape: same(X)", "- since: 1", "  like: 2",
        "  attributes: {gone: {type: string, doc: a name}}", "",
    ]  # fmt: skip
    (tmp_path / "com.acme" / "Scale.yaml").write_text("\n".join(lines))
    assert moved(tmp_path, 1, 2) == ("Scale", {})
    with pytest.raises(ConversionError) as caught:
        moved(tmp_path, 1, 2, gone="a")
    assert (caught.value.code, caught.value.why) == ("C204", "the attribute 'gone' has no equal at version 2")


PICK = """\
operator: Pick
family: acme
versions:
- since: 2
  change:
    attributes:
      count: {removed: int, input: K}
      far: {removed: float, input: F}
      few: {removed: ints, input: N}
      gone: {removed: string, input: E}
      kept: {removed: int, ignored: true}
      only: {added: int, default: 1, only_for: [bfloat16, string]}
      way: {type: [string, int]}
      at: {negative: true}
      turn: {negative: true}
    inputs: {added: [K, F, N, E]}
    outputs: {added: [Z]}
    adapters: {up: derived, down: derived}
  doc: Picks.
  inputs:
  - {name: X, type: tensor(float), doc: values}
  - {name: K, type: T, doc: how many}
  - {name: F, type: tensor(double), optional: true, doc: how far}
  - {name: N, type: tensor(int64), optional: true, doc: which}
  - {name: E, type: tensor(float), optional: true, doc: what else}
  - {name: G, type: tensor(float), optional: true, doc: what else}
  outputs:
  - {name: Y, type: tensor(float), doc: the result}
  - {name: Z, type: tensor(float), optional: true, doc: the rest}
  attributes:
    at: {type: int, doc: axis}
    only: {type: int, default: 1, doc: how bfloat16 is rounded}
    turn: {type: int, doc: axis}
    way: {type: int, doc: direction}
  types: {T: [int64, string]}
  shape: same(X)
- since: 1
  like: 2
  inputs: [X]
  outputs: [Y]
  attributes:
    count: {type: int, doc: how many}
    far: {type: float, doc: how far}
    few: {type: ints, required: true, doc: which}
    gone: {type: string, doc: a name}
    kept: {type: int, doc: nothing}
    only: null
    turn: {type: int, range: ">= 0", constraint: C1, doc: axis}
    way: {type: string}
  types: null
"""


@pytest.mark.parametrize(
    ("to", "nodes", "code", "why"),
    [
        (2, "y = com.acme.Pick <few = [1], count = 1, gone = 'a'> (x)", "C204", "'gone' has no equal at version 2"),
        (2, "y = com.acme.Pick <few = [1], count = 1, way = 'a'> (x)", "C204", "'way' has no equal at version 2"),
        (2, "y = com.acme.Pick <few = [1]> (x)", "C204", "'count' is absent, and its input is required at version 2"),
        (2, "y = com.acme.Pick <few = [1], count = 1, far = 0.5> (x)", "C202", "'far' cannot become the input 'F'"),
        (1, "y = com.acme.Pick (x, one)", "C204", "the input 'N' is absent"),
        (1, "y = com.acme.Pick (x, word, , one)", "C202", "the input 'K' is of type string"),
        (1, "y = com.acme.Pick <only = 0> (x, word, , one)", "C204", "'only' is 0; version 1 has no such attribute"),
        (1, "y = com.acme.Pick (x, two, , one)", "C204", "the input 'K' is no single number"),
        (1, "y = com.acme.Pick (x, one, , one, x)", "C204", "the input 'E' does not exist at version 1"),
        (1, "y = com.acme.Pick (x, one, , one, x, x)", "C204", "the input 'G' does not exist at version 1"),
        (1, "a, z = com.acme.Pick (x, one, , one) y = Add (a, z)", "C204", "the output 'Z' does not exist at"),
        (1, "z = Abs (x) y = com.acme.Pick <turn = -2> (z, one, , one)", "C103", "axis -2 is out of range for rank 1"),
        (1, "y = com.acme.Pick <at = 0, turn = -2> (x, one, , one)", "C103", "axis -2 is out of range for rank 1"),
    ],
)
def test_attributes_and_inputs_that_do_not_become_each_other(tmp_path, to, nodes, code, why):
    model = picking(tmp_path, 3 - to, nodes)
    with pytest.raises(ConversionError) as raised:
        opset.convert(model, {"com.acme": to}, schemas=[tmp_path])
    (finding,) = raised.value.findings
    assert finding.code == code and why in finding.why


def picking(folder, version, nodes):
    """Return a model with nodes of a version of Pick, whose file is written to a folder."""
    (folder / "com.acme").mkdir()
    (folder / "com.acme" / "Pick.yaml").write_text(PICK)
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13, "com.acme": {version}]> g (float[2] x) => (float[2] y) '
        '<int64[1] one = {1}, int64[2] two = {1, 2}, string[1] word = {"a"}> { ' + nodes.replace("'", '"') + " }"
    )


def test_an_attribute_of_other_types_is_left_out_where_an_input_is_absent(tmp_path):
    model = picking(tmp_path, 2, "y = com.acme.Pick <only = 0> (x, one, , one)")
    (node,) = opset.convert(model, {"com.acme": 1}, schemas=[tmp_path]).graph.node
    assert sorted(each.name for each in node.attribute) == ["count", "few"]


@pytest.mark.parametrize(("at", "turn"), [(-1, -1), (0, -1), (-1, 0), (0, 0)])
def test_axes_are_counted_from_the_front_where_the_older_version_has_no_others(tmp_path, at, turn):
    """Whether the older version says so of the attribute, as of turn, or leaves it open, as of at."""
    model = picking(tmp_path, 2, f"y = com.acme.Pick <at = {at}, turn = {turn}> (x, one, , one)")
    (node,) = opset.convert(model, {"com.acme": 1}, schemas=[tmp_path]).graph.node
    found = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    assert found == {"at": 0, "turn": 0, "count": 1, "few": [1]}


TYPED = """\
operator: Typed
family: acme
versions:
- since: 2
  change: {adapters: {up: derived, down: derived}}
  doc: Takes two values.
  inputs:
  - {name: A, type: TYPE_A, doc: one}
  - {name: B, type: TYPE_B, doc: another}
  outputs: [{name: Y, type: tensor(float), doc: the result}]
  types: {TYPES}
- since: 1
  like: 2
  inputs:
  - {name: A, type: T, doc: one}
  - {name: B, type: U, doc: another}
  types: {T: [BEFORE], U: [BEFORE]}
"""


@pytest.mark.parametrize(
    ("a", "b", "types", "before", "restricted"),
    [
        ("tensor(float)", "tensor(float)", "{}", "float, int32", [0, 1]),  # int32 is allowed no more
        ("T", "T", "{T: [float, int32]}", "float, int32", [0, 1]),  # they have to be of one type
        ("T", "U", "{T: [float, int32], U: [float, int32]}", "float, int32", []),
        ("T", "U", "{T: [float], U: [float, int32]}", "float, int32", [0]),
        ("T", "T", "{T: [float, int32, double]}", "float, int32", [0, 1]),
        ("T", "T", "{T: [float]}", "float", []),
        ("T", "T", "{T: [float, int32]}", "float", [0, 1]),
    ],
)
def test_inputs_whose_types_the_target_may_not_allow(a, b, types, before, restricted, tmp_path):
    (tmp_path / "com.acme").mkdir()
    text = TYPED.replace("TYPE_A", a).replace("TYPE_B", b).replace("{TYPES}", types)
    text = text.replace("BEFORE", before)
    (tmp_path / "com.acme" / "Typed.yaml").write_text(text)
    source, target = registry_with([tmp_path]).versions("Typed", "com.acme")
    found = derive_adapter(source, target, target.change).type_restrictions
    assert [each.position for each in found] == restricted
    assert not any(each.outputs or each.variadic for each in found)


def test_the_types_of_each_call_have_to_be_allowed(tmp_path):
    """The first call has the types of other nodes, the second one has not."""
    (tmp_path / "com.acme").mkdir()
    text = TYPED.replace("TYPE_A", "tensor(float)").replace("TYPE_B", "tensor(float)").replace("{TYPES}", "{}")
    (tmp_path / "com.acme" / "Typed.yaml").write_text(text.replace("BEFORE", "float, int32"))
    calls = "t = com.acme.Typed (x, x)  s = d.E (t)  u = d.F (s)  y = d.F (i)"
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["com.acme": 1, "d": 1]> g (float[2] x, int32[2] i) => (float[2] y) {{
            {calls} }}
        <domain: "d", opset_import: ["com.acme": 1]> F (a) => (b) {{ b = com.acme.Typed (a, a) }}
        <domain: "d", opset_import: ["com.acme": 1]> E (a) => (b) {{ b = com.acme.Typed (a, a) }}"""
    )
    with pytest.raises(ConversionError, match="int32") as raised:
        opset.convert(model, {"com.acme": 2}, schemas=[tmp_path])
    assert [each.code for each in raised.value.findings] == ["C202"]
    model.graph.node[3].input[0] = "u"
    assert opset.convert(model, {"com.acme": 2}, schemas=[tmp_path]).opset_import[0].version == 2


def test_only_the_type_of_an_input_that_has_fewer_types_has_to_be_known(tmp_path):
    (tmp_path / "com.acme").mkdir()
    text = TYPED.replace("TYPE_A", "T").replace("TYPE_B", "U").replace("{TYPES}", "{T: [float], U: [float, int32]}")
    (tmp_path / "com.acme" / "Typed.yaml").write_text(text.replace("BEFORE", "float, int32"))
    for inputs, codes in (("x, u", []), ("u, x", ["C203"])):
        model = parser.parse_model(
            f"""<ir_version: 8, opset_import: ["com.acme": 1, "d": 1]> g (float[2] x) => (float[2] y) {{
                u = d.Unknown (x) y = com.acme.Typed ({inputs}) }}"""
        )
        assert [each.code for each in opset.plan(model, {"com.acme": 2}, schemas=[tmp_path]).refusals] == codes


ALONE = """\
operator: Alone
family: acme
versions:
- since: 2
  change: {attributes: {CHANGE}, adapters: {up: derived, down: derived}}
  doc: Has few attributes.
  inputs: [{name: X, type: tensor(float), doc: x}]
  outputs: [{name: Y, type: tensor(float), doc: y}]
  attributes: {NEWER}
  shape: same(X)
- since: 1
  like: 2
  attributes: {OLDER}
"""


@pytest.mark.parametrize(
    ("newer", "older", "change", "up", "down"),
    [
        ("a: {type: int, default: 2, doc: a}", "a: {default: 1}", "a: {default: [1, 2]}", {"a": 1}, {"a": 2}),
        ("a: {type: int, default: 2, doc: a}", "a: {default: null}", "a: {default: [null, 2], old: 1}",
         {"a": 1}, {"a": 2}),
        ("a: {type: int, default: 2, doc: a}", "a: null", "a: {added: int, old: 1}", {"a": 1},
         "'a' is 2 by default; version 1 has no such attribute"),
        ("a: {type: int, default: 2, doc: a}", "a: null", "a: {added: int}", {}, {}),
        ("a: {type: int, default: 2, doc: a}", "a: null", "a: {added: int, renamed: z}", {}, {}),
        ("a: {type: int, default: 2, doc: a}", "a: {default: 1}", "z: {renamed: a}, a: {default: [1, 2]}",
         {"a": 1}, {"a": 2}),
        ("a: {type: int, doc: a}", "a: {type: string}", "a: {type: [string, int]}", {}, {}),
        ("a: {type: int, default: 1, doc: a}", "a: {type: string, default: x}", "a: {type: [string, int]}",
         "the attribute 'a' has no equal at version 2", "the attribute 'a' has no equal at version 1"),
        ("a: {type: int, required: true, doc: a}", "a: null", "a: {added: int}",
         "the attribute 'a' is absent, and version 2 requires it",
         "the attribute 'a' is missing: Alone 2 requires it"),
    ],
)  # fmt: skip
def test_what_an_absent_attribute_means_is_stated_though_nothing_else_changes(tmp_path, newer, older, change, up, down):
    (tmp_path / "com.acme").mkdir()
    text = ALONE.replace("CHANGE", change).replace("NEWER", newer).replace("OLDER", older)
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text)
    for version, expected in ((1, up), (2, down)):
        model = scale(version)
        model.graph.node[0].op_type = "Alone"
        if isinstance(expected, str):
            with pytest.raises(ConversionError) as caught:
                opset.convert(model, {"com.acme": 3 - version}, schemas=[tmp_path])
            assert caught.value.code == ("C103" if "missing" in expected else "C204") and expected in caught.value.why
            continue
        (node,) = opset.convert(model, {"com.acme": 3 - version}, schemas=[tmp_path]).graph.node
        assert {each.name: each.i for each in node.attribute} == expected


@pytest.mark.parametrize(
    ("newer", "older", "change", "version", "node", "after"),
    [
        ("", "a: {type: int, doc: a}", "a: {removed: int, ignored: true}", 1, "<a = 3>", {}),
        ("a: {type: int, doc: a}", "a: null", "a: {added: int, old: 1}", 2, "<a = 1>", {}),
        ("a: {type: int, doc: a}", "a: null", "a: {added: int, old: 1}", 2, "<a = 2>",
         "'a' is 2; version 1 has no such attribute"),
        ("a: {type: ints, doc: a}", "a: null", "a: {added: ints, old: {all: 1}}", 2, "<a = [1, 1]>", {}),
        ("a: {type: ints, doc: a}", "a: null", "a: {added: ints, old: {all: 1}}", 2, "<a = [1, 2]>",
         "'a' is [1, 2]; version 1 has no such attribute"),
        ("a: {type: tensor, doc: a}", "a: null", "a: {added: tensor}", 2, "<a = float[1] {3}>",
         "'a' is given; version 1 has no such attribute"),
        ("a: {type: int, doc: a}", "a: {doc: b}", "a: {undefined: 4}", 1, "<a = 4>",
         "'a' is 4, which has no meaning before 2"),
        ("a: {type: int, doc: a}", "a: {doc: b}", "a: {undefined: 4}", 1, "<a = 3>", {"a": 3}),
        ("a: {type: int, doc: a}", "a: {doc: b}", "a: {undefined: 4}", 2, "<a = 4>", {"a": 4}),
        ("a: {type: int, kind: data_type, doc: a}", "a: {doc: b}", "", 2, "<a = 99>", {"a": 99}),
    ],
)  # fmt: skip
def test_one_change_alone_decides_of_what_a_node_states(tmp_path, newer, older, change, version, node, after):
    (tmp_path / "com.acme").mkdir()
    text = ALONE.replace("CHANGE", change).replace("NEWER", newer).replace("OLDER", older)
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text)
    model = scale(version)
    model.graph.node[0].CopyFrom(parser.parse_node(f"y = com.acme.Alone {node} (x)"))
    conversion = opset.plan(model, {"com.acme": 3 - version}, schemas=[tmp_path])
    assert [each.why for each in conversion.refusals] == ([after] if isinstance(after, str) else [])
    if not conversion.refusals:
        (made,) = opset.convert(model, {"com.acme": 3 - version}, schemas=[tmp_path]).graph.node
        assert {each.name: each.i for each in made.attribute} == after


NARROW = """\
operator: Narrow
family: acme
versions:
- since: 2
  change: {adapters: {up: derived, down: derived}}
  doc: Takes more.
  inputs:
  - {name: A, type: tensor(float), optional: true, doc: a}
  - {name: B, type: tensor(float), optional: true, doc: b}
  - {name: C, type: tensor(float), optional: true, doc: c}
  outputs:
  - {name: X, type: tensor(float), doc: x}
  - {name: Y, type: tensor(float), optional: true, doc: y}
  - {name: Z, type: tensor(float), optional: true, doc: z}
  - {name: W, type: tensor(float), optional: true, doc: w}
- since: 1
  like: 2
  inputs: [A, {name: B, optional: null}]
  outputs: [X]
"""


@pytest.mark.parametrize(
    ("inputs", "outputs", "read", "after"),
    [
        ("a, b", "x", "", None),
        (", b", "x", "", None),
        ('a, b, ""', "x", "", ("a b", "x")),
        ("a, b, c", "x", "", "the input 'C' does not exist at version 1"),
        ("a, b", "x, y, z", "", ("a b", "x")),
        (", b", "x, y, z, w", "", (" b", "x")),
        ("a, b", "x, , z", "", ("a b", "x")),
        ("a, b", "x, y, z", "y", "the output 'Y' does not exist at version 1"),
        ("a, b", "x, , z", "z", "the output 'Z' does not exist at version 1"),
        ("a, b", "x, y, z", "z", "the output 'Z' does not exist at version 1"),
        ("a, b", "x, y, z, w", "z", "the output 'Z' does not exist at version 1"),
        ("a", "x", "", "the node has 1 input: Narrow 1 has 2"),
        ('a, ""', "x", "", "the input 'B' is missing: Narrow 1 requires it"),
    ],
)
def test_a_version_with_fewer_inputs_and_outputs(tmp_path, inputs, outputs, read, after):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Narrow.yaml").write_text(NARROW)
    more = f"q = Abs ({read})" if read else ""
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 13, "com.acme": 2]> g (float a, float b, float c) => (float x)
            {{ {outputs} = com.acme.Narrow ({inputs}) {more} }}"""
    )
    conversion = opset.plan(model, {"com.acme": 1}, schemas=[tmp_path])
    assert [each.why for each in conversion.refusals] == ([after] if isinstance(after, str) else [])
    if not conversion.refusals:
        assert len(conversion.actions) == (after is not None)
        made = opset.convert(model, {"com.acme": 1}, schemas=[tmp_path]).graph.node[0]
        found = " ".join(made.input), " ".join(made.output)
        assert found == (after or (inputs.replace(",", ""), outputs))


def test_an_input_in_the_midst_that_is_no_longer_optional(tmp_path):
    (tmp_path / "com.acme").mkdir()
    lines = NARROW.replace("[A, {name: B, optional: null}]", "[{name: A, optional: null}, B, C]")
    lines = lines.replace("{name: B, type: tensor(float), optional: true,", "{name: B, type: tensor(float),")
    (tmp_path / "com.acme" / "Narrow.yaml").write_text(lines.replace("outputs: [X]", "outputs: [X, Y, Z, W]"))
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["com.acme": 2]> g (float b) => (float x)
            { x = com.acme.Narrow ( , b) }"""
    )
    (found,) = opset.plan(model, {"com.acme": 1}, schemas=[tmp_path]).refusals
    assert (found.code, found.why) == ("C204", "the input 'A' is missing: Narrow 1 requires it")


BECOMES = """\
operator: Becomes
family: acme
versions:
- since: 2
  change:
    attributes:
      axes: {removed: ints, input: A}
      count: {removed: int, input: N}
      scales: {removed: floats, input: S}
      turn: {negative: true}
    inputs: {added: [S, N, A]}
    adapters: {up: derived, down: derived}
  doc: Has inputs that were attributes.
  inputs:
  - {name: X, type: tensor(float), doc: x}
  - {name: S, type: tensor(float), optional: true, doc: s}
  - {name: N, type: tensor(int64), optional: true, doc: n}
  - {name: A, type: tensor(int64), optional: true, doc: a}
  outputs: [{name: Y, type: tensor(float), doc: y}]
  attributes:
    turn: {type: int, doc: axis}
  shape: same(X)
- since: 1
  like: 2
  inputs: [X]
  attributes:
    axes: {type: ints, doc: axes}
    count: {type: int, range: ">= 0", constraint: C1, doc: count}
    scales: {type: floats, doc: scales}
"""
SCALES = "s = Constant <value_floats = [0.5, 1.5]> () "
COUNTS = "n = Constant <value_int = 3> () "
AXES = "a = Constant <value_ints = [0]> () "


@pytest.mark.parametrize(
    ("node", "nodes"),
    [
        (
            "<scales = [0.5, 1.5], count = 3, axes = [0]> (x)",
            f"{SCALES}{COUNTS}{AXES}y = com.acme.Becomes (x, s, n, a)",
        ),
        ("<axes = [0]> (x)", f"{AXES}y = com.acme.Becomes (x, , , a)"),
        ("<scales = [0.5, 1.5]> (x)", f"{SCALES}y = com.acme.Becomes (x, s)"),
        ("(x)", "y = com.acme.Becomes (x)"),
    ],
)
def test_attributes_become_inputs_and_inputs_attributes(tmp_path, node, nodes):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Becomes.yaml").write_text(BECOMES)
    older = becoming(1, f"y = com.acme.Becomes {node}")
    up = opset.convert(older, {"com.acme": 2}, schemas=[tmp_path])
    constants = [node.attribute[0] for node in up.graph.node[:-1]]
    stated = [each.attribute[0] for each in becoming(2, nodes).graph.node[:-1]]
    assert sorted([*each.t.dims] for each in constants) == sorted(
        [len(each.ints or each.floats)] * (each.name != "value_int") for each in stated
    )
    assert [bool(name) for name in up.graph.node[-1].input] == [
        bool(name) for name in becoming(2, nodes).graph.node[-1].input
    ]
    assert not up.graph.node[-1].attribute
    for newer in (up, becoming(2, nodes)):
        down = opset.convert(newer, {"com.acme": 1}, schemas=[tmp_path])
        found, given = down.graph.node[-1], older.graph.node[-1]
        assert (found.input, sorted(found.attribute, key=str)) == (given.input, sorted(given.attribute, key=str))


def becoming(version, nodes):
    """Return a model with nodes of opset 13 and of a version of Becomes."""
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13, "com.acme": {version}, "d": 1]> g (float[2] x) => (float[2] y) '
        "{ " + nodes + " }"
    )


@pytest.mark.parametrize(
    ("nodes", "code", "why"),
    [
        ("n = Constant <value_int = -1> () y = com.acme.Becomes (x, , n)", "C204",
         "the attribute 'count' is -1; at version 1 it has to be >= 0"),
        ("u = d.Unknown (x) y = com.acme.Becomes <turn = -1> (u)", "C207", "the rank of 'u' is not known"),
        ("u = d.Unknown (x) s = Identity (x) y = com.acme.Becomes <turn = -1> (u, s)", "C207",
         "the rank of 'u' is not known"),
        ("y = com.acme.Becomes <turn = 1> (x)", None, None),
        ("y = com.acme.Becomes <turn = -2> (x)", "C103", "axis -2 is out of range for rank 1"),
    ],
)  # fmt: skip
def test_inputs_and_axes_that_an_older_version_does_not_have(tmp_path, nodes, code, why):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Becomes.yaml").write_text(BECOMES)
    found = opset.plan(becoming(2, nodes), {"com.acme": 1}, schemas=[tmp_path]).refusals
    assert [(each.code, each.why) for each in found] == ([(code, why)] if code else [])


def test_a_change_of_an_attribute_that_no_version_has_changes_nothing(tmp_path):
    (tmp_path / "com.acme").mkdir()
    text = ALONE.replace("CHANGE", "b: {renamed: a}, c: {renamed: d}, e: {old: 1}").replace("NEWER", "")
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text.replace("OLDER", "a: {type: int, doc: a}"))
    older, newer = registry_with([tmp_path]).versions("Alone", "com.acme")
    for source, target, unsupported in ((older, newer, ("a",)), (newer, older, ())):
        derived = derive_adapter(source, target, newer.change)
        assert (derived.unsupported, derived.rewrite, derived.set_defaults) == (unsupported, (), ())


def test_standard_operators_that_a_model_needs_are_of_the_newest_opset_of_its_ir_version(tmp_path):
    model = picking(tmp_path, 1, "y = com.acme.Pick <few = [1], count = 1> (x)")
    del model.opset_import[0]
    for ir_version, opset_version in ((4, 9), (8, 18), (10, 22)):
        model.ir_version = ir_version
        after = opset.convert(model, {"com.acme": 2}, schemas=[tmp_path])
        assert {each.domain: each.version for each in after.opset_import} == {"com.acme": 2, "": opset_version}


@pytest.mark.parametrize(("version", "made"), [(8, ["Constant", "Cast", "Pick"]), (13, ["Constant", "Pick"])])
def test_standard_operators_that_a_function_needs_are_of_the_opset_that_it_imports(tmp_path, version, made):
    model = picking(tmp_path, 1, "y = d.F (x)")
    del model.graph.initializer[:], model.opset_import[0]
    model.opset_import.add(domain="d", version=1)
    model.functions.append(
        parser.parse_function(
            f'<opset_import: ["": {version}, "com.acme": 1], domain: "d"> F (a) => (b) '
            "{ b = com.acme.Pick <few: ints = [], count = 1> (a) }"
        )
    )
    (function,) = opset.convert(model, {"com.acme": 2}, schemas=[tmp_path]).functions
    assert [each.op_type for each in function.node][-len(made) :] == made
    assert {each.domain: each.version for each in function.opset_import} == {"": version, "com.acme": 2}


def test_an_absent_attribute_that_is_required_with_another_type_has_no_equal(tmp_path):
    (tmp_path / "com.acme").mkdir()
    text = ALONE.replace("CHANGE", "a: {type: [string, int], required: [false, true]}")
    text = text.replace("NEWER", "a: {type: int, required: true, doc: a}")
    text = text.replace("OLDER", "a: {type: string, required: null}")
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text)
    model = scale(1)
    model.graph.node[0].op_type = "Alone"
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, {"com.acme": 2}, schemas=[tmp_path])
    assert (caught.value.code, caught.value.why) == ("C204", "the attribute 'a' has no equal at version 2")


@pytest.mark.parametrize(
    ("newer", "older", "change", "moves"),
    [
        ("a: {type: string, kind: any_case, choices: [full, half], doc: a}", "a: {choices: [F, H]}",
         "a: {values: {F: full, H: half}}", [(1, "h", "half"), (1, "H", "half"), (2, "FULL", "F")]),
        ("a: {type: string, choices: [up, down], doc: a}", "a: {choices: [pu, up]}", "a: {values: {pu: up}}",
         [(1, "pu", "up"), (1, "up", "up"), (2, "up", "up")]),
        ("a: {type: string, choices: [f, h], doc: a}", "a: {kind: any_case}", "", [(1, "H", "h"), (2, "h", "h")]),
        ("a: {type: strings, choices: [f, h], doc: a}", "a: {kind: any_case}", "", [(1, ["H", "f"], ["h", "f"])]),
        ("a: {type: string, kind: any_case, choices: [f, h], doc: a}", "a: {doc: a}", "", [(1, "H", "H")]),
    ],
)  # fmt: skip
def test_words_in_any_case_are_known_and_written_as_the_target_version_takes_them(
    tmp_path, newer, older, change, moves
):
    (tmp_path / "com.acme").mkdir()
    text = ALONE.replace("CHANGE", change).replace("NEWER", newer).replace("OLDER", older)
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text)
    for version, before, after in moves:
        model = scale(version, a=before)
        model.graph.node[0].op_type = "Alone"
        (node,) = opset.convert(model, {"com.acme": 3 - version}, schemas=[tmp_path]).graph.node
        found = helper.get_attribute_value(node.attribute[0])
        assert ([each.decode() for each in found] if isinstance(found, list) else found.decode()) == after


def test_a_bug_in_a_function_of_inference_is_no_fault_of_the_node(tmp_path):
    """Softmax asks for a rank, so that the types of all nodes are inferred."""
    (tmp_path / "com.acme").mkdir()
    change = "b: {added: float, renamed: a}, a: {removed: float}"
    text = (
        ALONE.replace("CHANGE", change).replace("NEWER", "b: {type: float, doc: a}").replace("  shape: same(X)\n", "")
    )
    (tmp_path / "com.acme" / "Alone.yaml").write_text(text.replace("OLDER", "a: {type: float, doc: a}, b: null"))
    (tmp_path / "com.acme" / "inference.py").write_text(
        "from opset.extend import infer\n"
        'for since in (1, 2):\n    infer("Alone", since=since, domain="com.acme")(lambda call: 1 / 0)\n'
    )
    model = parser.parse_model("""<ir_version: 7, opset_import: ["": 11, "com.acme": 2]>
        g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
            r = Relu (x) z = Softmax (r) y = com.acme.Alone <b = 3.0> (x) }""")
    *_, node = opset.convert(model, {"": 13, "com.acme": 1}, schemas=[tmp_path]).graph.node
    assert [(each.name, each.f) for each in node.attribute] == [("a", 3.0)]


NEEDS = """\
operator: Needs
family: acme
versions:
- since: 2
  change: {attributes: {CHANGE}, adapters: {up: derived, down: derived}}
  doc: Has what another version needs.
  inputs: [{name: X, type: tensor(float), doc: values}]
  outputs: [{name: Y, type: tensor(float), doc: the result}]
  attributes: {}
  NEWER
- since: 1
  doc: Has what another version needs.
  inputs: [{name: X, type: tensor(float), doc: values}]
  outputs: [{name: Y, type: tensor(float), doc: the result}]
  attributes: {}
  OLDER
"""
MANY = "inputs: [{name: X, type: tensor(float), variadic: true, doc: values}]"


@pytest.mark.parametrize(
    ("lacks", "has", "why"),
    [
        ("attributes: {a: {type: int, doc: a}}", "attributes: {a: {type: int, required: true, doc: a}}",
         "the attribute 'a' is absent, and version TO requires it"),
        ("attributes: {b: {type: int, doc: b}}", "attributes: {a: {type: int, required: true, doc: a}}",
         "the attribute 'b' is absent, and version TO requires 'a'"),
        ("attributes: {a: {type: int, default: 0, doc: a}}",
         "attributes: {a: {type: int, default: 1, range: '>= 1', constraint: C1, doc: a}}",
         "the attribute 'a' is 0; at version TO it has to be >= 1"),
        ("attributes: {a: {type: string, default: z, doc: a}}",
         "attributes: {a: {type: string, default: x, choices: [x, y], constraint: C1, doc: a}}",
         "the attribute 'a' is 'z'; at version TO it has to be x or y"),
        ("", "inputs: [{name: X, type: tensor(float), doc: x}, {name: W, type: tensor(float), doc: w}]",
         "the node has 1 input: Needs TO has 2"),
        (MANY, MANY.replace("true", "true, min_arity: 2"), "the node has 1 input: Needs TO has 2 or more"),
        ("", "outputs: [{name: Y, type: tensor(float), doc: y}, {name: Z, type: tensor(float), doc: z}]",
         "the node has 1 output: Needs TO has 2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("to", [1, 2])
def test_a_node_without_what_the_target_version_needs_is_refused(tmp_path, lacks, has, why, to):
    change = ""
    if "{b:" in lacks:  # it is renamed
        old, new = "ba" if to == 2 else "ab"
        change = f"{new}: {{added: int, renamed: {old}}}, {old}: {{removed: int}}"
    blocks = NEEDS.replace("CHANGE", change).split("- since: ")
    for index, key in ((to, has), (3 - to, lacks)):
        block = blocks[3 - index].replace("NEWER", key).replace("OLDER", key)
        given = [line for line in block.splitlines() if line.strip()]
        name = key.partition(":")[0]
        blocks[3 - index] = "\n".join(
            line for line in given if line == f"  {key}" or line.split(":")[0].strip() != name
        )
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Needs.yaml").write_text("\n- since: ".join(blocks))
    model = scale(3 - to)
    model.graph.node[0].op_type = "Needs"
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, {"com.acme": to}, schemas=[tmp_path])
    assert caught.value.code == "C204" and why.replace("TO", str(to)) in caught.value.why
