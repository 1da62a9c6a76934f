"""Operator files: what they say, what is refused and where, and that they print back as they are."""

import itertools
import os
import random
import struct
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from opset.budget import Budget, Limits
from opset.errors import SchemaError
from opset.model.elements import NUMBERS
from opset.schemas.diff import short_float
from opset.schemas.documentation import Docs, ImplementationNote, make_docs
from opset.schemas.example import Example
from opset.schemas.index import FOLDER, compile_operators, make_schema
from opset.schemas.model import Attribute, AttributeChange, Change, FunctionBody, OpSchema, Parameter
from opset.schemas.status import ground_of, status_of
from opset.schemas.type_sets import compact_types, expand, is_type, shortest_expressions
from opset.schemas.yaml import folders, loader
from opset.schemas.yaml.fields import MAX_ENTRIES, float32
from opset.schemas.yaml.folders import domain_of, operator_files, siblings
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import (
    load_folder,
    load_operator,
    load_sets,
    parse_operator,
    read_operator,
    read_operators,
)
from opset.schemas.yaml.printer import dump_document
from opset.schemas.yaml.reader import MAX_KEY, Findings, read
from tests.bounds import draws
from tests.released import OPERATORS, is_released
from tests.schemas.texts import SCALE

SETS = load_sets(FOLDER / "types.yaml")
FILES = operator_files(FOLDER)


def write(folder, text, name="Scale", domain="com.acme"):
    (folder / domain).mkdir(exist_ok=True)
    path = folder / domain / f"{name}.yaml"
    path.write_text(text)
    return path


def load(folder, text, **where):
    return load_operator(write(folder, text, **where), SETS)


TWO = """\
operator: Scale
family: acme
versions:
- since: 2
  experimental: true
  determinism: unknown
  change:
    experimental: true
    determinism: [deterministic, unknown]
    inputs: {renamed: {X: input}, arity: {C: [single, optional]}}
    attributes:
      axes: {removed: ints, input: C, undefined: []}
      by: {default: [1.0, 1e-05]}
      dilations: {added: ints, old: {all: 1}}
      mode: {added: string, default: up, renamed: way, values: {upwards: up}}
      strict: {added: int, required: true, old: 0, only_for: [float8, bfloat16]}
      unused: {removed: int, ignored: true}
    types: {I: new, T: [+bfloat16, -double]}
    emulate: {bfloat16: float, float8: float16}
    renamed: true
    meaning: Something moved, from one place to another.
    adapters: {up: written, down: "impossible: it is lost"}
  doc: Scales.
  inputs:
  - {name: input, type: T, differentiable: true, doc: what is scaled}
  - {name: C, type: tensor(int64), optional: true, doc: "one, or more"}
  outputs:
  - {name: Y, type: T, variadic: true, heterogeneous: true, min_arity: 0, doc: what came of it}
  attributes:
    by: {type: float, default: 1e-05, doc: factor}
    dilations: {type: ints, doc: steps}
    mode: {type: string, default: up, doc: direction}
    strict: {type: int, required: true, doc: whether}
  types:
    I: bool
    T: [floats_to_32, seq(float)]
  constraints:
    C1: "-rank(input) <= axis < rank(input)"
    C10: one of the ten
  function:
  - opset: 18
    where: {mode: up, C: given}
    types: {T: float}
    emulate: {float16: float}
    nodes: |
      # a line
      Y = Mul (input, C)
  - opset: 13
    nodes: "Y = Mul (input, C)"
- since: 1
  experimental: null
  determinism: null
  like: 2
  inputs: [{name: X, type: T, doc: what was scaled}, {name: C, optional: null}]
  attributes:
    by: {default: 1.0}
    axes: {type: ints, default: [0, 2, 3], doc: where}
    unused: {type: int, doc: nothing}
    dilations: null
    mode: null
    strict: null
  types: {T: [double, float, float16, seq(float)], I: null}
  function: null
"""


def test_what_a_file_says(tmp_path):
    operator = load(tmp_path, TWO)
    assert dump_operator(operator) == TWO
    assert (operator.domain, operator.name, operator.family) == ("com.acme", "Scale", "acme")
    old, new = operator.schemas
    assert new == OpSchema(
        domain="com.acme",
        name="Scale",
        since_version=2,
        family="acme",
        inputs=(
            Parameter("input", "T", differentiable=True),
            Parameter("C", "tensor(int64)", "optional"),
        ),
        outputs=(Parameter("Y", "T", "variadic", homogeneous=False, min_arity=0),),
        attributes={
            "by": Attribute("by", "float", 9.999999747378752e-06),
            "dilations": Attribute("dilations", "ints"),
            "mode": Attribute("mode", "string", "up"),
            "strict": Attribute("strict", "int", required=True),
        },
        types={
            "I": ("tensor(bool)",),
            "T": ("seq(tensor(float))", "tensor(bfloat16)", "tensor(float)", "tensor(float16)"),
        },
        experimental=True,
        determinism="unknown",
        function=(
            FunctionBody(
                18,
                "# a line\nY = Mul (input, C)\n",
                (("mode", "up"), ("C", "given")),
                {"T": ("tensor(float)",)},
                {"float16": "float"},
            ),
            FunctionBody(13, "Y = Mul (input, C)"),
        ),
    )
    assert [each.opset for each in new.function_bodies(20)] == [18, 13]
    assert [each.opset for each in new.function_bodies(17)] == [13]
    assert old.attributes["axes"].default == (0, 2, 3)
    assert old.change is None
    assert new.change == Change(
        diff={
            "experimental": True,
            "determinism": ["deterministic", "unknown"],
            "inputs": {"renamed": {"X": "input"}, "arity": {"C": ["single", "optional"]}},
            "attributes": {
                "axes": {"removed": "ints"},
                "by": {"default": [1.0, 9.999999747378752e-06]},
                "dilations": {"added": "ints"},
                "mode": {"added": "string", "default": "up"},
                "strict": {"added": "int", "required": True},
                "unused": {"removed": "int"},
            },
            "types": {"I": "new", "T": ["+tensor(bfloat16)", "-tensor(double)"]},
        },
        attributes={
            "axes": AttributeChange(input="C", undefined=()),
            "dilations": AttributeChange(old={"all": 1}),
            "mode": AttributeChange(renamed="way", values={"upwards": "up"}),
            "strict": AttributeChange(
                old=0, only_for=("bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
            ),
            "unused": AttributeChange(ignored=True),
        },
        emulate={
            "bfloat16": "float",
            **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), "float16"),
        },
        renamed=True,
        meaning="Something moved, from one place to another.",
        up="written",
        down="impossible: it is lost",
    )
    said, shared = operator.docs[1], operator.docs[0]
    assert said.attributes == {"by": "factor", "dilations": "steps", "mode": "direction", "strict": "whether"}
    assert shared == Docs(
        "Scales.",
        {"X": "what was scaled", "C": "one, or more"},
        {"Y": "what came of it"},
        {"axes": "where", "by": "factor", "unused": "nothing"},
        {"C1": "-rank(input) <= axis < rank(input)", "C10": "one of the ten"},
    )


def test_a_version_has_the_prose_of_the_one_that_it_is_like(tmp_path):
    newer = "  formula: |-\n    \\frac{x}{y}\n  counterparts: {numpy: x * y}\n"
    operator = load(tmp_path, SCALE.replace("  doc: Scales.\n", f"  doc: Scales.\n{newer}"))
    assert [(each.formula, each.counterparts) for each in operator.docs] == [("\\frac{x}{y}", {"numpy": "x * y"})] * 2
    assert load(tmp_path, dump_operator(operator)).docs == operator.docs


