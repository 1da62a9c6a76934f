"""The text syntax of ONNX: what onnx.parser reads is read to the same bytes, and the rest is told with its place."""

import struct
from decimal import Decimal, localcontext

import onnx
import onnx.onnx_cpp2py_export.parser as oracle
import onnx.printer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from opset.errors import ModelError
from opset.model import load
from opset.model import proto as pb
from opset.model.elements import ELEMENTS, STRING
from opset.model.storage.tensor import tensor_values
from opset.model.text.printing import LAYOUT_WIDTH, lay_out_graph
from opset.model.text.syntax import (
    parse_function,
    parse_graph,
    parse_model,
    parse_node,
)
from tests.bounds import draws, growth

READERS = {
    "node": (parse_node, oracle.parse_node, onnx.NodeProto),
    "graph": (parse_graph, oracle.parse_graph, onnx.GraphProto),
    "function": (parse_function, oracle.parse_function, onnx.FunctionProto),
    "model": (parse_model, oracle.parse_model, onnx.ModelProto),
}


def encoded(message):
    return message.SerializeToString(deterministic=True)


def oracle_reads(kind, text):
    """Return the bytes that onnx.parser reads, or None where it refuses (which it does in more than one way)."""
    _, parse, message = READERS[kind]
    try:
        success, _, data = parse(text)
    except Exception:  # std::stoll and its like come through as they are
        return None
    return encoded(message.FromString(data)) if success else None


def agree(kind, text):
    expected = oracle_reads(kind, text)
    assert expected is not None, text
    assert encoded(READERS[kind][0](text)) == expected, text


def error_of(kind, text):
    with pytest.raises(ModelError) as caught:
        READERS[kind][0](text)
    (finding,) = caught.value.findings
    return finding


NODES = r"""
y = Add(x, w)|y = Add(x,)|y = Add(,x)|y = Add(x,,w)|y = Add("", x)|y = Add("a b", x)|= Add(x)|y, z = Add(x)
y,, z = Add(x)|,y = Add(x)|"", y = Add(x)|y, = Add(x)|, = A()|,, = A(,,)|y = A("",)|y = A(x,"")|"y" = Bar ( )
y = Foo.Bar(x)|y = a.b.c.Bar:ov(x)|y = Bar : ov (x)|y = Foo . Bar(x)|y=Bar(x)#|y = Bar (#c "x"¶x)
[name] y = Bar(x)|["na me"] y = Bar(x)|[] y = Bar(x)|[n]= Bar(x)|float = int64(seq)|y = inf.nan(int, inf)
y = Bar("é\"x\\n\t\é")|y = Bar("a¶b#c")|y = Bar("a\¶b")|_a1 = A(_)
"""

ATTRIBUTES = r"""
a=1|a=-1|a=010|a=1.0|a=5.|a=1e5|a=1.e5|a=1E-5|a=-0.0|a="x"|a=""|a="é\q\"\\"|int=1|float=1|a=1, a=2, b="x"
a=9223372036854775807|a=-9223372036854775808|a=1e-50|a=1e-400|a=16777217.0|a=0.1|a=-inf|a=inf|a=Infinity|a=NaN|a=-nan
a=1.00000005960464477539062500000000001|a=7.0064923216240853546186479164496e-46|a=3.4028235e38|a=-infinity
a:float=1|a:float=16777217|a:float=9223372036854775808|a:float=-nan|a:float=1.00000005960464477539062499999999
a:floats=[1, -2, 3.5, 1e3, inf]|a:floats=[]|a=[1.5, 2]|a=[inf, 1, nan]|a=[1, 2]|a:ints=[1]|a:ints=[]|a:int=1
a=["a","é"]|a:strings=[""]|a:string="s"|a:strings=[]|a:tensors=[]|a:sparse_tensors=[]|a:graphs=[]|a:type_protos=[]
a=@x|a=@ "x y"|a:int=@x|a:graph=@x|a:sparse_tensor=@x|a:sparse_tensors=@x|a:type_protos=@x|a:tensor=@x
a=float|a=float[2]|a=float[N]|a=float[]|a:type_proto=float[?, N, 3, -1, "N x", ""]|a=seq(float[N])|a=map(int64, float)
a=map(string, seq(map(int32, float[2])))|a=optional(optional(seq(float[])))|a=sparse_tensor(float[3])|a=opaque()
a=sparse_tensor(float)|a=sparse_tensor(float[])|a=seq(sparse_tensor(float))|a=opaque(a.b)|a=opaque(a, b)|a=opaque(x)
a=float {1.5}|a=float[2] {1.5, 2}|a=float[2] n {1, 2}|a=float[2] n = {1, 2}|a:tensor = float[1] = {inf}|a=float[0] {}
a=float[4] {-0.0, -0, 1e-46, -1e-46}|a=float[2] {-nan, nan}|a=double[4] {0.1, 12345678901234567890, -inf, -nan}
a=int32[2] {2147483647, -2147483648}|a=int64[1] {9223372036854775807}|a=bool[2] {1, 0}
a=uint64[1] {18446744073709551615}|a=uint8[1] {255}|a=int8[2] {-128, 127}|a=uint16[1] {65535}|a=int16[1] {-32768}
a=uint32[1] {4294967295}|a=float16[1] {1}
a=bfloat16[2] {65535, -1}|a=complex64[1] {1,2}|a=complex128[2] {1,2,3,4.5}|a=string[2] {"a", "é"}|a=int4[3] {225, 7}
a=float[1] = ["location": "f.bin", "offset": "0"]|a=float[1] w = ["location": "f.bin", "unknown": "0"]
a = g (x) => (y) {}|a:graph = g (float x) => (y) {y = A(x) z = B(y)}|a = graph () => () {}|a = info () => () {}
t = g () => () {y = C()}, e = h () => (z) <float[1] w = {1}, int64 q> {z = D()}
"""

