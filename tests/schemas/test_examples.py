"""Examples in operator files: what they say, what is refused and where, and that they print and compile as they are."""

import json
import math

import pytest

from opset.errors import SchemaError
from opset.opsets.registry import default_registry, registry_with
from opset.schemas.example import Example, ExampleValue, example_versions, make_examples
from opset.schemas.index import FOLDER, compile_operators
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import load_operator, load_sets, read_operator

SETS = load_sets(FOLDER / "types.yaml")
HEAD = """\
operator: Any
family: acme
versions:
- since: 3
  change:
    types: {T: [+int4]}
    adapters: {up: derived, down: derived}
  doc: Anything.
  inputs:
  - {name: X, type: T, variadic: true, heterogeneous: true, min_arity: 0, doc: values}
  outputs:
  - {name: Y, type: T, variadic: true, heterogeneous: true, min_arity: 0, doc: values}
  attributes:
    body: {type: graph, doc: a graph}
    by: {type: float, doc: a number}
    bys: {type: floats, doc: numbers}
    kind: {type: type_proto, doc: a type}
    name: {type: string, doc: a word}
    size: {type: ints, doc: sizes}
    sparse: {type: sparse_tensor, doc: a sparse tensor}
    value: {type: tensor, doc: a tensor}
    values: {type: tensors, doc: tensors}
  types:
    T: &
  constraints:
    C1: it is so
    C2: it is otherwise
- since: 1
  like: 3
  inputs:
  - X
  outputs:
  - {name: Y, type: tensor(float), heterogeneous: null}
  attributes: {body: null, by: null, bys: null, kind: null, name: {required: true}, size: null, sparse: null,
    value: null, values: null}
  types:
    T: [float]
  constraints: {C1: it was so, C2: null}
examples:
"""
EVERY = "[tensors, int4, seq(tensors), optional(tensors), optional(seq(tensors)), "
EVERY += '"map(int64, float)", "map(string, tensor(float))", "seq(map(string, float))"]'
HEAD = HEAD.replace("&", EVERY)


def load(folder, examples):
    (folder / "com.acme").mkdir(exist_ok=True)
    path = folder / "com.acme" / "Any.yaml"
    path.write_text(HEAD + examples)
    return load_operator(path, SETS)


def value(text):
    return f"- {{name: a, since: 3, inputs: [{text}], outputs: []}}\n"


def tensor(element, content, *shape):
    return ExampleValue(f"tensor({element})", content, shape)