def test_special_cases_hold_for_the_versions_that_they_name(tmp_path):
    cases = """\
special_cases:
- text: of the newer
  since: 2
- of both
- text: of the older
  until: 1
  chosen: ties
- text: of the older, too
  since: 1
  until: 1
"""
    operator = load(tmp_path, SCALE + cases)
    assert [[case.text for case in each.special_cases] for each in operator.docs] == [
        ["of both", "of the older", "of the older, too"],
        ["of the newer", "of both"],
    ]
    assert dump_operator(operator).endswith(f"\n{cases}")
    for text, line in (("of both", "27:3"), ("of the older", "28:3"), ("gone", "25:1")):
        assert operator.place(2, "special_cases", text).endswith(f"Scale.yaml:{line}"), text


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("{text: it, since: 3}", "the operator has no version 3"),
        ("{text: it, since: 2, until: 1}", "a version that is not older than 'since' has to stand here"),
        ("{text: it, since: newest}", "a whole number has to stand here"),
        ("{text: one, since: 2}", "a version has this special case twice"),
        ("{since: 2}", "the key 'text' is missing"),
    ],
)
def test_special_cases_that_cannot_hold(case, message, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, f"{SCALE}special_cases: [one, {case}]\n")
    assert [each.message for each in caught.value.findings] == [message]


NOTES = """\
implementations:
  tract:
  - {text: A scalar is an error., tested: 0.21-rc1, since: 2}
  - text: >-
      An empty X is taken for an absent one, of which the output has the shape that it would have if X had elements
      alone.
    tested: "0.21"
  opset:
  - {text: It is slow., until: 1}
"""
SHOWN = "examples:\n- {name: one, since: 1, inputs: [{float: [1]}], outputs: []}\n"


def test_notes_about_implementations_hold_for_the_versions_that_they_name(tmp_path):
    operator = load(tmp_path, SCALE + NOTES)
    (empty, slow), (scalar, same) = (docs.implementations for docs in operator.docs)
    assert scalar == ImplementationNote("tract", "A scalar is an error.", "0.21-rc1")
    assert empty == same and (empty.name, empty.tested) == ("tract", "0.21")
    assert slow == ImplementationNote("opset", "It is slow.")
    assert dump_operator(operator).endswith(NOTES)


def test_notes_about_implementations_name_examples(tmp_path):
    text = INPUT + 'implementations:\n  tract:\n  - {text: It fails., tested: "1", examples: [one]}\n' + SHOWN
    operator = load(tmp_path, text)
    assert [each.examples for each in operator.docs[0].implementations] == [("one",)]
    assert dump_operator(operator) == text


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ("[]", "a mapping has to stand here"),
        ("{tract: {}}", "a list has to stand here"),
        ("{tract: [it]}", "a mapping has to stand here"),
        ("{tract: [{text: it}]}", "the key 'tested' is missing"),
        ("{tract: [{text: it, tested: 1.31}]}", "text has to stand here"),
        ("{tract: [{text: '', tested: '1'}]}", "the text must not be empty"),
        ("{opset: [{tested: '1'}]}", "the key 'text' is missing"),
        ("{opset: [{text: it, since: 3}]}", "the operator has no version 3"),
        ("{opset: [{text: it}, {text: it, until: 1}]}", "a version has this note twice"),
        ("{opset: [{text: it, examples: [one, two]}]}", "there is no example 'two'"),
        ("{opset: [{text: it, examples: one}]}", "a list has to stand here"),
        ("{opset: [{text: it, cases: [one]}]}", "the key 'cases' is not known here"),
        ("{'': []}", "a name must not be empty"),
    ],
)
def test_notes_that_cannot_hold(notes, message, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, f"{INPUT}implementations: {notes}\n{SHOWN}")
    assert caught.value.findings[0].message == message


def test_constraints_that_a_version_writes_are_added_or_replace(tmp_path):
    own = load(tmp_path, TWO + "  constraints:\n    C10: null\n    C2: own\n    C1: first\n")
    assert list(own.docs[0].constraints.items()) == [("C1", "first"), ("C2", "own")]
    assert list(own.docs[1].constraints) == ["C1", "C10"]
    assert dump_operator(own).endswith("    C1: first\n    C2: own\n    C10: null\n  function: null\n")
    assert load(tmp_path, TWO + "  constraints: null\n").docs[0].constraints == {}


def test_places_of_parts(tmp_path):
    operator = load(tmp_path, TWO)
    path = operator.path
    assert operator.place(2, "change", "types") == f"{path}:18:12"
    assert operator.place(1, "inputs", "C") == f"{path}:54:54"
    assert operator.place(1, "attributes", "not there") == f"{path}:56:5"
    assert operator.place(1, "not there", "attributes") == operator.place(1)
    assert operator.place(2, "change", "meaning", "moved") == operator.place(2, "change", "meaning")
    assert operator.place(2, "since", "2") == operator.place(2, "since")


ONE = "operator: Scale\nfamily: acme\nversions:\n- since: 1\n  doc: it\n"
INPUT = ONE + "  inputs:\n  - {name: X, type: T}\n  types:\n    T: floats\n"
ADAPTERS = "adapters: {up: derived, down: derived}"
NEWER = f"operator: Scale\nfamily: acme\nversions:\n- since: 2\n  doc: it\n  change:\n    {ADAPTERS}\n"
OLD = "- since: 1\n  doc: it\n"

ALIKE = f"""\
operator: Scale
family: acme
versions:
- since: 3
  change:
    meaning: x
    {ADAPTERS}
  doc: it
  inputs:
  - {{name: X, type: T, doc: it}}
  - {{name: Z, type: tensor(bool), optional: true, doc: whether}}
  attributes:
    a: {{type: int, range: ">= 0", doc: a number}}
  types:
    T: floats
- since: 1
  like: 3
  doc: older
  attributes: null
"""