GRAPHS = r"""
g (float[N] x) => (float[N] y) { y = Add(x, w) }|g (x) => (y) {}|"g h" () => () {}|g(float x,z)=>(float y,w){}
g (x) => (y) { y = A(x) z = B(x) [n] q, = C(z) = D() , r = E() }|g ("a b", float "c d") => ("e") { }
g (float[2] float, seq(float) y, optional(float) z, sparse_tensor(float[2]) w, opaque(x) q) => (y) {}
g (float[2] x = {1, 2}, z) => (y) {}|g (float x = {1}) => (y) {}|g (float[2] w = ["location": "a"]) => () {}
g (x) => (y) <float w> {}|g (x) => (y) <> {}|g (x) => (y) <w, float[2] v = {1,2}, int64 q, float z = {1}> {}
g (x) => (y) <float[2] w = ["location": "a", "offset": "0", "length": "8"]> {}
g (float[N,M,"N*2",?] x, float [2] y) => () {}
g (x) => (x) { y = A <t = h () => () <float[1] c = {1}, float d> {}> (x) z = If (y) <t = h () => () {}> q = B (z) }
# one¶g (x) => (y) { # two " ¶ # three¶ y = A(x) # four¶ }# five
"""

FUNCTIONS = r"""
<domain: "d", opset_import: ["":17, "a.b": 2]> f (a) => (b) {b = A(a)}|f () => () {}|"f g" (a) => (b) {}
<domain: "d", opset_import: [], overload: "o", doc_string: "z¶y"> f (a) => (b) {}|f <x> (a) => (b) {}
f <x, y: int = 3, z: float, "u v", w> (a) => (b) {}|f <y = 3> (a) => (b) {}|f <y: int = @x, z = @y> (a) => (b) {}
f <a: graph, b: ints = [], c = float[1] {1}, "d e": strings> (x) => (y) {}|f ("", a) => (b) {}
f (float a, c) => (float[2] b) {}|f (seq(float) a) => (b) <float c, d> {}|f (x, float[2] "b c") => ("d") <> {}
<domain: "d"> f <x> (a) => (b) {b = A<v = @x, w: ints = @z>(a) [n] c = B()}
"""

MODELS = r"""
<ir_version: 8, opset_import: ["" : 17]> g (x) => (y) {}|g (x) => (y) {}|<opset_import: ["a": -1]> g () => () {}
<producer_name: "p", producer_version: "v", domain: "d", model_version: 3, doc_string: ""> g () => () {}
<metadata_props: ["a": "b", "a": "d"]> g () => () {}
<metadata_props: []> g () => () {}|<ir_version: -8> "g" () => () {}
<ir_version: 8> g () => () {} <domain: "d", opset_import: ["": 17]> f (a) => (b) {b = A(a)} h <x> () => () {}
"""


def cases(text, around="{}"):
    """Return the texts between bars and line breaks, where ¶ stands for a line break inside one."""
    return [around.replace("{}", case.replace("¶", "\n")) for case in text.strip("\n").replace("|", "\n").split("\n")]


READ_ALIKE = [
    *(("node", text) for text in cases(NODES)),
    *(("node", text) for text in cases(ATTRIBUTES, "y = A <{}> (x)")),
    *(("node", text) for text in cases(ATTRIBUTES, "y = A (x) <{}>")),
    *(("graph", text) for text in cases(GRAPHS)),
    *(("function", text) for text in cases(FUNCTIONS)),
    *(("model", text) for text in cases(MODELS)),
    ("node", "\ty\r=\v\fBar\n(x) "),
    ("node", 'y = A("\x1b\u2028")'),
]


def test_reads_what_the_oracle_reads():
    for kind, text in READ_ALIKE:
        agree(kind, text)


@pytest.mark.parametrize("number", ELEMENTS)
def test_every_element_type(number):
    name = TensorProto.DataType.Name(number).lower()
    values = '"0", "1"' if number == STRING else "0, 1"
    count = {"complex64": 1, "complex128": 1}.get(name, 2)
    count *= 8 // ELEMENTS[number].bits if number != STRING and ELEMENTS[number].bits in (2, 4) else 1
    inputs = f"{name} a, {name}[N, 2] b, seq({name}) c, map({name}, {name}[]) d"
    text = f"g ({inputs}) => () <{name}[{count}] w = {{{values}}}> {{}}"
    expected = oracle_reads("graph", text)
    graph = parse_graph(text)
    assert encoded(graph) == expected
    assert graph.initializer[0].data_type == graph.input[3].type.map_type.key_type == number