VALUES = {
    "{float: [[1, 2.5], [3, 4]]}": tensor("float", [1, 2.5, 3, 4], 2, 2),
    "{float: -0.0}": tensor("float", -0.0),
    "{float: [.nan, .inf, -.inf]}": tensor("float", [math.nan, math.inf, -math.inf], 3),
    "{float: []}": tensor("float", [], 0),
    "{float: [[], []]}": tensor("float", [], 2, 0),
    "{float: [], shape: [0, 3]}": tensor("float", [], 0, 3),
    "{float: [1, 2], shape: [2, 1]}": tensor("float", [1, 2], 2, 1),
    "{float: 1.5, shape: [2, 3]}": tensor("float", 1.5, 2, 3),
    "{float: 1.5, shape: []}": tensor("float", 1.5),
    "{uint8: 0..5, shape: [2, 3]}": tensor("uint8", [0, 1, 2, 3, 4, 5], 2, 3),
    '{int8: "-1..1"}': tensor("int8", [-1, 0, 1], 3),
    "{string: 0..5}": tensor("string", "0..5"),
    '{string: [a, "1", ""]}': tensor("string", ["a", "1", ""], 3),
    "{bool: [true, false]}": tensor("bool", [True, False], 2),
    "{int4: [-8, 7]}": tensor("int4", [-8, 7], 2),
    "{uint64: 18446744073709551615}": tensor("uint64", 2**64 - 1),
    '{complex64: [[1+2j, "-1j", 3]]}': tensor("complex64", ["1+2j", "-1j", 3], 1, 3),
    "{tensor(float): 1}": tensor("float", 1),
    "null": None,
    "{seq(float): []}": ExampleValue("seq(tensor(float))", []),
    "{seq(float): [[1, 2], 3, {value: [], shape: [0, 2]}, 1..2]}": ExampleValue(
        "seq(tensor(float))",
        [tensor("float", [1, 2], 2), tensor("float", 3), tensor("float", [], 0, 2), tensor("float", [1, 2], 2)],
    ),
    "{optional(float): null}": ExampleValue("optional(tensor(float))", None),
    "{optional(float): [1]}": ExampleValue("optional(tensor(float))", tensor("float", [1], 1)),
    "{optional(seq(bool)): [true]}": ExampleValue(
        "optional(seq(tensor(bool)))", ExampleValue("seq(tensor(bool))", [tensor("bool", True)])
    ),
    '{"map(int64, float)": {"1": 0.5, "-2": 3}}': ExampleValue("map(int64, float)", {1: 0.5, -2: 3}),
    '{"map(string, tensor(float))": {a: [1], type: 2}}': ExampleValue(
        "map(string, tensor(float))", {"a": tensor("float", [1], 1), "type": tensor("float", 2)}
    ),
    '{"seq(map(string, float))": [{type: 1, content: 2, shape: 3}, {}]}': ExampleValue(
        "seq(map(string, float))",
        [
            ExampleValue("map(string, float)", {"type": 1, "content": 2, "shape": 3}),
            ExampleValue("map(string, float)", {}),
        ],
    ),
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text, tmp_path):
    operator = load(tmp_path, value(text))
    (example,) = operator.examples
    assert repr(example) == repr(Example("a", 3, inputs=(VALUES[text],), outputs=()))
    assert dump_operator(operator).partition("examples:\n")[2] == value(text)
    compiled = json.loads(json.dumps(compile_operators([operator], {})[2]))
    assert repr(make_examples(compiled, "com.acme", "Any")) == repr(operator.examples)


ATTRIBUTES = {
    'body: "g (float x) => () { }"': "g (float x) => () { }",
    "by: 1": 1.0,
    "by: 0.1": 0.1,
    "bys: [1, .inf]": [1.0, math.inf],
    "kind: seq(float)": "seq(tensor(float))",
    'name: "1"': "1",
    "size: []": [],
    "size: [1, -1]": [1, -1],
    "value: {int64: 1..3}": tensor("int64", [1, 2, 3], 3),
    "values: [{bool: true}, {float: []}]": [tensor("bool", True), tensor("float", [], 0)],
    "sparse: {float: [5, 6], indices: [0, 7], shape: [10]}": ExampleValue(
        "sparse_tensor(float)", {"values": [5, 6], "indices": [0, 7]}, (10,)
    ),
    "sparse: {float: [5], indices: [[0, 1]], shape: [2, 2]}": ExampleValue(
        "sparse_tensor(float)", {"values": [5], "indices": [[0, 1]]}, (2, 2)
    ),
}


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes(text, tmp_path):
    example = f"- {{name: a, since: 3, attributes: {{{text}}}, outputs: []}}\n"
    operator = load(tmp_path, example)
    expected = Example("a", 3, attributes={text.partition(":")[0]: ATTRIBUTES[text]}, outputs=())
    assert repr(operator.examples) == repr((expected,))
    assert dump_operator(operator).partition("examples:\n")[2] == example
    compiled = json.loads(json.dumps(compile_operators([operator], {})[2]))
    assert repr(make_examples(compiled, "com.acme", "Any")) == repr(operator.examples)