BROKEN = {
    "no mapping": ("- 1\n", ["S105 1:1"]),
    "missing and unknown keys": ("operater: Scale\nfamily: a\n", ["S103 1:1", "S104 1:1", "S104 1:1"]),
    "names that are not text": ("operator: 1\nfamily: ''\nversions: []\n", ["S105 1:11", "S105 2:9", "S105 3:11"]),
    "versions that are no list": ("operator: A\nfamily: a\nversions: {}\n", ["S105 3:11", "S105 3:11"]),
    "a version that is no mapping": (ONE + "- 7\n", ["S105 6:3"]),
    "since": (ONE.replace("since: 1", "since: '1'"), ["S105 4:10"]),
    "since zero": (ONE.replace("since: 1", "since: 0"), ["S105 4:10"]),
    "since twice": (NEWER + OLD.replace("1", "2"), ["S106 8:3", "S103 6:3", "S104 8:3"]),
    "no doc": (ONE.replace("  doc: it\n", ""), ["S104 4:3"]),
    "like nothing": (ONE.replace("doc: it", "like: 2"), ["S107 5:9"]),
    "like an older one": (NEWER.replace("doc: it", "like: 1") + OLD, ["S107 5:9"]),
    "like what is not there": (ALIKE.replace("like: 3", "like: 9"), ["S107 17:9"]),
    "like what is wrong": (ALIKE.replace("type: T,", "type: U,"), ["S107 10:21"]),
    "null without like": (ONE + "  inputs: null\n", ["S105 6:11"]),
    "null of nothing": (ALIKE + "  formula: null\n", ["S107 20:12"]),
    "null of no entry": (ALIKE.replace("attributes: null", "attributes: {b: null}"), ["S107 19:19"]),
    "an entry of no mapping": (ALIKE.replace("attributes: null", "attributes: {a: 1}"), ["S105 19:19"]),
    "an attribute without a type": (ALIKE.replace("type: int, ", ""), ["S104 13:8"]),
    "an entry like no mapping": (
        ALIKE.replace('{type: int, range: ">= 0", doc: a number}', "1").replace("null", "{a: {type: int, doc: x}}"),
        ["S105 13:8"],
    ),
    "parameters like a list that are none": (ALIKE + "  inputs: 1\n", ["S105 20:11"]),
    "parameters of nothing": (ALIKE + "  inputs: [Y, X, W]\n", ["S107 20:12", "S107 20:18"]),
    "a name without like": (INPUT.replace("{name: X, type: T}", "X"), ["S105 7:5"]),
    "an entry that says too little": (ALIKE + "  outputs: [{name: Y}]\n", ["S104 20:13"]),
    "no change": (NEWER.replace(f"  change:\n    {ADAPTERS}\n", "") + OLD, ["S104 4:3"]),
    "change of the first": (NEWER, ["S103 6:3"]),
    "no adapters": (NEWER.replace("adapters: {up: derived, down: derived}", "meaning: x") + OLD, ["S104 7:5"]),
    "one adapter": (NEWER.replace(", down: derived", "") + OLD, ["S104 7:15"]),
    "adapter": (NEWER.replace("down: derived", "down: 'impossible: '") + OLD, ["S105 7:35"]),
    "flag": (ONE + "  deprecated: yes\n", ["S105 6:15"]),
    "determinism": (ONE + "  determinism: random\n", ["S105 6:16"]),
    "unknown key of a version": (ONE + "  form: same\n", ["S103 6:3"]),
    "parameters that are no list": (ONE + "  inputs: {}\n", ["S105 6:11"]),
    "parameter without type": (INPUT.replace(", type: T", ""), ["S104 7:5"]),
    "parameter twice": (INPUT.replace("  types", "  - {name: X, type: T}\n  types"), ["S106 8:12"]),
    "type constraint": (INPUT.replace("type: T", "type: T1"), ["S107 7:21"]),
    "element as type": (INPUT.replace("type: T", "type: float"), ["S107 7:21"]),
    "type of no element": (INPUT.replace("type: T", "type: tensor(float3)"), ["S107 7:21"]),
    "optional and variadic": (INPUT.replace("type: T", "type: T, optional: true, variadic: true"), ["S103 7:34"]),
    "variadic before another": (
        INPUT.replace("{name: X, type: T}", "{name: X, type: T, variadic: true}\n  - {name: Z, type: T}"),
        ["S103 8:5"],
    ),
    "min_arity of one": (INPUT.replace("type: T", "type: T, min_arity: 0"), ["S103 7:24"]),
    "min_arity": (INPUT.replace("type: T", "type: T, variadic: true, min_arity: -1"), ["S105 7:51"]),
    "type set": (INPUT.replace("floats", "[floatz, bool, seq(floatz)]"), ["S107 9:9", "S107 9:23"]),
    "empty list of types": (INPUT.replace("floats", "[]"), ["S105 9:8"]),
    "empty type": (INPUT.replace("floats", "['']"), ["S105 9:9"]),
    "type without a name": (ONE + "  types: {'': bool}\n", ["S105 6:11"]),
    "attribute type": (ONE + "  attributes:\n    a: {type: INT, default: 1}\n", ["S105 7:15"]),
    "default of an int": (ONE + "  attributes:\n    a: {type: int, default: 1.0}\n", ["S105 7:29"]),
    "default true": (ONE + "  attributes:\n    a: {type: int, default: true}\n", ["S105 7:29"]),
    "default of 65 bits": (ONE + f"  attributes:\n    a: {{type: int, default: {2**63}}}\n", ["S105 7:29"]),
    "default of ints": (ONE + "  attributes:\n    a: {type: ints, default: [1, b]}\n", ["S105 7:34"]),
    "default of no list": (ONE + "  attributes:\n    a: {type: ints, default: 1}\n", ["S105 7:30"]),
    "default of a string": (ONE + "  attributes:\n    a: {type: string, default: 1}\n", ["S105 7:32"]),
    "default of a float": (ONE + "  attributes:\n    a: {type: float, default: x}\n", ["S105 7:31"]),
    "default beyond float32": (ONE + "  attributes:\n    a: {type: float, default: 1e39}\n", ["S105 7:31"]),
    "default of a graph": (ONE + "  attributes:\n    a: {type: graph, default: x}\n", ["S105 7:31"]),
    "required with default": (ONE + "  attributes:\n    a: {type: int, default: 1, required: true}\n", ["S103 7:20"]),
    "pair": (NEWER + "    attributes: {a: {default: 1}}\n" + OLD, ["S105 8:31"]),
    "pair of letters": (NEWER + "    attributes: {a: {default: ab}}\n" + OLD, ["S105 8:31"]),
    "pair of three": (NEWER + "    attributes: {a: {default: [1, 2, 3]}}\n" + OLD, ["S105 8:31"]),
    "old value of no type": (
        NEWER + "    attributes: {a: {added: INT, old: 1}}\n  attributes: {a: {type: INT, doc: x}}\n" + OLD,
        ["S105 9:26", "S105 8:29"],
    ),
    "old values of one": (
        NEWER + "    attributes: {a: {added: int, old: {}}}\n  attributes: {a: {type: int, doc: x}}\n" + OLD,
        ["S104 8:39", "S105 8:39"],
    ),
    "sign": (NEWER + "    types: {T: [float, double]}\n" + OLD, ["S105 8:17", "S105 8:24"]),
    "signed type": (NEWER + "    types: {T: [+floatz]}\n" + OLD, ["S107 8:17"]),
    "new or gone": (NEWER + "    types: {T: old}\n" + OLD, ["S105 8:16"]),
    "change of a parameter": (NEWER + "    inputs: {moved: [X]}\n" + OLD, ["S103 8:14"]),
    "label": (ONE + "  constraints:\n    C01: it\n    C1: 1\n    C2: ''\n", ["S105 8:9", "S105 9:9", "S103 7:5"]),
    "no body": (ONE + "  function: []\n", ["S105 6:13"]),
    "keys of a body": (ONE + "  function:\n  - {opset: 0, node: x}\n", ["S103 7:16", "S104 7:5", "S105 7:13"]),
    "a body for what is not there": (
        INPUT + "  function:\n  - {opset: 1, nodes: x, where: {mode: a}, types: {U: float}, emulate: {half: float}}\n",
        ["S107 11:34", "S107 11:52", "S107 11:73"],
    ),
    "arity": (NEWER + "    inputs: {arity: {X: [single, many]}}\n" + OLD, ["S105 8:34"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told_with_its_place(name, tmp_path):
    text, expected = BROKEN[name]
    path = write(tmp_path, text)
    with pytest.raises(SchemaError) as caught:
        load_operator(path, SETS)
    found = [f"{finding.code} {finding.place.removeprefix(f'{path}:')}" for finding in caught.value.findings]
    assert found == expected
    with pytest.raises(SchemaError) as again:
        parse_operator(text.encode(), path, SETS)
    assert again.value.findings == caught.value.findings


HELPS = {
    "missing and unknown keys": ["did you mean operator?"],
    "names that are not text": ["quote it"],
    "since twice": ["every version but the first has it"],
    "no doc": ["or 'like': a newer version"],
    "unknown key of a version": ["did you mean formula?"],
    "parameters that are no list": [],
    "type constraint": ["did you mean T?"],
    "type set": ["did you mean float or floats or float8?", "did you mean float?"],
    "default of a string": ["quote it"],
    "default of no list": [],
    "signed type": ["did you mean float or floats or float8?"],
    "change of a parameter": ["did you mean removed?"],
    "label": ["C1, C2, …"],
    "keys of a body": ["did you mean nodes?"],
}


@pytest.mark.parametrize("name", HELPS)
def test_what_helps_is_told(name, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, BROKEN[name][0])
    assert [each.help for each in caught.value.findings if each.help] == HELPS[name]


def test_a_version_has_the_keys_of_the_one_that_it_is_like(tmp_path):
    older, newer = load(tmp_path, ALIKE).schemas
    assert (older.inputs, older.types, list(newer.attributes)) == (newer.inputs, newer.types, ["a"])
    assert older.attributes == {}
    middle = "- since: 2\n  change: {meaning: x, " + ADAPTERS + "}\n  like: 3\n  types: {T: ints}\n"
    text = ALIKE.replace("like: 3", "like: 2").replace("- since: 1\n", middle + "- since: 1\n")
    oldest, middle, newest = load(tmp_path, text).schemas
    assert (oldest.inputs, oldest.types, oldest.attributes) == (newest.inputs, middle.types, {})
    assert list(middle.attributes) == ["a"]


ENTRIES = [
    ("attributes: {b: {type: int, doc: it}}", "attributes", {"a": "int", "b": "int"}),
    ("attributes: {a: {type: float}}", "attributes", {"a": "float"}),
    ("attributes: {b: {type: int, doc: it}, a: null}", "attributes", {"b": "int"}),
    ("types: {U: bool}", "types", {"T": SETS["floats"], "U": ("tensor(bool)",)}),
    ("types: {T: bool}", "types", {"T": ("tensor(bool)",)}),
    ("inputs: [Z, X]", "inputs", {"Z": "tensor(bool)", "X": "T"}),
    ("inputs: [{name: X, type: tensor(int8)}]", "inputs", {"X": "tensor(int8)"}),
    ("inputs: [X, {name: W, type: T, doc: it}]", "inputs", {"X": "T", "W": "T"}),
    ("inputs: []", "inputs", {}),
    ("outputs: [Y, {name: Z, type: tensor(int8), doc: it}]", "outputs", {"Y": "T", "Z": "tensor(int8)"}),
    ("outputs: [{name: Y, type: tensor(int8)}]", "outputs", {"Y": "tensor(int8)"}),
    ("outputs: []", "outputs", {}),
]


@pytest.mark.parametrize(("written", "part", "expected"), ENTRIES)
def test_entries_of_a_version_like_another_one(written, part, expected, tmp_path):
    text = ALIKE.replace("  attributes: null\n", f"  {written}\n")
    text = text.replace(
        "  attributes:\n    a:", "  outputs:\n  - {name: Y, type: T, doc: it}\n  attributes:\n    a:", 1
    )
    operator = load(tmp_path, text)
    older = getattr(operator.schemas[0], part)
    found = {each.name: each.type for each in older} if part in ("inputs", "outputs") else dict(older)
    assert {name: getattr(each, "type", each) for name, each in found.items()} == expected
    assert list(found) == list(expected)
    assert dump_operator(operator) == text


def test_a_parameter_that_has_a_name_alone_is_written_by_it_if_the_other_version_has_it(tmp_path):
    newer = NEWER.replace("doc: it", "unknown: types").replace(ADAPTERS + "\n", ADAPTERS + "\n  doc: it\n")
    text = newer + "  inputs:\n  - {name: X}\n- since: 1\n  like: 2\n  inputs: [X, {name: W}]\n"
    assert dump_operator(load(tmp_path, text)) == text


def test_an_entry_has_the_keys_that_it_does_not_write(tmp_path):
    older = "inputs: [{name: Z, optional: null}]\n  attributes: {a: {default: 2, doc: null}}"
    operator = load(tmp_path, ALIKE.replace("attributes: null", older))
    assert operator.schemas[0].inputs == (Parameter("Z", "tensor(bool)"),)
    assert operator.schemas[0].attributes["a"] == Attribute("a", "int", 2, range=">= 0")
    assert (operator.docs[0].inputs, operator.docs[0].attributes) == ({"Z": "whether"}, {"a": ""})


def test_files_are_read_until_there_are_five_times_as_many_findings_as_a_file_may_have(tmp_path):
    (tmp_path / "com.acme").mkdir()
    files = [tmp_path / "com.acme" / f"Scale{number}.yaml" for number in range(7)]
    for file in files:
        file.write_text(ONE.replace("Scale", file.stem) + "".join(f"k{number}: 1\n" for number in range(120)))
    findings = read_operators(files, SETS)[1]
    read = Counter(each.place.split(":")[0] for each in findings)
    assert read == {str(file): count for file, count in zip(files[:6], [100] * 5 + [1], strict=True)}
    assert findings[-1].message == "files of this folder were not read: 2, of which this is the first"
    assert findings[-1].why == "the ones before have more than 500 findings"


def test_many_versions_that_share_many_values_are_refused(tmp_path):
    many = "".join(f"    a{n}: {{type: int, doc: x}}\n" for n in range(2000))
    text = ONE.replace("since: 1", "since: 5000") + "  attributes:\n" + many
    text += "".join(f"- since: {n}\n  like: 5000\n" for n in range(4999, 0, -1))
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    assert {each.code for each in caught.value.findings} == {"S102"}


def test_conditions_are_read_up_to_their_most(tmp_path):
    text = f"{ONE}  inputs: [{{name: X, type: T, doc: x}}]\n  constraints:\n    C1:\n"
    clauses = ["    - {rank: {X: 1}, where: {X: given}}\n"] * 128
    message = "a version has at most 256 conditions, those of 'where' included"
    for beyond, places in (([], []), (["    - rank:\n        X: 1\n"], ["138:12"]), (clauses, ["137:18"])):
        with pytest.raises(SchemaError) as caught:
            load(tmp_path, text + "".join([*clauses, *beyond]))
        found = [(each.message, each.place.split(":", 1)[1]) for each in caught.value.findings if each.code == "S102"]
        assert found == [(message, place) for place in places]


def test_what_is_repeated_is_not_printed(tmp_path):
    keys = "  inputs:\n  - {name: X, type: T, doc: it}\n  - Z\n  types:\n    T: floats\n"
    assert dump_operator(load(tmp_path, ALIKE + keys)) == ALIKE
    assert dump_operator(load(tmp_path, (ALIKE + keys).replace("  - Z\n", ""))) == ALIKE.replace(
        "  attributes: null", "  inputs: [X]\n  attributes: null"
    )


def test_an_attribute_of_many_lines_has_a_line_for_each_key(tmp_path):
    doc = " ".join(["a word: and another"] * 20)
    text = ONE + f'  attributes:\n    a: {{type: string, default: "x\\ny", doc: "{doc}"}}\n'
    text += "    b: {type: int, doc: b}\n"
    operator = load(tmp_path, text)
    printed = dump_operator(operator)
    assert (
        "    a:\n      type: string\n      default: |-\n        x\n        y\n      doc: >-\n        a word:" in printed
    )
    assert printed.endswith("    b: {type: int, doc: b}\n")
    again = load(tmp_path, printed)
    assert (again.schemas, again.docs, dump_operator(again)) == (operator.schemas, operator.docs, printed)


def test_keys_are_printed_in_one_order(tmp_path):
    text = "versions:\n- doc: it\n  types: {T: floats}\n  inputs:\n  - {type: T, doc: it, name: X}\n"
    text += "  attributes:\n    a: {doc: it, constraint: C1, choices: [1], type: int}\n"
    text += "  since: 1\nfamily: acme\noperator: Scale\n"
    printed = dump_operator(load(tmp_path, text))
    assert printed == (
        "operator: Scale\nfamily: acme\nversions:\n- since: 1\n  doc: it\n  inputs:\n  - {name: X, type: T, doc: it}\n"
        "  attributes:\n    a: {type: int, choices: [1], constraint: C1, doc: it}\n  types:\n    T: floats\n"
    )
    assert dump_operator(load(tmp_path, printed)) == printed


@pytest.mark.parametrize("name", ["one", "newer", "input"])
def test_the_broken_examples_are_broken_by_their_edit_alone(name, tmp_path):
    assert load(tmp_path, {"one": ONE, "newer": NEWER + OLD, "input": INPUT}[name]).name == "Scale"


def test_near_misses_are_suggested(tmp_path):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, INPUT.replace("floats", "flots_ir9").replace("inputs", "inputz"))
    key, type_set = caught.value.findings
    assert (key.code, type_set.code) == ("S103", "S107")
    assert key.help.startswith("did you mean inputs")
    assert type_set.help.startswith("did you mean floats_ir9")


def test_files_that_cannot_be_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("missing.yaml", "pipe.yaml", ".", "a\0b"):
        with pytest.raises(SchemaError) as caught:
            load_operator(tmp_path / name, SETS)
        assert caught.value.code == "S101"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [float]\na: [bool]\n", "S106"),
        ("float: [double]\n", "S106"),
        ("floats_ir9: [double]\n", "S106"),
        ("a: [b]\nb: [float]\n", "S107"),
        ("a: [a]\n", "S107"),
        ("- a\n", "S105"),
        ("a: 1\n", "S105"),
        ("a: {}\n", "S105"),
    ],
)
def test_type_sets_that_are_refused(text, code, tmp_path):
    (tmp_path / "types.yaml").write_text(text)
    with pytest.raises(SchemaError) as caught:
        load_sets(tmp_path / "types.yaml", SETS)
    assert caught.value.code == code
    with pytest.raises(SchemaError) as again:
        load_sets(tmp_path / "types.yaml", SETS, text.encode())
    assert again.value.findings == caught.value.findings