def test_what_onnx_prints_is_read():
    """Data of float16 stands there as bit patterns."""
    weights = [
        helper.make_tensor("half", TensorProto.FLOAT16, [2], [1.5, -2]),
        helper.make_tensor("whole", TensorProto.INT8, [1], [-3]),
    ]
    nodes = [helper.make_node("Constant", [], [weight.name], value=weight) for weight in weights]
    text = onnx.printer.to_text(helper.make_graph(nodes, "g", [], []))
    values = [tensor_values(None, node.attribute[0].t) for node in parse_graph(text).node]
    assert values == [[1.5, -2.0], [-3]]


def test_small_elements_are_packed():
    nibbles = parse_node("y = A <a = int4[3] {225, 7}> ()").attribute[0].t
    assert tensor_values(None, nibbles) == [1, -2, 7]
    pairs = parse_node("y = A <a = uint2[5] {228, 1}> ()").attribute[0].t
    assert tensor_values(None, pairs) == [0, 1, 2, 3, 1]


# Where this reader is stricter or keeps more than onnx.parser, on purpose.

STRICTER = [
    ("node", "y = A(x) trailing", "1:10", "the end of the text, found 'trailing'"),
    ("node", "y = A <a=1> (x) <b=2>", "1:17", "the end of the text, found '<'"),
    ("node", "y = A(x); z = B(y)", "1:9", "the end of the text, found ';'"),
    ("graph", "g () => () {} x", "1:15", "the end of the text, found 'x'"),
    ("graph", "g => () {}", "1:3", "'(', found '=>'"),
    ("function", "f () => () {} }", "1:15", "the end of the text, found '}'"),
    ("node", "y = .A(x)", "1:5", "an operator, found '.'"),
    ("node", "y = A <a = float[1] w> ()", "1:22", "'=' or '{', found '>'"),
    ("node", "y = A <a = float[1] w => ()", "1:23", "'=' or '{', found '=>'"),
    ("node", "y = A <a = float[1] w = > ()", "1:25", "'{' or '[', found '>'"),
    ("graph", "g (float[-1] x = {1}) => () {}", "1:4", "dims that a tensor can have, found 'float[-1] x ='"),
    ("node", "y = A <a = [@x]> ()", "1:13", "a value, found '@'"),
    ("node", "y = A <a : int = [1]> ()", "1:18", "one value of type int, not a list, found '['"),
    ("node", "y = A <a = [float[1] {1}, float]> ()", "1:27", "a value of type tensor, found 'float'"),
    (
        "model",
        "<ir_version: 8, ir_version: 9> g () => () {}",
        "1:17",
        "a key (opset_import, producer_name, producer_version, domain, model_version, doc_string, "
        "metadata_props), found 'ir_version'",
    ),
    (
        "function",
        "f <a: foo> () => () {}",
        "1:7",
        "an attribute type (float, floats, int, ints, string, strings, tensor, tensors, graph, graphs, "
        "sparse_tensor, sparse_tensors, type_proto, type_protos), found 'foo'",
    ),
]


@pytest.mark.parametrize(("kind", "text", "place", "message"), STRICTER)
def test_refuses_what_the_oracle_takes_in_silence(kind, text, place, message):
    assert oracle_reads(kind, text) is not None
    finding = error_of(kind, text)
    assert (finding.code, finding.place, finding.message) == ("M301", place, f"expected {message}")


@pytest.mark.parametrize(
    ("type", "values", "found", "wanted"),
    [
        ("float[2]", "{}", 0, 2),
        ("float", "{1, 2}", 2, 1),
        ("int64[2, 2]", "{1, 2, 3}", 3, 4),
        ("float[0]", "{1}", 1, 0),
        ("int4[3]", "{1, 2, 3}", 3, 2),
        ("uint2[4]", "{1, 2}", 2, 1),
        ("float4e2m1[2]", "{}", 0, 1),
        ("float6e2m3[2]", "{1}", 1, 2),
        ("complex64[1]", "{1}", 1, 2),
        ("string[1]", "{'', ''}", 2, 1),
    ],
)
def test_the_number_of_values(type, values, found, wanted):
    values = values.replace("'", '"')
    text = f"y = A <a = {type} {values}> ()"
    assert oracle_reads("node", text) is not None
    finding = error_of("node", text)
    assert finding.message == f"expected as many values as the dims ask for, {wanted}, found '{values}'"
    assert (finding.place, finding.why) == (f"1:{text.index('{') + 1}", f"there are {found}")


@pytest.mark.parametrize(
    ("type", "lowest", "highest"),
    [
        ("bool", 0, 1),
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("int16", -(2**15), 2**15 - 1),
        ("uint16", 0, 2**16 - 1),
        ("int32", -(2**31), 2**31 - 1),
        ("uint32", 0, 2**32 - 1),
        ("int64", -(2**63), 2**63 - 1),
        ("uint64", 0, 2**64 - 1),
        ("float16", -(2**15), 2**16 - 1),
        ("bfloat16", -(2**15), 2**16 - 1),
        ("float8e5m2", -128, 255),
        ("float6e3m2", 0, 63),
        ("int4", -128, 255),
        ("uint2", -128, 255),
    ],
)
def test_the_bounds_of_values(type, lowest, highest):
    agree("node", f"y = A <a = {type} {{{lowest}}}, b = {type} {{{highest}}}> ()")
    for value in (lowest - 1, highest + 1):
        finding = error_of("node", f"y = A <a = {type} {{{value}}}> ()")
        assert finding.message == f"expected a whole number from {lowest} to {highest}, found '{value}'"