def test_everything_that_an_example_says(tmp_path):
    text = """\
- {name: whole, since: 1, until: 1, doc: a phrase, attributes: {name: x}, inputs: [{float: 1}],
   outputs: [{float: null, shape: [2, 3]}, null], tolerance: 0.001}
- {name: wrong, since: 1, attributes: {name: x}, inputs: [], error: C1}
"""
    whole, wrong = load(tmp_path, text).examples
    assert whole == Example(
        name="whole",
        since=1,
        until=1,
        doc="a phrase",
        attributes={"name": "x"},
        inputs=(tensor("float", 1),),
        outputs=(tensor("float", None, 2, 3), None),
        tolerance=0.001,
    )
    assert wrong == Example("wrong", 1, attributes={"name": "x"}, error="C1")
    assert example_versions(whole, (1, 3)) == [1]
    assert example_versions(wrong, (1, 3)) == [1, 3]


def test_an_example_holds_up_to_the_newest_version():
    assert example_versions(Example("a", 7), [1, 7, 13, 21]) == [7, 13, 21]
    assert example_versions(Example("a", 7, 13), [1, 7, 13, 21]) == [7, 13]


def example(text):
    return f"- {{name: a, since: 3, {text}}}\n"


GOOD = "- {name: a, since: 3, outputs: []}\n"
# In the examples of `example`, what is added starts in column 23; of OF_VALUES, in column 32.
BROKEN = {
    "no list": ("  a: 1\n", ["S105 1:3"]),
    "no mapping": ("- 1\n", ["S105 1:3"]),
    "nothing said": ("- {}\n- {}\n", [f"S104 {line}:3" for line in (1, 1, 1, 2, 2, 2)]),
    "unknown key": (example("output: []"), ["S103 1:23", "S104 1:3"]),
    "name": (GOOD.replace("a,", "a b,"), ["S105 1:10"]),
    "twice": (GOOD + GOOD, ["S106 2:10"]),
    "since": (GOOD.replace("3", "2"), ["S107 1:20"]),
    "since as text": (GOOD.replace("3", "'3'"), ["S105 1:20"]),
    "until": (example("until: 4, outputs: []"), ["S107 1:30"]),
    "until before since": (example("until: 1, outputs: []"), ["S105 1:30"]),
    "neither": (example("inputs: []"), ["S104 1:3"]),
    "both": (example("outputs: [], error: C1"), ["S103 1:36"]),
    "unknown constraint": (example("error: C3"), ["S107 1:30"]),
    "constraint of another version": (
        "- {name: a, since: 1, attributes: {name: x}, error: C2}\n",
        ["S107 1:53"],
    ),
    "tolerance": (example("outputs: [], tolerance: -1"), ["S105 1:47"]),
    "tolerance as text": (example("outputs: [], tolerance: high"), ["S105 1:47"]),
    "tolerance as a flag": (example("outputs: [], tolerance: true"), ["S105 1:47"]),
    "tolerance without end": (example("outputs: [], tolerance: .inf"), ["S105 1:47"]),
    "tolerance of an error": (example("error: C1, tolerance: 1"), ["S103 1:34"]),
    "unknown attribute": (example("attributes: {sise: []}, outputs: []"), ["S107 1:36"]),
    "attribute of another version": (
        "- {name: a, since: 1, attributes: {name: x, by: 1}, outputs: [null]}\n",
        ["S107 1:45"],
    ),
    "required attribute": ("- {name: a, since: 1, outputs: [null]}\n", ["S104 1:3"]),
    "required attribute beside others": ("- {name: a, since: 1, attributes: {}, outputs: []}\n", ["S104 1:35"]),
    "attribute type": (
        example("attributes: {name: 1, by: x, size: 1}, outputs: []"),
        ["S105 1:42", "S105 1:49", "S105 1:58"],
    ),
    "tensor attribute": (
        example("attributes: {value: 1, values: {}}, outputs: []"),
        ["S105 1:43", "S105 1:54"],
    ),
    "null attribute": (example("attributes: {value: null}, outputs: []"), ["S105 1:43"]),
    "float attribute": (example("attributes: {by: 1e39}, outputs: []"), ["S105 1:40"]),
    "type attribute": (example("attributes: {kind: seq(flot)}, outputs: []"), ["S107 1:42"]),
    "type of another version": (
        "- {name: a, since: 1, attributes: {name: x}, outputs: [null], inputs: [{int4: 1}]}\n",
        ["S105 1:72"],
    ),
    "sparse": (
        example("attributes: {sparse: {float: [1, 2], indices: [0], shape: [3]}}, outputs: []"),
        ["S105 1:69"],
    ),
    "sparse without shape": (example("attributes: {sparse: {float: [1], indices: [0]}}, outputs: []"), ["S104 1:44"]),
    "sparse scalar": (
        example("attributes: {sparse: {float: 1, indices: [0], shape: [3]}}, outputs: []"),
        ["S105 1:52"],
    ),
}
OF_VALUES = {
    "1": ["S105 1:32"],
    "{}": ["S105 1:32"],
    "{float: 1, int64: 1}": ["S105 1:32"],
    "{flot: 1}": ["S107 1:33"],
    "{sparse_tensor(float): 1}": ["S105 1:55"],
    "{seq(float): [1], shape: [1]}": ["S103 1:50"],
    "{seq(float): 1}": ["S105 1:45"],
    "{seq(float): [{valu: 1}]}": ["S103 1:47", "S104 1:46"],
    "{float: x}": ["S105 1:40"],
    "{float16: [65519, 65520, .inf]}": ["S105 1:50"],
    "{float: true}": ["S105 1:40"],
    "{float: null}": ["S105 1:40"],
    "{float: null, shape: [2]}": ["S105 1:40"],
    "{float: [1, [2]]}": ["S105 1:44"],
    "{float: [[1], 2]}": ["S105 1:46"],
    "{float: [[1], [2, 3]]}": ["S105 1:46"],
    "{float: [[1], [2]], shape: [2]}": ["S105 1:40"],
    "{float: [1, 2], shape: [3]}": ["S105 1:55"],
    "{float: 0..2, shape: [2]}": ["S105 1:53"],
    "{float: 2..0}": ["S105 1:40"],
    "{float: 1, shape: 2}": ["S105 1:50"],
    "{float: 1, shape: [-1]}": ["S105 1:50"],
    "{float: 1, shape: [x]}": ["S105 1:51"],
    f"{{float: 1, shape: [{', '.join('1' * 33)}]}}": ["S105 1:50"],
    "{int4: 8}": ["S105 1:39"],
    "{uint8: -1..2}": ["S105 1:40"],
    "{int64: 1.0}": ["S105 1:40"],
    "{bool: 1}": ["S105 1:39"],
    "{bool: 0..1}": ["S105 1:39"],
    "{string: [a, 1]}": ["S105 1:45"],
    "{complex64: 1+2i}": ["S105 1:44"],
    "{complex64: 1j2j}": ["S105 1:44"],
    "{complex64: (1+2j)}": ["S105 1:44"],
    "{complex64: null}": ["S105 1:44"],
    "{float: 1j}": ["S105 1:40"],
    '{"map(int64, float)": [1]}': ["S105 1:54"],
    '{"map(int64, float)": {a: 1}}': ["S105 1:55"],
    '{"map(int64, float)": {"01": 1}}': ["S105 1:55"],
    '{"map(int64, float)": {"9223372036854775808": 1}}': ["S105 1:55"],
    '{"map(int64, float)": {"1": a}}': ["S105 1:60"],
    "{float: [[[[[[1048576]]]]]], shape: [2]}": ["S105 1:40"],
}
BROKEN |= {text: (example(f"inputs: [{text}], outputs: []"), found) for text, found in OF_VALUES.items()}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told_with_its_place(name, tmp_path):
    text, expected = BROKEN[name]
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    found = []
    for finding in caught.value.findings:
        line, column = finding.place.rsplit(":", 2)[1:]
        found.append(f"{finding.code} {int(line) - HEAD.count(chr(10))}:{column}")
    assert found == expected