CODED = {"at most": "S102", "is missing": "S104"}
MANY = ", ".join(f"{{name: X{n}, type: tensor(int8)}}" for n in range(MAX_ENTRIES + 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.replace("family: acme", f"family: {'a' * MAX_KEY}"), []),
        (ONE.replace("family: acme", f"family: {'a' * (MAX_KEY + 1)}"), ["a name has at most 256 characters"]),
        (ONE.replace("family: acme", 'family: "a\\n"'), ["a name has no control characters"]),
        (ONE.replace("since: 1", f"since: {2**31 - 1}"), []),
        (ONE.replace("since: 1", f"since: {2**31}"), ["a number from 1 to 2147483647 has to stand here"]),
        (f"{ONE}  inputs: [{MANY.rpartition(', {')[0]}]\n", []),
        (f"{ONE}  inputs: [{MANY}]\n", ["there are at most 256 inputs, and outputs"]),
        (f"{ONE}  types: {{{', '.join(f'T{n}: bool' for n in range(MAX_ENTRIES))}}}\n", []),
        (
            f"{ONE}  types: {{{', '.join(f'T{n}: bool' for n in range(MAX_ENTRIES + 1))}}}\n",
            ["there are at most 256 types"],
        ),
        (f"{ONE}  attributes: {{a: {{type: ints, default: [{-(2**63)}, {2**63 - 1}]}}}}\n", []),
        (
            f"{ONE}  attributes: {{a: {{type: int, default: {-(2**63) - 1}}}}}\n",
            ["a number from -9223372036854775808 to 9223372036854775807 has to stand here"],
        ),
        (
            f"{ONE}  attributes: {{a: {{type: float, default: 1e39}}}}\n",
            ["a number that float32 can hold has to stand here"],
        ),
        (
            f"{ONE}  attributes: {{a: {{type: float, default: 0x{'f' * 40}}}}}\n",
            ["a number that float32 can hold has to stand here"],
        ),
        (f"{ONE}  attributes: {{a: {{type: float, default: true}}}}\n", ["a number has to stand here"]),
        (f"{ONE}  attributes: {{a: {{type: string, default: []}}}}\n", ["text has to stand here"]),
        (f"{ONE}  function: [{{opset: 1, nodes: ''}}]\n", ["the text must not be empty"]),
        (f"{ONE}special_cases: [{{text: ''}}]\n", ["the text must not be empty"]),
        (f"{ONE}special_cases: [{{stated: 1 body}}]\n", ["the key 'text' is missing"]),
        (f"{ONE}  inputs: [{{name: X, type: tensor(int8), variadic: true, min_arity: {2**31 - 1}}}]\n", []),
    ],
)
def test_numbers_names_and_lists_have_bounds(text, said, tmp_path):
    findings = read_operator(write(tmp_path, text), SETS)[1]
    assert [each.message for each in findings] == said
    codes = [next((code for word, code in CODED.items() if word in each), "S105") for each in said]
    assert [each.code for each in findings] == codes