@pytest.mark.parametrize(
    ("value", "kind", "field", "items"),
    [
        ("[float[N], seq(int64)]", "TYPE_PROTOS", "type_protos", ["float[N]", "seq(int64)"]),
        ("[float[1] {1}, float[1] w {2}]", "TENSORS", "tensors", ["float[1] {1}", "float[1] w = {2}"]),
        ("[g () => () {}, h (x) => () {}]", "GRAPHS", "graphs", ["g () => () {}", "h (x) => () {}"]),
    ],
)
def test_keeps_lists_of_messages(value, kind, field, items):
    single = {"type_protos": "tp", "tensors": "t", "graphs": "g"}[field]
    for annotation in ("", f": {kind.lower()}"):
        (attribute,) = parse_node(f"y = A <a{annotation} = {value}> ()").attribute
        assert attribute.type == pb.AttributeProto.AttributeType.Value(kind)
        alone = [getattr(parse_node(f"y = A <a = {item}> ()").attribute[0], single) for item in items]
        assert list(getattr(attribute, field)) == alone


def test_every_name_may_stand_in_quotes():
    attributes = '"a/b" = "g h" () => () {}, t = float "w:0" {1}, o = opaque("d-e", "f g")'
    node = parse_node(f'y = "com.my-co"."Op 1.2":"o-2" <{attributes}> ()')
    assert (node.domain, node.op_type, node.overload) == ("com.my-co", "Op 1.2", "o-2")
    assert [attribute.name for attribute in node.attribute] == ["a/b", "t", "o"]
    assert (node.attribute[0].g.name, node.attribute[1].t.name) == ("g h", "w:0")
    assert (node.attribute[2].tp.opaque_type.domain, node.attribute[2].tp.opaque_type.name) == ("d-e", "f g")


# What both refuse, with the message and the place.