MISSING = "or 'error': the constraint that it breaks"
HELPS = {
    "neither": [MISSING],
    "unknown key": ["did you mean outputs?", MISSING],
    "since": ["its versions are 1, 3"],
    "unknown attribute": ["did you mean size or sparse?"],
    "attribute of another version": ["an example holds for all versions from 'since' to 'until': since: 3"],
    "type of another version": ["an example holds for all versions from 'since' to 'until'"],
    "{flot: 1}": ["did you mean float or float16 or bfloat16?"],
    "{seq(float): [1], shape: [1]}": ["write {value: …, shape: …} for a tensor inside"],
    "{seq(float): [{valu: 1}]}": ["did you mean value?"],
    "{float: null, shape: [2]}": [],
}


@pytest.mark.parametrize("name", HELPS)
def test_what_helps_is_told(name, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, BROKEN[name][0])
    assert [each.help for each in caught.value.findings if each.help] == HELPS[name]


def test_an_attribute_that_is_gone_ends_an_example(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tests.schemas.test_examples.HEAD", HEAD.replace("body: null", "old: {type: int, doc: old}, body: null")
    )
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, "- {name: a, since: 1, attributes: {name: x, old: 1}, outputs: [null]}\n")
    (finding,) = caught.value.findings
    assert finding.help == "an example holds for all versions from 'since' to 'until': until: 1"