def test_what_is_too_much_is_left_out(tmp_path):
    text = f"{ONE}  inputs: [{MANY}]\n"
    (schema,) = read_operator(write(tmp_path, text), SETS)[0].damaged.schemas
    assert [each.name for each in schema.inputs] == [f"X{n}" for n in range(MAX_ENTRIES)]


def test_a_version_is_left_out_whose_types_may_be_those_of_a_broken_file(tmp_path):
    path = write(tmp_path, f"{NEWER}  types: {{T: mine}}\n{OLD}  types: {{T: floats}}\n")
    operator, findings = read_operator(path, SETS, complete=False)
    assert findings == [] and not operator.whole
    assert [each.since_version for each in operator.schemas] == [1]
    assert [each.since_version for each in operator.damaged.schemas] == [2]
    path = write(tmp_path, f"{NEWER}    types: {{T: [+mine]}}\n  types: {{T: float}}\n{OLD}  types: {{T: floats}}\n")
    operator, findings = read_operator(path, SETS, complete=False)
    assert findings == [] and not operator.whole and operator.gaps == {2}


def test_a_version_without_a_number_is_none_of_an_operators(tmp_path):
    operator, findings = read_operator(write(tmp_path, f"{ONE}- doc: more\n"), SETS)
    assert [each.code for each in findings] == ["S104"]
    assert [each.since_version for each in operator.schemas] == [1]
    assert [each["doc"] for each in operator.root.plain()["versions"]] == ["it"]
    assert operator.place(1, "doc") == f"{operator.path}:5:8"


def test_the_domain_is_the_folder_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "com.acme" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "com.acme")
    assert {domain_of(Path(each)) for each in ("A.yaml", "./A.yaml", "../com.acme/A.yaml")} == {"com.acme"}
    monkeypatch.chdir("in")
    assert domain_of(Path("../A.yaml")) == "com.acme"
    assert domain_of(Path("ai.onnx/A.yaml")) == ""
    operator, findings = read_operator(write(tmp_path, ONE, domain="com.\x1bacme"), SETS)
    assert operator.domain == "com.\x1bacme" and not operator.whole
    assert [(each.code, each.message) for each in findings] == [
        ("S215", "the name of the folder, which is the domain, has control characters")
    ]


def test_after_too_many_findings_no_more_files_are_read(tmp_path, monkeypatch):
    files = [write(tmp_path, ONE.replace("doc", "dok"), name) for name in ("A", "B", "C", "D")]
    monkeypatch.setattr(loader, "MAX_FOLDER_FINDINGS", 4)
    findings = read_operators(files, SETS)[1]
    last = findings[-1]
    assert [each.code for each in findings] == ["S103", "S104", "S103", "S104", "S102"]
    assert (last.message, last.place, last.help) == (
        "files of this folder were not read: 2, of which this is the first",
        f"{files[2]}:1:1",
        "mend the others first",
    )
    assert last.why == "the ones before have more than 4 findings"
    assert [each.code for each in read_operators(files[:2], SETS)[1]] == ["S103", "S104"] * 2