REFUSED = [
    ("node", "", "1:1", "'=' or ',', found the end of the text"),
    ("node", "Add(x)", "1:4", "'=' or ',', found '('"),
    ("node", "y =", "1:4", "an operator, found the end of the text"),
    ("node", "y = Add", "1:8", "'(' or '<', found the end of the text"),
    ("node", "y = Add <a=1> x", "1:15", "'(', found 'x'"),
    ("node", "y = Add (x y)", "1:12", "')' or ',', found 'y'"),
    ("node", "y = Add\n  (x,\n\té)", "3:2", "')' or ',', found 'é'"),
    ("node", "y = a..B()", "1:7", "an operator, found '.'"),
    ("node", "y = B:1()", "1:7", "the overload of the function, found '1'"),
    ("node", "[1] y = B()", "1:2", "the name of the node, found '1'"),
    ("node", "[n y = B()", "1:4", "']', found 'y'"),
    ("node", "y = A <> ()", "1:8", "the name of an attribute, found '>'"),
    ("node", "y = A <a=1,> ()", "1:12", "the name of an attribute, found '>'"),
    ("node", "y = A <a> ()", "1:9", "'=', found '>'"),
    ("node", "y = A <a: int> ()", "1:14", "'=', found '>'"),
    ("node", "y = A <a=1 b=2> ()", "1:12", "'>' or ',', found 'b'"),
    ("node", "y = A <a=exact> ()", "1:10", "a value, found 'exact'"),
    ("node", "y = A <a=@1> ()", "1:11", "the name of the function's attribute, found '1'"),
    ("node", "y = A <a=+1> ()", "1:10", "a value, found '+'"),
    ("node", "y = A <a=.5> ()", "1:10", "a value, found '.'"),
    ("node", "y = A <a=1e> ()", "1:11", "'>' or ',', found 'e'"),
    ("node", "y = A <a=- 1> ()", "1:10", "a value, found '-'"),
    ("node", "y = A <a=0x1> ()", "1:11", "'>' or ',', found 'x1'"),
    ("node", "y = A <a=[]> ()", "1:11", "a value, found ']'"),
    ("node", "y = A <a=[1, 2.5]> ()", "1:14", "a value of type int, found '2.5'"),
    ("node", "y = A <a=[1, 2,]> ()", "1:16", "a value, found ']'"),
    ("node", "y = A <a=[1 2]> ()", "1:13", "']' or ',', found '2'"),
    ("node", "y = A <a:int=1.0> ()", "1:14", "a value of type int, found '1.0'"),
    ("node", "y = A <a:ints=1> ()", "1:15", "'[' and a list of values of type int, found '1'"),
    ("node", "y = A <a:tensor=float[2]> ()", "1:17", "a value of type tensor, found 'float[2]'"),
    ("node", 'y = A <a:graph="g"> ()', "1:16", "a value of type graph, found '\"g\"'"),
    ("node", 'y = A <a="end\\"> ()', "1:10", "a value, found a text in quotes that does not end"),
    (
        "node",
        "y = A <a=9223372036854775808> ()",
        "1:10",
        "a whole number from -9223372036854775808 to 9223372036854775807, found '9223372036854775808'",
    ),
    ("node", "y = A <a=1e39> ()", "1:10", "a number that a float can hold, found '1e39'"),
    ("node", f"y = A <a={'9' * 38}e5> ()", "1:10", f"a number that a float can hold, found '{'9' * 38}e5'"),
    ("node", "y = A <a=-1e400> ()", "1:10", "a number that a float can hold, found '-1e400'"),
    ("node", "y = A <a=double {1e400}> ()", "1:18", "a number that a double can hold, found '1e400'"),
    ("node", "y = A <a=float[2] {true}> ()", "1:20", "a number, found 'true'"),
    ("node", "y = A <a=string[1] {1}> ()", "1:21", "a text in quotes, found '1'"),
    (
        "node",
        "y = A <a=int32[1] {2147483648}> ()",
        "1:20",
        "a whole number from -2147483648 to 2147483647, found '2147483648'",
    ),
    ("node", "y = A <a=float16[1] {1.5}> ()", "1:22", "a whole number from -32768 to 65535, found '1.5'"),
    ("node", "y = A <a=float[N] {1}> ()", "1:10", "dims that are whole numbers, found 'float[N]'"),
    ("node", "y = A <a=float[] {1}> ()", "1:10", "the type of a tensor with all its dims, found 'float[]'"),
    ("node", "y = A <a=float[1,]> ()", "1:18", "a size, a name or '?', found ']'"),
    ("node", "y = A <a=seq()> ()", "1:14", "a type, found ')'"),
    ("node", "y = A <a=map(foo, float)> ()", "1:14", "an element type, found 'foo'"),
    ("node", "y = A <a=map(int64)> ()", "1:19", "',', found ')'"),
    ("node", "y = A <a=sparse_tensor(seq(float))> ()", "1:24", "an element type, found 'seq'"),
    ("node", "y = A <a=float[1] = []> ()", "1:22", "a text in quotes, found ']'"),
    ("graph", "(x) => () {}", "1:1", "the name of a graph, found '('"),
    ("graph", "g (x,) => () {}", "1:6", "the name of a value, found ')'"),
    ("graph", "g (FLOAT x) => () {}", "1:10", "')' or ',', found 'x'"),
    ("graph", "g (x = {1}) => () {}", "1:4", "the type of a tensor with all its dims, found 'x ='"),
    (
        "graph",
        "g (seq(float) x = {1}) => () {}",
        "1:4",
        "the type of a tensor with all its dims, found 'seq(float) x ='",
    ),
    ("graph", "g (x) = > () {}", "1:7", "'=>', found '='"),
    ("graph", "g () => ()", "1:11", "'{', found the end of the text"),
    ("graph", "g () => () {", "1:13", "a node or '}', found the end of the text"),
    ("graph", "g () => () { y = A(); }", "1:21", "a node or '}', found ';'"),
    ("graph", 'g () => () {\n  y = A()\n  "é" z = B()\n}', "3:7", "'=' or ',', found 'z'"),
    ("graph", "g () => () /* doc */ {}", "1:12", "'{', found '/'"),
    ("function", "f <> () => () {}", "1:4", "the name of an attribute, found '>'"),
    ("function", "f (float a = {1}) => () {}", "1:12", "')' or ',', found '='"),
    (
        "function",
        "<ir_version: 3> f () => () {}",
        "1:2",
        "a key (domain, opset_import, overload, doc_string), found 'ir_version'",
    ),
    (
        "model",
        "<> g () => () {}",
        "1:2",
        "a key (ir_version, opset_import, producer_name, producer_version, domain, model_version, doc_string, "
        "metadata_props), found '>'",
    ),
    ("model", "<ir_version = 8> g () => () {}", "1:13", "':', found '='"),
    ("model", '<opset_import: ["" 17]> g () => () {}', "1:20", "':', found '17'"),
    ("model", '<metadata_props: ["a": b]> g () => () {}', "1:24", "a text in quotes, found 'b'"),
    ("model", "<doc_string: 3> g () => () {}", "1:14", "a text in quotes, found '3'"),
    ("model", "g () => () {} ;", "1:15", "the name of a function, found ';'"),
    ("node", "y\0 = A()", "1:2", "'=' or ',', found '\\x00'"),
]


@pytest.mark.parametrize(("kind", "text", "place", "message"), REFUSED)
def test_refuses_with_place_and_expectation(kind, text, place, message):
    assert oracle_reads(kind, text) is None
    finding = error_of(kind, text)
    assert (finding.code, finding.place, finding.message) == ("M301", place, f"expected {message}")