GAPS = """\
operator: Any
family: acme
versions:
- {since: 4, change: {}, doc: it, attributes: {%s}}
- {since: 3, change: {}, doc: it, attributes: {%s}}
- {since: 2, change: {}, doc: it, attributes: {%s}}
- {since: 1, doc: it, attributes: {%s}}
examples:
- {name: a, since: 1, attributes: {old: 1}, outputs: []}
"""


@pytest.mark.parametrize(
    ("having", "help"),
    [((1,), "until: 1"), ((1, 2), "until: 2"), ((1, 2, 4), "until: 2"), ((1, 3, 4), "until: 1"), ((2, 4), "since: 2"),
     ((4,), "since: 4")],
)  # fmt: skip
def test_an_example_is_told_where_its_attribute_begins_or_ends(having, help, tmp_path):
    text = GAPS % tuple("old: {type: int, doc: it}" * (since in having) for since in (4, 3, 2, 1))
    path = tmp_path / "Any.yaml"
    found = read_operator(path, SETS, data=text.encode())[1]
    assert [each.help.rpartition("'until': ")[2] for each in found if each.code == "S107"] == [help]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (example("outputs: [{float: null}]"), "an output may leave them open, with a shape"),
        (example("error: C12"), "did you mean C2 or C1?"),
        (example("outputs: [], stated: 3 body, chosen: it"), "leave one of them out"),
    ],
)
def test_what_else_helps_is_told(text, help, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    assert [each.help for each in caught.value.findings] == [help]


def test_number_and_types_of_values_are_those_of_every_version(tmp_path):
    text = (FOLDER / "ai.onnx" / "Softmax.yaml").read_text().partition("examples:\n")[0] + "examples:\n"
    (tmp_path / "ai.onnx").mkdir()
    path = tmp_path / "ai.onnx" / "Softmax.yaml"
    broken = {
        "13, inputs: [], outputs: [null]": (32, "version 13 has 1 inputs, not 0"),
        "11, inputs: [], outputs: [null]": (32, "version 11 has 1 inputs, not 0"),  # and so has version 13
        "13, outputs: [null]": (3, "version 13 has 1 inputs, not 0"),
        "13, inputs: [null, null], outputs: [null]": (32, "version 13 has 1 inputs, not 2"),
        "13, inputs: [{float: 1}], outputs: []": (55, "version 13 has 1 outputs, not 0"),
        "11, inputs: [{bfloat16: 1}], outputs: [null]": (33, "input cannot be tensor(bfloat16) at version 11"),
        "13, inputs: [{float: 1}], outputs: [{int8: 1}]": (56, "output cannot be tensor(int8) at version 13"),
    }
    line = text.count("\n") + 1
    for since, (column, message) in broken.items():
        path.write_text(f"{text}- {{name: a, since: {since}}}\n")
        with pytest.raises(SchemaError) as caught:
            load_operator(path, SETS)
        found = [(finding.place, finding.message) for finding in caught.value.findings]
        assert found == [(f"{path}:{line}:{column}", message)]
    path.write_text(f"{text}- {{name: a, since: 11, inputs: [], error: C1}}\n")
    assert load_operator(path, SETS).examples[0].inputs == ()


def test_a_version_of_which_the_signature_is_not_known_has_no_example(tmp_path):
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Foo.yaml"
    head = "operator: Foo\nfamily: acme\nversions:\n- since: 1\n  unknown: signature\n  doc: Anything.\nexamples:\n"
    path.write_text(head + "- {name: a, since: 1, attributes: {by: 1}, inputs: [{float: 1}], outputs: [{float: 1}]}\n")
    with pytest.raises(SchemaError) as caught:
        load_operator(path, SETS)
    assert [(finding.message, finding.help) for finding in caught.value.findings] == [
        (f"the {part} of version 1 are not known", "declare the signature, and remove 'unknown'")
        for part in ("attributes", "inputs", "outputs")
    ]


def test_values_of_any_type_fit_a_version_of_which_the_types_are_not_known(tmp_path):
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Foo.yaml"
    head = "operator: Foo\nfamily: acme\nversions:\n- since: 1\n  unknown: types\n  doc: Anything.\n"
    head += "  inputs: [{name: X}]\n  outputs: [{name: Y}, {name: Z, type: tensor(int64)}]\nexamples:\n"
    path.write_text(head + "- {name: a, since: 1, inputs: [{int8: 1}], outputs: [{float: 1}, {int64: 1}]}\n")
    assert load_operator(path, SETS).examples[0].outputs == (tensor("float", 1), tensor("int64", 1))
    path.write_text(head + "- {name: a, since: 1, inputs: [{int8: 1}], outputs: [{float: 1}, {float: 1}]}\n")
    with pytest.raises(SchemaError, match="Z cannot be tensor"):
        load_operator(path, SETS)


@pytest.mark.parametrize(
    "text",
    ["{float: 1, shape: [1024, 1025]}", "{float: 0..9999999999}", "{float: 1, shape: [1048576, 1048576]}"],
)
def test_few_words_do_not_stand_for_many_elements(text, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, example(f"inputs: [{text}], outputs: []"))
    assert caught.value.code == "S102"


@pytest.mark.parametrize(("count", "elements"), [("5..5", [5]), ("5..6", [5, 6]), ("-1..-1", [-1])])
def test_a_count_may_end_where_it_begins(count, elements, tmp_path):
    (example,) = load(tmp_path, value(f"{{int8: {count}}}")).examples
    assert example.inputs == (tensor("int8", elements, len(elements)),)


def test_elements_of_all_examples_are_counted(tmp_path):
    text = "".join(f"- {{name: a{n}, since: 3, inputs: [{{float: 0..65535}}], outputs: []}}\n" for n in range(17))
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    assert caught.value.code == "S102"


def test_long_examples_are_printed_line_by_line(tmp_path):
    graph = "agraph (float[N] x, bool cond) => (float[N] y) {\n  y = Abs (x)\n  z  =  Neg (y) }" + " # and on" * 9
    numbers = ", ".join(str(n / 4) for n in range(120))
    text = example(
        f"attributes: {{body: {json.dumps(graph)}}}, inputs: [{{float: [{numbers}]}}, null], outputs: [null], doc: it"
    )
    operator = load(tmp_path, text)
    printed = dump_operator(operator)
    lines = printed.partition("examples:\n")[2].splitlines()
    assert lines[:5] == ["- name: a", "  since: 3", "  doc: it", "  attributes:", "    body: |-"]
    assert [line[:13] for line in lines if line[:4] in ("  in", "  ou")] == ["  inputs: [{f", "  outputs: [n"]
    assert max(map(len, lines)) <= 120
    again = load(tmp_path, printed.partition("examples:\n")[2])
    assert again.examples == operator.examples
    assert again.examples[0].attributes == {"body": graph}
    assert dump_operator(again) == printed


BLOCK = """\
- name: a
  since: 3
  doc: "it: has a graph"
  attributes:
    size: [1]
    body: |
      g (float[N] x) => (float[N] y) {
        z = Abs (x)

        y = Neg (z)
      }
  inputs: []
  outputs: []
"""


def test_a_graph_is_a_literal_block_with_a_node_a_line(tmp_path):
    operator = load(tmp_path, BLOCK)
    text = "g (float[N] x) => (float[N] y) {\n  z = Abs (x)\n\n  y = Neg (z)\n}\n"
    assert operator.examples[0].attributes == {"size": [1], "body": text}
    printed = BLOCK.replace("(x)\n\n", "(x)\n")
    assert dump_operator(operator).partition("examples:\n")[2] == printed
    body = json.dumps(" ".join(text.split()))
    flow = example(f'doc: "it: has a graph", attributes: {{size: [1], body: {body}}}, inputs: [], outputs: []')
    assert dump_operator(load(tmp_path, flow)).partition("examples:\n")[2] == printed


@pytest.mark.parametrize("text", ["a\nb", "a\n", " a\nb\n", "a \nb\n", "a\n\n", "a\tb\nc\n", "\na\nb\n", "a\n  b\n"])
def test_text_of_several_lines_is_kept_as_it_is(text, tmp_path):
    operator = load(tmp_path, example(f"attributes: {{name: {json.dumps(text)}}}, inputs: [], outputs: []"))
    printed = dump_operator(operator)
    assert ("    name: |\n      a\n        b\n" in printed) == (text == "a\n  b\n")
    again = load(tmp_path, printed.partition("examples:\n")[2])
    assert again.examples[0].attributes == {"name": text} and dump_operator(again) == printed


def test_keys_of_types_and_maps_are_never_broken(tmp_path):
    names = "".join(f'"a rather long key number {n}": {n}, ' for n in range(40))
    text = example(f'inputs: [{{"map(string, tensor(float))": {{{names}}}}}], outputs: []')
    operator = load(tmp_path, text)
    printed = dump_operator(operator)
    assert '{"map(string, tensor(float))": {"a rather long key number 0": 0,' in printed
    assert load(tmp_path, printed.partition("examples:\n")[2]).examples == operator.examples


def test_text_that_yaml_1_1_reads_otherwise_is_quoted(tmp_path):
    words = ["no", "On", "1:30", "2020-01-02", "1_000", "0b1", "<<", "=", "0..5", "a", "-.5.", "1+2"]
    operator = load(tmp_path, value(f"{{string: {json.dumps(words)}}}"))
    plain = dump_operator(operator).partition("string: [")[2].partition("]")[0]
    assert plain == '"no", "On", "1:30", "2020-01-02", "1_000", "0b1", "<<", "=", 0..5, a, "-.5.", "1+2"'


def test_the_registry_gives_examples(tmp_path):
    load(tmp_path, value("{float: 1}"))
    registry = registry_with([tmp_path])
    (own,) = registry.examples("Any", "com.acme")
    assert (own.name, own.inputs) == ("a", (tensor("float", 1),))
    assert registry.examples("Softmax", "ai.onnx") == default_registry().examples("Softmax")
    assert [each.error for each in default_registry().examples("Softmax") if each.error] == ["C1", "C1"]
    assert registry.examples("Softmax", "com.acme") == registry.examples("None") == ()


@pytest.mark.parametrize("name", ['""', "null", "5", "[]"])
def test_an_example_with_a_name_that_is_none_is_like_no_other(tmp_path, name):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, f"- {{name: {name}, since: 1, inputs: [{{float: 1}}]}}\n- {{name: b, since: 1, outputs: []}}\n")
    assert {each.code for each in caught.value.findings} >= {"S105"}