def test_after_too_many_steps_no_more_files_are_read(tmp_path, monkeypatch):
    files = [write(tmp_path, ONE, name) for name in ("A", "B", "C")]
    monkeypatch.setattr(loader, "reading_budget", lambda: Budget(Limits(), max_steps=15))
    operators, findings = read_operators(files, SETS)
    assert len(operators) == 1 and [each.code for each in findings] == ["S102", "S102"]
    assert findings[1].place == f"{files[2]}:1:1" and "of which this is the first" in findings[1].message
    assert findings[1].why == "the ones before took more than 524,288 steps"


def test_files_of_operators_are_those_of_domains_in_order_and_not_too_many(tmp_path, monkeypatch):
    files = [write(tmp_path, ONE, name, domain) for domain in ("b", "a") for name in ("Z", "Y")]
    (tmp_path / "a" / "notes.txt").touch()
    (tmp_path / "Top.yaml").touch()
    assert operator_files(tmp_path) == sorted(files)
    assert siblings(tmp_path / "a") == sorted(files[2:]) and siblings(tmp_path / "nowhere") == []
    for place, message in (
        (tmp_path / "nowhere", "there is no such file or folder"),
        (files[0], "this is not a folder of operator files"),
    ):
        with pytest.raises(SchemaError, match=message) as caught:
            operator_files(place)
        assert (caught.value.code, caught.value.place) == ("S101", f"{place}:1:1")
    monkeypatch.setattr(folders, "MAX_FILES", 4)
    assert operator_files(tmp_path) == sorted(files)
    write(tmp_path, ONE, "X", "a")
    with pytest.raises(SchemaError, match="it holds more than 4 operator files"):
        operator_files(tmp_path)
    monkeypatch.setattr(folders, "MAX_FILES", 3)
    assert siblings(tmp_path / "a") == []
    with pytest.raises(SchemaError, match="a holds more than 3 files"):
        operator_files(tmp_path)


def test_a_set_of_sets_does_not_grow_without_end(tmp_path):
    lines = ["s0: [float, double]"] + [f"s{n + 1}: [s{n}, seq(s{n}), optional(s{n})]" for n in range(60)]
    (tmp_path / "types.yaml").write_text("\n".join(lines))
    with pytest.raises(SchemaError) as caught:
        load_sets(tmp_path / "types.yaml")
    assert caught.value.code in ("S102", "S107")


def test_many_lists_of_large_sets_are_refused(tmp_path):
    lists = "".join(f"    T{n}: [tensors_ir14, seq(tensors_ir14)]\n" for n in range(25000))
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, ONE + "  types:\n" + lists)
    assert caught.value.code == "S102"


# What the standard's files say prints back.


def test_a_function_body_prints_as_a_literal_block():
    bodies = [{"opset": 7, "where": {"mode": "a"}, "nodes": "y = Neg (x)\nz = Abs (y)\n"}]
    printed = dump_document({"versions": [{"since": 1, "function": bodies}]})
    assert printed == (
        "versions:\n- since: 1\n  function:\n  - opset: 7\n    where: {mode: a}\n"
        "    nodes: |\n      y = Neg (x)\n      z = Abs (y)\n"
    )


@pytest.mark.parametrize("domain", ["ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"])
def test_every_file_prints_back(domain):
    files = [path for path in FILES if path.parent.name == domain]
    assert files
    for path in files:
        assert dump_operator(load_operator(path, SETS)) == path.read_text(encoding="utf-8"), path


def test_there_is_a_file_for_every_operator():
    schemas = [schema for operator in load_folder(FOLDER)[0] for schema in operator.schemas]
    released = {(schema.domain, schema.name) for schema in schemas if is_released(schema)}
    assert len(released) == len(OPERATORS) == 227
    assert len({(schema.domain, schema.name) for schema in schemas}) == len(FILES)


def test_no_line_is_wider_than_120_columns():
    for path in (*FILES, FOLDER / "types.yaml"):
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120, path


def test_another_yaml_reader_reads_the_same():
    def same(ours, theirs):
        if isinstance(ours, dict):
            return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in ours)
        if isinstance(ours, list):
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        # 1e-05 is a number in YAML 1.2 and text in 1.1.
        return repr(ours) == repr(float(theirs) if isinstance(ours, float) else theirs)

    for path in FILES:
        theirs = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        assert same(read(path.read_bytes(), Findings(str(path))).plain(), theirs), path


TEXTS = st.text(
    alphabet=st.sampled_from("aé x:#-,[]{}'\"\\&*!|>%@`?~0.1e\n\t=\u2028\U0001f600+"), max_size=300
) | st.sampled_from(
    [
        "",
        " ",
        "null",
        "true",
        "1",
        "1e-5",
        "- a",
        "a: b",
        "a #b",
        "a ",
        " a",
        "a\n",
        "a\n\nb",
        "\na",
        "---",
        "...",
        "<<",
    ]
)
KEYS = TEXTS.map(lambda text: text[:80])
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
NESTED = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
PHRASED = st.dictionaries(st.sampled_from(["name", "type", "doc"]), TEXTS)
VERSIONS = st.fixed_dictionaries(
    {"since": st.integers(1, 99)},
    optional={
        "doc": TEXTS,
        "formula": TEXTS,
        "counterparts": st.dictionaries(KEYS, TEXTS, max_size=3),
        "change": st.dictionaries(st.sampled_from(["meaning", "types", "attributes"]), NESTED),
        "inputs": st.lists(PHRASED, max_size=3),
        "attributes": st.dictionaries(KEYS, PHRASED, max_size=3),
        "types": st.dictionaries(KEYS, TEXTS | st.lists(TEXTS, max_size=3), max_size=3),
        "constraints": st.dictionaries(st.sampled_from(["C1"]), TEXTS, max_size=1),
        "extra": NESTED,
    },
)
EXAMPLES = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={
        "since": st.integers(),
        "attributes": st.dictionaries(KEYS, VALUES | st.lists(VALUES, max_size=40), max_size=3),
        "inputs": st.lists(st.dictionaries(KEYS, st.lists(VALUES, max_size=80), max_size=2), max_size=3),
        "outputs": NESTED,
        "error": TEXTS,
    },
).map(lambda each: {key: each[key] for key in Example._fields if key in each})


@settings(max_examples=draws(250))
@given(
    st.fixed_dictionaries(
        {"operator": TEXTS, "family": TEXTS, "versions": st.lists(VERSIONS, min_size=1, max_size=3)},
        optional={"examples": st.lists(EXAMPLES, max_size=3)},
    )
)
def test_what_is_printed_reads_back(document):
    text = dump_document(document)
    for kind in (yaml.SafeLoader, yaml.CSafeLoader):
        findings = Findings("f")
        again = read(text.encode("utf-8"), findings, kind).plain()
        assert findings == []
        assert repr(again) == repr(document)
    assert dump_document(again) == text


def test_broken_files_raise_nothing_else(tmp_path):
    rng = random.Random(7)
    texts = [path.read_text() for path in rng.sample(FILES, 12)] + [TWO]
    broken = 0
    for text, _ in itertools.product(texts, range(30)):
        start = rng.randrange(len(text))
        junk = rng.choice(["", "{", "]", "\n", ": ", "- ", "null", "1", "'", "\t", text[:20], "\x00", "&a", "   "])
        edited = text[:start] + junk + text[start + rng.choice([0, 1, 5, 40]) :]
        try:
            load(tmp_path, edited)
        except SchemaError as error:
            broken += 1
            assert all(finding.place.startswith(str(tmp_path)) for finding in error.findings)
    assert broken > 100


# Types and numbers.