def test_text_that_utf8_cannot_hold():
    finding = error_of("node", 'y = A("\ud800")')
    assert (finding.code, finding.place) == ("M301", "1:8")


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("node", "y = A <a=exact> ()", "text is in quotes; a word begins a type or a graph"),
        ("node", "y = A <a=+> ()", ""),
        ("node", "y = A <a=[]> ()", "a list without values needs a type before it, such as `: ints`"),
        ("node", "y = A <a=float[2] {1}> ()", "there are 1"),
        ("node", 'y = A <a=string[2] {"x"}> ()', "there are 1"),
        ("node", "y = A <a=float[2] !{1}> ()", "there are 1"),
        ("node", "y = A <a=float[2] {...}> ()", "the text was printed with a limit, and is no model"),
        ("node", "y = A <a=float[2] !{...}> ()", "the text was printed with a limit, and is no model"),
        ("node", "y = A <a=float[2] x> ()", "a type and a name begin a tensor, and its data is missing"),
        ("node", 'y = A <a=float[2] "x"> ()', "a type and a name begin a tensor, and its data is missing"),
        ("node", "y = A <a=float[N] {1}> ()", "the data of a tensor follows it"),
        ("node", "y = A <a=float[] {1}> ()", "the data of a tensor follows it"),
        ("graph", "g (float[-1] x = {1}) => () {}", "its dims [-1] hold a negative number"),
        ("node", 'y = A (x) &{doc_string: "a", doc_string: "b"}', "a field is not repeated"),
        ("node", 'y = A (x) &{nope: "a"}', ""),
        ("model", "<ir_version: 8, ir_version: 9> g () => () {}", "a key is not repeated"),
        ("model", "<nope: 8> g () => () {}", ""),
        ("model", '<"ir_version": 8> g () => () {}', ""),
    ],
)
def test_reasons(kind, text, why):
    assert error_of(kind, text).why == why


def test_reasons_of_bit_patterns():
    assert "bit patterns" in error_of("node", "y = A <a=float16[1] {1.5}> ()").why
    assert "2 elements in each" in error_of("node", "y = A <a=int4[1] {1.5}> ()").why


def test_fields_in_braces_hold_messages_in_their_own_syntax():
    plain = """g (x, float[3] w) => (y) <float[1] k = {1}, float[2] t> { y = Relu (x)  z = Neg (y) }"""
    fields = """g (x) => (y) { y = Relu (x) } &{node: [z = Neg (y)], value_info: [float[2] t], input: [float[3] w],
        initializer: [float[1] k = {1}]}"""
    assert parse_graph(fields) == parse_graph(plain)
    named = parse_graph('g (x) => (y) {} &{value_info: [{name: "q", type: float[2]}], node: [{op_type: "A"}]}')
    assert named.node[0].op_type == "A"
    assert (named.value_info[0].name, named.value_info[0].type.tensor_type.elem_type) == ("q", 1)
    texts = [parse_node(f"y = A (x) &{{doc_string: {text}}}") for text in ('"none"', "none")]
    assert [each.doc_string for each in texts] == ["none", ""]
    attribute = 'g (x) => (y) { y = A (x) &{attribute: [{name: "a", type: %s}]} }'
    assert parse_graph(attribute % 7).node[0].attribute[0].type == 7
    finding = error_of("graph", attribute % 99)
    assert (finding.message, finding.why) == ("expected a value of the field, found '99'", "invalid enumerator 99")


@pytest.mark.parametrize(
    ("data", "place", "message", "why"),
    [
        ('float[1] !"zz"', "1:22", "hexadecimal digits, found '\"zz\"'", ""),
        ("string[1] !{1}", "1:23", "'{' without '!', found '{'", "strings are never in raw_data"),
    ],
)
def test_raw_data_is_of_elements_or_in_hexadecimal_digits(data, place, message, why):
    finding = error_of("node", f"y = A <a = {data}> ()")
    assert (finding.place, finding.message, finding.why) == (place, f"expected {message}", why)


# Hostile text

NEST = {
    "graphs": ("g () => () { y = A <a = ", "g (float[2] x) => () {}", "> () }", 32),
    "types": ("optional(", "float[2]", ")", 48),
}


@pytest.mark.parametrize("nest", NEST)
def test_the_deepest_can_be_loaded_and_deeper_is_told(nest):
    def nested(depth):
        begin, inside, end, _ = NEST[nest]
        text = begin * (depth - 1) + inside + end * (depth - 1)
        return text if nest == "graphs" else f"g ({text} x) => () {{}}"

    model = parse_model(f'<ir_version: 8, opset_import: ["": 17]> {nested(NEST[nest][-1])}')
    assert encoded(load(encoded(model)).proto) == encoded(model)
    for depth in (NEST[nest][-1] + 2, 100_000):
        assert error_of("graph", nested(depth)).code == "M104"


@pytest.mark.parametrize(
    ("begin", "repeat", "end"),
    [
        ('y = A("', "a", ""),
        ('y = A("', "\\a", ""),
        ('y = A("', '\\"', '")'),
        ("", "#\n", "é"),
        ("", " ", "é"),
        ("", " # ", ""),
        ("y = A <a = ", "1", "> ()"),
        ("y = A <a = 1.", "1", "> ()"),
        ("y = A <a = 1e", "9", "> ()"),
        ("y = A <a = 1.000000059604644775390625", "0", "1> ()"),
        ("y = A <a = ", "[", ""),
        ("", ",", " = A()"),
        ("y = A", ".a", "()"),
        ("<", "<", ""),
        ("y = A <a = float[", "9223372036854775807,", "1] {1}> ()"),
        ("y = A <a = [", "1,", "1]> ()"),
        ("y = A <a = [", "float,", "1]> ()"),
        ("y = A <", "a=1,", "a=1> ()"),
    ],
)
def test_time_is_linear(begin, repeat, end):
    def parsing(count):
        def parse():
            try:
                parse_node(begin + repeat * count + end)
            except ModelError as error:
                assert error.code == "M301"
                assert len(str(error)) < 1000

        return parse

    assert growth(parsing, 500, 4) < 3


# Generated text

WORDS = st.sampled_from(["x", "y1", "_", "float", "inf", "seq", "graph", '"a b"', '"é\\"\\\\"', '""'])
PLAIN = st.sampled_from(["x", "Add", "N", "_1", "int64", "nan"])
SPACE = st.sampled_from(["", " ", "\n", "\t# note\n"])
NAMES = st.lists(st.one_of(WORDS, st.just("")), max_size=4).map(",".join)
WHOLES = st.integers(-(2**63), 2**63 - 1).map(str)
SINGLES = st.one_of(
    st.floats(width=32).map(str),
    st.decimals(-1000, 1000, places=40).map("{:f}".format),
    st.integers(-(2**24), 2**24).map(lambda n: f"{n / 2**24 + n:.60f}"),
).filter(lambda text: "E" not in text)
ELEMENT_NAMES = st.sampled_from([element.name for element in ELEMENTS.values()])
DIMS = st.lists(st.one_of(PLAIN, st.just("?"), st.integers(0, 9).map(str), st.just('"2*N"')), max_size=3)
SHAPES = st.just("") | DIMS.map(lambda dims: f"[{','.join(dims)}]")
TENSOR_TYPES = st.builds("{}{}".format, ELEMENT_NAMES, SHAPES)
TYPES = st.recursive(
    st.one_of(TENSOR_TYPES, TENSOR_TYPES.map("sparse_tensor({})".format), st.just("opaque(a, b)")),
    lambda inner: st.one_of(
        inner.map("seq({})".format),
        inner.map("optional( {} )".format),
        st.builds("map({},{})".format, ELEMENT_NAMES, inner),
    ),
    max_leaves=3,
)


def tensor(kind, values, name):
    return f"{kind}[{len(values)}] {name}{{{', '.join(values)}}}"


def in_quotes(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# The oracle's text ends at a NUL.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6).map(in_quotes)


def strings(count):
    return st.lists(TEXTS, max_size=count)


TENSORS = st.one_of(
    st.builds(tensor, st.just("float"), st.lists(SINGLES, max_size=4), st.sampled_from(["", "w", "w = ", "= "])),
    st.builds(tensor, st.just("int64"), st.lists(WHOLES, max_size=4), st.just("w =")),
    st.builds(tensor, st.just("uint8"), st.lists(st.integers(0, 255).map(str), max_size=4), st.just("")),
    st.builds(tensor, st.just("string"), strings(3), st.just("")),
)
VALUES = st.one_of(
    WHOLES,
    SINGLES,
    TEXTS,
    TENSORS,
    TYPES,
    WORDS.map("@{}".format),
    st.lists(WHOLES, min_size=1, max_size=3).map(lambda items: f"[{','.join(items)}]"),
    strings(3).filter(bool).map(lambda items: f"[ {' , '.join(items)} ]"),
)
LISTS = st.lists(st.one_of(WHOLES, SINGLES), max_size=4).map(lambda items: f": floats = [{','.join(items)}]")
ATTRIBUTE = st.builds(lambda name, value: name + value, PLAIN, st.one_of(VALUES.map("= {}".format), LISTS))
VALUE_INFO = st.builds("{} {}".format, TYPES, WORDS) | st.sampled_from(["x", '"a b"'])


@st.composite
def node(draw, inner=None):
    attribute = ATTRIBUTE if inner is None else st.one_of(ATTRIBUTE, inner.map("body = {}".format))
    attributes = draw(st.lists(attribute, max_size=3))
    inside = f"<{draw(SPACE)}{' , '.join(attributes)}{draw(SPACE)}>" if attributes else ""
    operator = draw(st.lists(PLAIN, min_size=1, max_size=3).map(".".join)) + draw(st.sampled_from(["", ":o1"]))
    parts = [f"({draw(NAMES)})", inside]
    name = draw(st.sampled_from(["", "[n] ", '["n 1"]', "[]"]))
    return f"{name}{draw(SPACE)}{draw(NAMES)} = {operator}" + draw(SPACE).join(draw(st.permutations(parts)))


@st.composite
def graph(draw, inner=None):
    nodes = draw(st.lists(node(inner), max_size=3))
    inputs, outputs = (draw(st.lists(VALUE_INFO, max_size=3).map(",".join)) for _ in range(2))
    weights = st.builds("float[2] {} = {{ {} , {} }}".format, WORDS, SINGLES, SINGLES)
    values = draw(st.lists(weights | VALUE_INFO, max_size=3))
    return f"g{draw(SPACE)}({inputs}) => ({outputs}) <{','.join(values)}> {{ {chr(10).join(nodes)} }}"


GRAPH = graph(graph(graph()))


@settings(max_examples=draws(150))
@given(GRAPH)
def test_generated_graphs(text):
    agree("graph", text)


@settings(max_examples=draws(60))
@given(
    st.lists(ATTRIBUTE | PLAIN | PLAIN.map("{}: float".format), max_size=3), st.lists(VALUE_INFO, max_size=3), node()
)
def test_generated_functions(attributes, values, node):
    inside = f"<{', '.join(attributes)}>" if attributes else ""
    function = f"f {inside} ({','.join(values)}) => (y) <{', '.join(values)}> {{{node}}}"
    agree("function", function)
    agree("model", f'<ir_version: 9> g () => () {{}} {function} <domain: "d"> {function}')


@settings(max_examples=draws(200))
@given(st.integers(1, 0x7F7FFFFE), st.integers(0, 60), st.sampled_from("0149"))
def test_numbers_close_to_the_middle_of_two_floats(pattern, zeros, last):
    below, above = struct.unpack("<ff", struct.pack("<II", pattern, pattern + 1))
    with localcontext() as context:
        context.prec = 400
        digits = f"{(Decimal(below) + Decimal(above)) / 2:f}"
    digits += "" if "." in digits else "."
    less = f"{digits[:-1]}{int(digits[-1]) - 1}9" if digits[-1] in "123456789" else digits
    agree("node", f"y = A <a = {digits}{'0' * zeros}{last}, b : float = {digits}, c = -{less}> ()")


MARKS = [*'()[]{}<>=,:.@?"#-;', *'=>| |1|1.5|x|float|seq|"s"|inf|é|int|graph|@x'.split("|"), "\n"]
EDITS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.sampled_from(MARKS)), max_size=3)