@pytest.mark.parametrize(
    "text",
    [
        "tensor(int64)",
        "seq(map(int64, float))",
        "optional(seq(tensor(string)))",
        "map(string, tensor(float))",
        "sparse_tensor(float)",
    ],
)
def test_whole_types(text):
    assert is_type(text)
    assert list(expand(text, {})) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "float",
        "tensor(x)",
        "tensor()",
        "map(float, int64)",
        "map(int64,float)",
        "seq(int64)",
        "seq(" * 5000,
        "seq(" * 9 + "tensor(float)" + ")" * 9,
    ],
)
def test_what_is_no_whole_type(text):
    assert not is_type(text)


def test_types_are_nested_up_to_a_depth():
    assert [*expand("seq(" * 9 + "float" + ")" * 9, {})] == ["seq(" * 9 + "tensor(float)" + ")" * 9]
    with pytest.raises(KeyError):
        expand("seq(" * 20 + "float" + ")" * 20, {})


TYPES = st.builds(
    lambda wrapper, element: wrapper.format(f"tensor({element})"),
    st.sampled_from(["{}", "seq({})", "optional({})", "optional(seq({}))"]),
    st.sampled_from(sorted(NUMBERS)),
)


@settings(max_examples=draws(200))
@given(
    st.sets(TYPES | st.just("map(int64, float)"), min_size=1, max_size=60),
    st.sets(st.sampled_from(sorted(SETS)), max_size=3),
)
def test_the_shortest_list_stands_for_the_same_types(types, names):
    wanted = types.union(*(SETS[name] for name in names))
    short = shortest_expressions(wanted, SETS)
    assert {type_ for expression in short for type_ in expand(expression, SETS)} == wanted
    assert len(short) <= len(wanted)


def test_the_shortest_list_of_a_set_is_its_name():
    for name, types in SETS.items():
        assert shortest_expressions(types, SETS) == [name]
    wrapped = ["optional(seq(tensor(int2)))", "seq(map(int64, tensor(float)))", "sparse_tensor(float)", "tensor(int2)"]
    assert shortest_expressions(wrapped, {}) == ["optional(seq(int2))", *wrapped[1:3], "int2"]


@pytest.mark.parametrize(
    ("name", "missing", "beside", "phrase"),
    [
        ("floats", [], [], "floats"),
        ("floats", [], ["string"], "floats, string"),
        ("float8", ["float8e4m3fn"], [], "float8 without float8e4m3fn"),
        ("float8", ["float8e4m3fn", "float8e5m2"], [], "float8e4m3fnuz, float8e5m2fnuz"),
        ("wide_ints", ["int32", "uint32"], [], "int64, uint64"),
        ("ints", ["int16"], ["string"], "string, ints without int16"),
        ("numeric_ir4", ["bfloat16"], [], "numeric"),
        ("numeric_ir4", ["bfloat16", "double"], [], "numeric without double"),
        ("tensors_ir12", ["bfloat16", "bool"], [], "tensors_ir12 without bfloat16, bool"),
        ("tensors_ir12", ["bfloat16", "bool", "complex128"], [], "complex64, castable_ir12 without bfloat16, bool"),
        ("quantized_ir13", ["float4e2m1", "int2", "uint2"], [], "quantized_ir10"),
    ],
)
def test_types_as_a_phrase(name, missing, beside, phrase):
    types = {*SETS[name]} - {f"tensor({each})" for each in missing} | {f"tensor({each})" for each in beside}
    assert compact_types(types, SETS) == phrase


@given(st.floats(width=32, allow_nan=False))
def test_a_short_float_is_the_same_float32(value):
    assert struct.pack("<f", short_float(value)) == struct.pack("<f", value)
    assert float32(short_float(value)) == value
    assert len(repr(short_float(value))) <= len(repr(value))


def test_short_floats():
    assert [short_float(float32(x)) for x in (15.9499655, 1e-5, 0.1, 3.4028234663852886e38, 1.6732632)] == [
        15.9499655,
        1e-5,
        0.1,
        3.4028235e38,
        1.6732632,
    ]
    assert repr(short_float(-0.0)) == "-0.0"


DECLARED = """\
operator: Scale
family: acme
versions:
- since: 2
  change:
    attributes: {kind: {added: string, default: a}}
    adapters: {up: derived, down: derived}
  doc: Scales.
  inputs:
  - {name: X, type: T, doc: what is scaled}
  attributes:
    axis: {type: int, default: -1, kind: axis, constraint: C1, doc: where}
    by: {type: floats, default: [0.5], range: 0 < x <= 1, constraint: C3, doc: how}
    kind: {type: string, default: a, choices: [a, b], constraint: C2, doc: which}
    only: {type: int, kind: bool, doc: whether}
    to: {type: int, kind: data_type, choices: [T, int8], constraint: C2, doc: into}
  types:
    T: floats
  constraints:
    C3: by is small
- since: 1
  like: 2
  attributes:
    axis: {default: 0, range: ">= 0"}
    by: {range: null, constraint: null}
    only: {kind: null}
    to: {kind: null, choices: null, constraint: null}
    kind: null
"""


def test_attributes_declare_their_values(tmp_path):
    operator = load(tmp_path, DECLARED)
    assert dump_operator(operator) == DECLARED
    new = operator.schemas[1]
    assert new.attributes["axis"] == Attribute("axis", "int", -1, kind="axis", constraint="C1")
    assert new.attributes["by"] == Attribute("by", "floats", (0.5,), range="0 < x <= 1", constraint="C3")
    assert new.attributes["kind"] == Attribute("kind", "string", "a", choices=("a", "b"), constraint="C2")
    assert new.attributes["to"].choices == ("T", "int8")
    assert operator.docs[1].constraints == {
        "C1": "-rank(X) <= axis < rank(X)",
        "C2": "kind is a or b; to is the number of a type in T or int8",
        "C3": "by is small",
    }
    assert operator.docs[0].constraints == {"C1": "axis >= 0 and -rank(X) <= axis < rank(X)", "C3": "by is small"}
    assert new.change.attributes == {"kind": AttributeChange("a")}
    index, prose, _ = compile_operators([operator], {})
    assert make_schema(index, "com.acme", "Scale", 1).attributes == new.attributes
    assert make_docs(prose, "com.acme", "Scale", 1) == operator.docs[0]


@pytest.mark.parametrize(
    ("attributes", "old"),
    [
        ("{a: {added: int, default: 1}}", 1),
        ("{a: {added: int, default: 1, old: 2}}", 2),
        ("{a: {added: int, default: 1, negative: true}}", 1),
        ("{a: {old: 2}}", 2),
        ("{b: {added: int}}", None),  # which no version has: another rule says so
        ("{b: {old: 2}}", 2),
    ],
)
def test_the_old_value_of_an_attribute_that_was_added_is_its_default(attributes, old, tmp_path):
    text = f"{NEWER}    attributes: {attributes}\n  attributes: {{a: {{type: int, default: 1, doc: it}}}}\n{OLD}"
    (declared,) = load(tmp_path, text).schemas[1].change.attributes.values()
    assert declared == AttributeChange(old, negative="negative" in attributes)
    operator, _ = read_operator(write(tmp_path, text.replace(attributes, "{a: {old: {}}}")), SETS)
    assert operator.schemas[1].change.attributes["a"].old is None


def test_a_wrong_default_stands_for_none_at_all(tmp_path):
    entries = "a: {type: int, default: x}, b: {type: float, default: x}, c: {type: string, default: 1}"
    text = f"{ONE}  attributes: {{{entries}, d: {{type: ints, default: 1}}, e: {{type: graph, default: 1}}}}\n"
    (schema,) = read_operator(write(tmp_path, text), SETS)[0].damaged.schemas
    assert [each.default for each in schema.attributes.values()] == [0, 0.0, "", (), None]


@pytest.mark.parametrize(
    "entry",
    [
        "{type: int, kind: bool, default: 0, doc: x}",
        "{type: ints, kind: bool, default: [1, 0], doc: x}",
        "{type: int, kind: data_type, choices: [T, int8], default: 1, doc: x}",
        "{type: string, kind: any_case, choices: [a, b], default: a, doc: x}",
        "{type: int, kind: axis, range: '>= 0', default: 0, doc: x}",
        "{type: int, range: '>= 0', doc: x}",
        "{type: int, choices: [1], doc: x}",
    ],
)
def test_declarations_that_fit(tmp_path, entry):
    load(tmp_path, declared(entry))


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ("{type: int, kind: axis, choices: [0], doc: x}", "S103", "says all"),
        ("{type: ints, kind: axes, choices: [0], doc: x}", "S103", "says all"),
        ("{type: int, kind: data_type, range: '> 0', doc: x}", "S103", "says all"),
        ("{type: string, default: c, choices: [a, b], doc: x}", "S105", "the default 'c' is not legal"),
        ("{type: int, choices: [a], doc: x}", "S105", "a whole number has to stand here"),
        ("{type: int, choices: [], doc: x}", "S105", "at least one value"),
        ("{type: int, choices: [1, 1], doc: x}", "S106", "duplicate"),
        ("{type: tensor, choices: [1], doc: x}", "S105", "has no choices"),
        ("{type: string, choices: [[a]], doc: x}", "S105", "text has to stand here"),
        ("{type: int, default: -1, range: '>= 0', doc: x}", "S105", "the default -1 is not legal"),
        ("{type: int, range: '=> 0', doc: x}", "S105", "is no comparison"),
        ("{type: string, range: '> 0', doc: x}", "S105", "has no range"),
        ("{type: int, range: x < rank(Z), doc: x}", "S107", "there is no input 'Z'"),
        ("{type: float, kind: axis, doc: x}", "S105", "a kind for the type float"),
        ("{type: int, kind: asix, doc: x}", "S105", "is not one of"),
        ("{type: int, kind: bool, default: 2, doc: x}", "S105", "the default 2 is not legal"),
        ("{type: int, kind: bool, choices: [0], doc: x}", "S103", "says all"),
        ("{type: int, choices: [1], range: '> 0', doc: x}", "S103", "says all"),
        ("{type: int, kind: bool, range: '> 0', doc: x}", "S103", "says all"),
        ("{type: string, choices: [b], default: a, constraint: C2, doc: x}", "S105", "the default 'a' is not legal"),
        ("{type: ints, choices: [1, 2], default: [2, 3], doc: x}", "S105", "the default 3 is not legal"),
        ("{type: graph, range: '> 0', doc: x}", "S105", "has no range"),
        ("{type: int, kind: data_type, choices: [W], doc: x}", "S107", "element type or type constraint 'W'"),
        ("{type: int, kind: data_type, choices: [''], doc: x}", "S105", "a name must not be empty"),
        ("{type: int, constraint: C1, doc: x}", "S103", "nothing is declared"),
        ("{type: int, kind: bool, constraint: one, doc: x}", "S105", "no label"),
    ],
)
def test_declarations_that_do_not_fit(tmp_path, entry, code, said):
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, declared(entry))
    assert [each.code for each in caught.value.findings] == [code]
    assert said in caught.value.findings[0].message


def declared(entry):
    """Return the text of an operator with an attribute of these declarations."""
    lines = DECLARED.split("- since: 1")[0].splitlines()
    text = "\n".join([*lines[:4], *lines[7:]]) + "\n"  # without the change
    return text.replace("    only: {type: int, kind: bool, doc: whether}", f"    only: {entry}")


LIKE = """\
operator: Scale
family: acme
versions:
- since: 1
  doc: it
  inputs:
  - {name: X, type: T}
  outputs:
  - {name: Y, type: T}
  attributes:
    a: {type: ints}
    b: {type: int}
  types:
    T: floats
  constraints:
    C1: it is so
examples:
- {name: one, since: 1, attributes: {a: [1, 2], b: 3}, inputs: [{float: 1}], outputs: [{float: 1}]}
- {name: two, like: one, attributes: {b: 4}, inputs: [{float: 1}]}
- {name: three, like: two, doc: another, attributes: {a: null}, outputs: null, error: C1}
"""


def test_an_example_has_what_it_does_not_write_of_one_above(tmp_path):
    operator = load(tmp_path, LIKE)
    one, two, three = operator.examples
    assert [each.attributes for each in (one, two, three)] == [{"a": [1, 2], "b": 3}, {"a": [1, 2], "b": 4}, {"b": 4}]
    assert (two.inputs, two.outputs, two.since) == (one.inputs, one.outputs, 1)
    assert (three.inputs, three.outputs, three.error, three.doc) == (one.inputs, None, "C1", "another")
    assert dump_operator(operator) == LIKE


def test_like_is_printed_where_it_saves_lines(tmp_path):
    numbers = str(list(range(200)))
    text = LIKE.replace("a: [1, 2]", f"a: {numbers}")
    text = text.replace(
        "like: one, attributes: {b", f"since: 1, outputs: [{{float: 1}}], attributes: {{a: {numbers}, b"
    )
    operator = load(tmp_path, text)
    printed = dump_operator(operator)
    assert "like: one" in printed and printed.count("199") == 1
    again = load(tmp_path, printed)
    assert again.examples == operator.examples and dump_operator(again) == printed


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("like: one", "since: 1, outputs: [null], like: three", "S107 19:48"),
        ("like: one", "since: 1, outputs: [null], like: two", "S107 19:48"),
        ("like: one", "since: 1, outputs: [null], like: 1", "S105 19:48"),
        ("attributes: {b: 4}", "attributes: {c: 4}", "S107 19:39"),
        ("outputs: null, error", "error", "S103 20:65"),
        ("outputs: null", "tolerance: null, outputs: null", "S107 20:76"),
    ],
)
def test_like_names_an_example_above(old, new, expected, tmp_path):
    path = write(tmp_path, LIKE.replace(old, new))
    with pytest.raises(SchemaError) as caught:
        load_operator(path, SETS)
    found = [f"{each.code} {each.place.removeprefix(f'{path}:')}" for each in caught.value.findings]
    assert expected in found


def test_many_examples_like_a_large_one_are_refused(tmp_path):
    large = LIKE.replace("a: [1, 2]", f"a: [{', '.join(['1'] * 20000)}]")
    values = "inputs: [{float: 1}], outputs: [{float: 1}]"
    more = "".join(f"- {{name: n{n}, since: 1, like: one, {values}}}\n" for n in range(3000))
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, large + more)
    assert "S102" in {each.code for each in caught.value.findings}


def test_special_cases_and_examples_say_on_which_ground_they_stand(tmp_path):
    cases = "[plain, {text: open, chosen: ties}, {text: said, stated: 2 summary}]"
    operator = load(tmp_path, f"{SCALE}special_cases: {cases}\n")
    found = operator.docs[-1].special_cases
    assert [(each.text, status_of(each), ground_of(each)) for each in found] == [
        ("plain", "derived", ""),
        ("open", "chosen", "ties"),
        ("said", "stated", "2 summary"),
    ]
    both = "[{text: both, chosen: ties, stated: 2 summary}]"
    with pytest.raises(SchemaError, match="what is stated is not chosen"):
        load(tmp_path, f"{SCALE}special_cases: {both}\n")


def test_keys_that_versions_had_say_what_to_write_instead(tmp_path):
    text = SCALE.replace("  doc: ", "  special_cases: [x]\n  same_as: 1\n  shares: [inputs]\n  doc: ", 1)
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    helps = {each.message.split("'")[1]: each.help for each in caught.value.findings if each.code == "S103"}
    like = "write like: N; what the version does not write is that of version N"
    assert helps == {
        "special_cases": "special cases stand beside examples, with since and until",
        "same_as": like,
        "shares": like,
    }