@settings(max_examples=draws(400))
@given(st.sampled_from(READ_ALIKE), EDITS)
def test_damaged_text_gives_an_error_or_what_the_oracle_reads(case, edits):
    kind, text = case
    for place, cut, mark in edits:
        place = min(place, len(text))
        text = text[:place] + mark + text[place + cut :]
    try:
        message = READERS[kind][0](text)
    except ModelError as error:
        assert error.code == "M301"
        return
    expected = oracle_reads(kind, text)
    # What the oracle cannot read has a name in quotes or of opaque type, or a graph named inf; and it drops lists.
    if expected is None:
        assert '"' in text or "opaque" in text or "inf" in text
    elif not any(attribute.tensors or attribute.graphs or attribute.type_protos for attribute in attributes(message)):
        assert encoded(message) == expected


def attributes(message):
    """Return every attribute of a message, those of inner graphs too."""
    pending = [message]
    while pending:
        here = pending.pop()
        if here.DESCRIPTOR.name == "AttributeProto":
            yield here
        for field, value in here.ListFields():
            if field.message_type is not None:
                pending.extend(value if isinstance(field.default_value, list) else [value])


# The layout of a graph's text.


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("g () => () { }", ["g () => () { }"]),
        ("g(float x)=>(float y){y=Neg(x)}", ["g(float x)=>(float y){", "  y=Neg(x)", "}", ""]),
        (
            'g () => (float y)\n<float[1] w = {1}> { [n]  y =\n  C <a = "  b"> () }',
            ["g () => (float y) <float[1] w = {1}> {", '  [n] y = C <a = "  b"> ()', "}", ""],
        ),
        (
            "g (bool c) => (float y) { y = If (c) <t = t () => (float a) { a = A () }, e = e () => () { }> z = B (y) }",
            [
                "g (bool c) => (float y) {",
                "  y = If (c) <t = t () => (float a) {",
                "    a = A ()",
                "  }, e = e () => () { }>",
                "  z = B (y)",
                "}",
                "",
            ],
        ),
        ("g () => () { y = A () # here\n }", ["g () => () { y = A () # here", " }"]),
        ("\n  g () => () { y = A () }\n", ["g () => () {", "  y = A ()", "}", ""]),
    ],
)
def test_a_graph_is_laid_out_with_a_node_a_line(text, lines):
    laid_out = lay_out_graph(text)
    assert laid_out.split("\n") == lines
    assert parse_graph(laid_out) == parse_graph(text) and lay_out_graph(laid_out) == laid_out


def test_long_lines_are_broken_at_spaces():
    names = ", ".join(f"input_{n}" for n in range(60))
    laid_out = lay_out_graph(f"g () => (y) {{ y = Sum ({names}) }}")
    assert max(map(len, laid_out.splitlines())) <= LAYOUT_WIDTH and len(laid_out.splitlines()) > 5
    assert parse_graph(laid_out).node[0].input[:] == names.split(", ") and lay_out_graph(laid_out) == laid_out


def test_a_line_is_not_broken_where_there_is_no_space():
    for length in range(LAYOUT_WIDTH - 20, LAYOUT_WIDTH + 3):
        for text in (f"y=Sum({'x' * length},z)", f"y = Sum ({'x' * length})"):
            laid_out = lay_out_graph(f"g () => (y) {{{text}}}")
            assert laid_out.split() == f"g () => (y) {{ {text} }}".split()


def test_what_is_no_graph_is_not_laid_out():
    with pytest.raises(ModelError):
        lay_out_graph("g () => () { } and more")


def test_lines_are_counted_from_the_beginning_of_the_text():
    for text, place in (("!", "1:1"), ("\n!", "2:1"), ("\n\n  !", "3:3")):
        with pytest.raises(ModelError) as caught:
            parse_model(text)
        assert caught.value.place == place
