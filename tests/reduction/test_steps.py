"""The steps of a reduction one by one: what each takes away, what it leaves, and which candidates are kept."""

import sys
import time
from types import SimpleNamespace

import numpy as np
import onnx
import pytest

import opset
from opset.budget import Limits
from opset.errors import Finding, UsageError
from opset.model.graph.index import bodies, index_model
from opset.opsets.registry import default_registry
from opset.reduction import inside, nodes, symptoms, values
from opset.reduction.reducing import reduce_model, symptom_of_conversion
from opset.reduction.search import Exhausted, Search, minimize, node_count
from opset.reduction.symptoms import Differs, Fails, RefusalSymptom, Shown, operator_of
from opset.version_converter import Target

HEAD = '<ir_version: 8, opset_import: ["": 18, "f": 1]> m '


def loaded(text):
    return opset.load(opset.parse_model(HEAD + text))


def search_for(model, is_shown=lambda model: True, tries=1000, deadline=None):
    return Search(model, Shown(model, is_shown), default_registry(), tries, deadline)


def operators(model):
    return [node.op_type for body in bodies(model.proto) for node in body.nodes]


def weights(model):
    return {each.name: onnx.numpy_helper.to_array(onnx.TensorProto.FromString(each.SerializeToString()))
            for each in model.proto.graph.initializer}  # fmt: skip


CHAIN = "(float[2, 5] x) => (float[A, B] y) { a = Abs (x) b = Neg (a) y = Exp (b) }"


def test_a_candidate_is_kept_if_it_is_valid_and_shows_the_symptom():
    model = loaded(CHAIN)
    search = search_for(model, lambda each: "Neg" in operators(each))
    assert not search.attempt("none", lambda each: None) and search.tries == 0
    assert not search.attempt_edit("false", lambda message: False) and search.tries == 0

    def drop(name):
        def edit(message):
            node = next(each for each in message.graph.node if each.op_type == name)
            after = {node.output[0]: node.input[0]}
            message.graph.node.remove(node)
            for each in message.graph.node:
                each.input[:] = [after.get(value, value) for value in each.input]

        return edit

    assert not search.attempt_edit("no symptom", drop("Neg")) and search.tries == 1
    assert not search.attempt_edit("invalid", lambda message: message.graph.ClearField("input")) and search.tries == 2

    def fail(each):
        raise UsageError(Finding("U103", "it cannot be made"))

    assert not search.attempt("impossible", fail) and search.tries == 3
    assert search.model is model and search.steps == {}
    assert search.attempt_edit("one", drop("Abs")) and search.steps == {"one": 1}
    assert not search.attempt_edit("no output", drop("Exp"))
    assert search.attempt_edit("one", lambda message: message.ClearField("producer_name")) and search.steps == {
        "one": 2
    }
    assert operators(search.model) == ["Neg", "Exp"] and operators(model) == ["Abs", "Neg", "Exp"]


def test_a_rule_that_was_broken_before_may_stay_broken():
    model = loaded(CHAIN)
    model.proto.graph.name = ""
    search = search_for(model)
    assert search.attempt_edit("edit", lambda message: message.ClearField("producer_name"))


def test_tries_and_time_run_out():
    search = search_for(loaded(CHAIN), tries=2)
    for _ in range(2):
        search.attempt_edit("edit", lambda message: None)
    with pytest.raises(Exhausted):
        search.attempt_edit("edit", lambda message: None)
    with pytest.raises(Exhausted):
        search_for(loaded(CHAIN), deadline=time.monotonic() - 1).attempt("none", lambda each: None)
    search_for(loaded(CHAIN), deadline=time.monotonic() + 60).attempt("none", lambda each: None)


@pytest.mark.parametrize(
    ("limits", "complete"), [(Limits(), True), (Limits(timeout=0), False), (Limits(timeout=600), True)]
)
def test_the_time_is_that_of_the_whole_reduction(limits, complete):
    model = loaded(CHAIN)
    symptom = Shown(model, lambda each: "Neg" in operators(each))
    found = reduce_model(model, symptom, default_registry(), limits)
    assert found.complete == complete and (found.nodes_before, found.nodes) == (3, 1 if complete else 3)
    assert found.shows == "what the function looks for" and (found.tries > 0) == complete == bool(found.steps)
    if limits.timeout:  # the rest of it is for writing the result
        assert 400 < symptom.deadline - time.monotonic() < 480


def test_weights_of_many_elements_become_zeros_if_they_are_none(monkeypatch):
    kinds = {"few": (8, 1), "many": (9, 1), "flags": (9, 9), "half": (9, 10), "whole": (9, 7), "none": (9, 1)}
    model = loaded(CHAIN)
    for name, (count, kind) in kinds.items():
        tensor = opset.model.arrays.tensor_of(name, np.ones(count, onnx.helper.tensor_dtype_to_np_dtype(kind)))
        model.proto.graph.initializer.append(tensor)
    model.proto.graph.initializer[-1].CopyFrom(opset.model.arrays.tensor_of("none", np.zeros(9, np.float32)))
    changed = [values._with_zeros(model, position) is not None for position in range(len(kinds))]
    assert changed == [False, True, True, True, True, False]
    for position in (1, 2, 3, 4):
        after = weights(values._with_zeros(model, position))
        assert [name for name, each in after.items() if not each.any()] == [[*kinds][position], "none"]
        assert {name: each.dtype for name, each in after.items()} == {
            name: e.dtype for name, e in weights(model).items()
        }
    elements = ", ".join(['"a"'] * 9)
    texts = loaded(f"(string[9] x) => (string[A] y) <string[9] w = {{{elements}}}> {{ y = Identity (x) }}")
    assert values._with_zeros(texts, 0) is None
    monkeypatch.setattr(values, "_MOST_BYTES", 35)
    with pytest.raises(opset.ModelError, match="no more than 35 were to be read"):
        values._with_zeros(model, 1)


def test_a_size_is_changed_in_inputs_weights_and_small_constants():
    model = loaded("""(float[2, 5] x, float[5] z) => (float[2, 5] y)
        <float[5, 3] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15},
        int64[2] s = {5, 2}, int64 one = {5}, int32[1] t = {5}, int64[1, 1] table = {5}, float[1] number = {5},
        int64[9] long = {5,5,5,5,5,5,5,5,5}, int64[5] both = {5, 1, 5, 1, 5}> { y = Neg (x) }""")
    assert values._sizes(model) == {2, 3, 5, 9}
    after = values._with_size(model, 5, 2)
    shapes = [[dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in after.proto.graph.input]
    assert shapes == [[2, 2], [2]]
    assert [dim.WhichOneof("value") for dim in after.proto.graph.output[0].type.tensor_type.shape.dim] == [None] * 2
    assert {name: each.tolist() for name, each in weights(after).items()} == {
        "w": [[1, 2, 3], [4, 5, 6]], "s": [2, 2], "one": 2, "t": [2], "table": [[5]], "number": [5], "long": [5] * 9,
        "both": [2, 1],
    }  # fmt: skip
    assert values._sizes(model) == {2, 3, 5, 9}  # the given one is as it was


def test_sizes_that_inner_graphs_and_functions_state_follow_from_a_changed_one():
    model = loaded("""(float[N, 4] x, bool c) => (float[N, 4] y) <float[N, 4] h> {
        h = Neg (x)
        y = If (c) <then_branch = t () => (float[N, 4] a) { a = Abs (h) }, else_branch = e () => (float[N, 4] b)
            <float[N, 4] i> { i = Neg (h) b = Exp (i) }> }""")
    after = values._with_size(model, 4, 1).proto.graph
    branches = [attribute.g for attribute in after.node[1].attribute]
    stated = [*after.value_info, *after.output, *branches[0].output, *branches[1].output, *branches[1].value_info]
    sizes = [[dim.WhichOneof("value") for dim in each.type.tensor_type.shape.dim] for each in stated]
    assert sizes == [[None, None]] * 5
    assert [dim.dim_value for dim in after.input[0].type.tensor_type.shape.dim] == [0, 1]


def test_a_branch_that_contradicts_what_is_inferred_is_no_candidate():
    text = """(float[N, {0}] x, bool c) => (float[A, B] y) {{
        y = If (c) <then_branch = t () => (float[N, 4] a) {{ a = Abs (x) }},
            else_branch = e () => (float[N, 4] b) {{ b = Exp (x) }}> }}"""
    search = search_for(loaded(text.format(4)), lambda _: True)
    assert not search.attempt("sizes", lambda _: loaded(text.format(1)))
    assert search.attempt("sizes", lambda _: loaded(text.format(4)))


def test_sizes_become_small_the_greatest_first():
    model, tried = loaded("(float[7, 3] x, float[2, 1] z) => (float[A, B] y) { y = Neg (x) }"), []

    def is_shown(each):
        tried.append([[dim.dim_value for dim in v.type.tensor_type.shape.dim] for v in each.proto.graph.input])
        return tried[-1][0][0] != 1 and tried[-1][0][1] > 2

    search = search_for(model, is_shown)
    values._shrink_sizes(search)
    assert tried[1:] == [
        [[1, 3], [2, 1]], [[2, 3], [2, 1]],  # 7
        [[2, 1], [2, 1]], [[2, 2], [2, 1]],  # 3, which stays
        [[1, 3], [1, 1]],  # 2, of both
    ]  # fmt: skip


def test_weights_become_inputs():
    model = loaded("(float[1] x, float[1] w) => (float[1] y) <float[1] w = {1}, float[2, 3] v = {1,2,3,4,5,6}, "
                   "float[1] kept = {1}> { a = Add (x, w) b = Add (a, v) y = Add (b, kept) }")  # fmt: skip
    search = search_for(model, lambda each: any(t.name == "kept" for t in each.proto.graph.initializer))
    values._free_weights(search)
    graph = search.model.proto.graph
    assert [each.name for each in graph.initializer] == ["kept"]
    stated = {v.name: [dim.dim_value for dim in v.type.tensor_type.shape.dim] for v in graph.input}
    assert stated == {"x": [1], "w": [1], "v": [2, 3]}
    assert values._make_inputs(search.model.proto, {"kept"}) is False


def test_what_is_for_people_and_tools_goes():
    model = loaded("""(float[1] x, bool c) => (float[1] y) <float[1] a> { a = f.G (x) y = If (c) <
        then_branch = t () => (float[1] p) <float[1] q> { q = Neg (a) p = Neg (q) },
        else_branch = e () => (float[1] r) { r = Abs (a) }> }
        <domain: "f", opset_import: ["": 18]> G (u) => (v) { v = Exp (u) }""")
    proto = model.proto
    proto.doc_string, proto.producer_name, proto.producer_version = "d", "p", "1"
    proto.domain, proto.model_version = "o", 3
    proto.training_info.add()
    proto.configuration.add(name="c", num_devices=1)
    every = [*bodies(proto)]
    for holder in (proto, *(each.proto for each in every), *(node for each in every for node in each.nodes)):
        holder.doc_string = "d"
        holder.metadata_props.add(key="k", value="v")
    for each in every:
        if not each.function:
            each.proto.quantization_annotation.add(tensor_name="a")
    proto.graph.node[0].device_configurations.add(configuration_id="c")
    search = search_for(model)
    values.strip_annotations(search)
    text = str(search.model.proto)
    for word in ("doc_string", "metadata", "producer", "domain: \"o\"", "model_version", "training", "configuration",
                 "quantization", "value_info"):  # fmt: skip
        assert word in str(proto) and word not in text, word
    assert operators(search.model) == operators(model)


def test_attributes_and_optional_inputs_go_one_by_one():
    model = loaded("""(float[2, 2] x, float[1] s, bool c) => (float[A, B] y) {
        p = Resize <antialias = 1, mode = "linear", axes = [1]> (x, , s)
        y = If (c) <then_branch = t () => (float[A, B] a) { a = Clip (p, s, s) },
        else_branch = e () => (float[A, B] b) { b = LeakyRelu <alpha = 0.5> (x) }> }""")
    search = search_for(model, lambda each: "antialias" in str(each.proto.graph.node[0]))
    values._drop_entries(search)
    resize, branch = search.model.proto.graph.node
    assert [each.name for each in resize.attribute] == ["antialias", "axes"]  # the scales are those of an axis
    assert [*resize.input] == ["x", "", "s"] and search.steps == {"attributes": 2, "inputs": 2}
    clip, leaky = (each.g.node[0] for each in branch.attribute)
    assert [*clip.input] == ["p"] and not leaky.attribute


GRAPH = loaded("""(float[2] x, bool c) => (float[2] y, float[2] z) {
    a = Abs (x) k = Constant <value = float[2] {1, 2}> () b = Add (a, k) d = Neg (b)
    e = Exp (d) y = Sin (e) z = Cos (b) }""")


@pytest.mark.parametrize(
    ("start", "steps", "found"),
    [
        ("Neg", 0, "Neg"),
        ("Neg", 1, "Constant Add Neg Exp"),  # with the constants that they read
        ("Add", 0, "Constant Add"),
        ("Add", 1, "Abs Constant Add Neg Cos"),
        ("Sin", 2, "Neg Exp Sin"),
        ("Sin", 3, "Constant Add Neg Exp Sin"),
        ("Abs", 9, "Abs Constant Add Neg Exp Sin Cos"),
    ],
)
def test_the_nodes_around_one_are_found(start, steps, found):
    main = index_model(GRAPH.proto, ()).main
    names = [node.op_type for node in main.nodes]
    assert " ".join(names[at] for at in nodes._nodes_around(main, names.index(start), steps)) == found


def test_what_left_out_nodes_computed_is_an_input_and_what_none_reads_an_output():
    registry = default_registry()
    part = nodes.cut_nodes(GRAPH, [2, 3], registry).proto.graph
    assert ([v.name for v in part.input], [v.name for v in part.output]) == (["a", "k"], ["d"])
    part = nodes.cut_nodes(GRAPH, [6, 0], registry).proto.graph
    assert ([v.name for v in part.input], [v.name for v in part.output]) == (["x", "b"], ["a", "z"])
    assert nodes.cut_nodes(GRAPH, [], registry) is None
    assert operators(nodes._cut_by_keys(GRAPH, {"b", "d", "none"}, registry)) == ["Add", "Neg"]
    search = search_for(GRAPH, lambda each: {"Add", "Neg"} <= {*operators(each)})
    nodes._cut_graph(search)
    assert (operators(search.model), search.tries, search.steps) == (["Add", "Neg"], 11, {"nodes": 5})
    nodes._cut_graph(search_for(loaded("(float[2] x) => (float[2] y) { y = Neg (x) }"), tries=0))  # nothing to try


RESIZE = 'u = Resize <antialias = 1, mode = "linear"> (q, , s)'
PLACES = {
    "graph": f"(float[1, 1, 4, 4] x, float[4] s) => (float[A, B, C, D] y) "
    f"{{ p = Abs (x) q = Neg (p) {RESIZE} y = Exp (u) }}",
    "branch": f"""(float[1, 1, 4, 4] x, float[4] s, bool c) => (float[A, B, C, D] y) {{ p = Abs (x) y = If (c) <
        then_branch = t () => (float[A, B, C, D] v) {{ q = Neg (p) {RESIZE} v = Exp (u) }},
        else_branch = e () => (float[A, B, C, D] w) {{ w = Identity (p) }}> }}""",
    "function": f"""(float[1, 1, 4, 4] x, float[4] s) => (float[A, B, C, D] y) {{ p = Abs (x) y = f.G (p, s) }}
        <domain: "f", opset_import: ["": 18]> G (a, s) => (v) {{ q = Neg (a) {RESIZE} v = Exp (u) }}""",
}


@pytest.mark.parametrize("kind", [*PLACES])
def test_the_place_of_a_refusal_is_where_one_begins(kind):
    model = loaded(PLACES[kind])
    symptom = RefusalSymptom(model, Target({"": 13}), default_registry(), Limits())
    assert operator_of(symptom.place) == "Resize" and symptom.words.startswith("C205 ")
    search = Search(model, symptom, default_registry(), 2, None)
    nodes._take_place(search, symptom.place)
    assert operators(search.model) == ["Resize"] and search.tries == (1 if kind == "graph" else 2)
    assert search.steps == ({"nodes": 1} if kind == "graph" else {"body": 1, "nodes": 1})


def test_surroundings_grow_until_they_show_it():
    search = search_for(GRAPH, lambda each: {"Neg", "Abs"} <= {*operators(each)})
    nodes._take_place(search, index_model(GRAPH.proto, ()).main.location(3))
    assert (search.tries, search.steps) == (3, {"nodes": 1})  # 0, 1 and 2 steps away
    search = search_for(GRAPH)
    nodes._take_place(search, "graph 'm', node number 99 (Neg)")
    assert search.tries == 0


@pytest.mark.parametrize(
    ("place", "operator"),
    [
        ("graph 'g', node 'a' (Resize)", "Resize"),
        ("graph 'g', node 'If (x)', then_branch, node number 0 (d.Op)", "d.Op"),
        ("graph 'g'", ""), ("graph 'g' (x)", ""), ("", ""), ("node 'a' (Resize), input 0", ""),
    ],
)  # fmt: skip
def test_the_operator_of_a_place(place, operator):
    assert operator_of(place) == operator


def test_the_same_refusal_may_be_about_other_names_and_numbers():
    model = loaded(PLACES["graph"])
    symptom = RefusalSymptom(model, Target({"": 13}), default_registry(), Limits())
    assert symptom.is_shown(loaded(PLACES["branch"].replace("Exp", "Sin")))
    assert not symptom.is_shown(loaded(CHAIN))
    sized = PLACES["graph"].replace("float[4] s", "int64[4] i").replace("(q, , s)", "(q, , , i)")
    assert symptom.is_shown(loaded(sized))
    may_be_overridden = PLACES["graph"].replace("y) {", "y) <float[4] s = {1, 1, 0.5, 0.5}> {")
    assert not symptom.is_shown(loaded(may_be_overridden))
    limited = RefusalSymptom(model, Target({"": 13}), default_registry(), Limits(max_steps=1))
    assert limited.finding.code == "C401" and not symptom.is_shown(loaded(CHAIN)) and limited.is_shown(model)
    with pytest.raises(UsageError, match="the conversion is not refused"):
        RefusalSymptom(loaded(CHAIN), Target({"": 13}), default_registry(), Limits())


def test_what_cannot_be_judged_shows_nothing():
    def decide(model):
        if model is not GRAPH:
            raise UsageError(Finding("U103", "no"))
        return True

    assert not search_for(GRAPH, decide).attempt_edit("edit", lambda message: None)


def test_open_sizes_of_an_evaluation_are_small(monkeypatch):
    seen = []

    def verify(before, after, settings, registry):
        seen.append(settings)
        return SimpleNamespace(verdict="different")

    monkeypatch.setattr(symptoms, "verify_models", verify)
    model = loaded("(float[N, M] x) => (float[A, B] y) { y = Abs (x) }")
    limits = Limits(max_steps=9999)
    Differs(model, Target({"": 13}), default_registry(), limits, {"M": 7, "K": 8})
    (settings,) = seen
    assert (settings.dims, settings.seeds, settings.limits) == ({"N": 2, "M": 7}, 2, limits)


def test_calls_give_way_to_the_nodes_of_functions():
    text = """(float[2] x) => (float[2] y) { a = Abs (x) b = f.G (a) y = Exp (b) }
        <domain: "f", opset_import: ["": 18]> G (u) => (v) { t = Neg (u) v = Sin (t) }"""
    search = search_for(loaded(text), lambda each: {"Abs", "Neg", "Sin", "Exp"} <= {*operators(each)})
    nodes.reduce_nodes(search, "")
    assert operators(search.model) == ["Abs", "Neg", "Sin", "Exp"] and not search.model.proto.functions
    assert search.steps == {"functions": 1}
    assert not nodes._inline_calls(search)


def test_the_body_of_a_loop_takes_its_place():
    text = """(int64 n, bool c, float[3] x) => (float[3] y) { y = Loop (n, c, x) <
        body = b (int64 i, bool d, float[3] u) => (bool e, float[3] v) { e = Not (d) w = Neg (u) v = Exp (w) }> }"""
    search = search_for(loaded(text), lambda each: {"Neg", "Exp"} <= {*operators(each)})
    nodes.reduce_nodes(search, "")
    assert operators(search.model) == ["Neg", "Exp"] and search.steps == {"body": 1, "nodes": 1}


PROGRAM = """import sys
data = open(sys.argv[1], "rb").read()
print("no kernel" if b"Neg" in data else "")
sys.exit(3 if b"Abs" in data else b"Exp" in data)"""


def test_a_command_fails_in_the_same_way_by_status_and_text():
    symptom = Fails(loaded(CHAIN), [sys.executable, "-c", PROGRAM, "{}"], "no kernel", 60)
    assert symptom.words.endswith(": exit status 3")
    prints_its_path = [sys.executable, "-c", "import sys; sys.exit(sys.argv[1])", "{}"]
    assert Fails(loaded(CHAIN), prints_its_path, "opset-reduce-", 60).words.endswith(": exit status 1")
    shown = [symptom.is_shown(loaded(CHAIN.replace(name, "Sin"))) for name in ("Exp", "Neg", "Abs")]
    assert shown == [True, False, False]  # the others print something else, or exit with 1
    with pytest.raises(UsageError) as caught:
        Fails(loaded(CHAIN), [sys.executable, "-c", PROGRAM, "{}"], "another", 60)
    assert caught.value.why == "exit status 3, and its output lacks 'another'"


def edited(text, edit, **arguments):
    """Return the nodes of all bodies after an edit, None if it is refused."""
    model = loaded(text)
    if edit(model.proto, **arguments) is False:
        return None
    return [[f"{' '.join(node.output)} = {node.op_type} {' '.join(node.input)}" for node in body.nodes]
            for body in bodies(model.proto)], model.proto.graph.output[0].name  # fmt: skip


INNER = """(float[2] x, bool c) => (float[2] y) { n = Neg (x) y = If (c) <
    then_branch = t () => (float[2] p) <float[2] w = {1, 2}> { unread = Abs (n) a = Add (n, w) p = Exp (a) },
    else_branch = e () => (float[2] q) { q = Sin (n) }> }"""


def test_an_if_gives_way_to_a_branch():
    number = next(at for at, body in enumerate(bodies(loaded(INNER).proto)) if body.owner is None)
    after, output = edited(INNER, inside._take_branch, number=number, index=1, name="then_branch")
    assert (after, output) == ([["n = Neg x", "unread = Abs n", "a = Add n w", "y = Exp a"]], "y")
    after, _ = edited(INNER, inside._take_branch, number=number, index=1, name="else_branch")
    assert after == [["n = Neg x", "y = Sin n"]]
    assert edited(INNER, inside._take_branch, number=number, index=1, name="body") is None
    model = loaded(INNER)  # with an output that nobody reads
    model.proto.graph.node[1].output.append("")
    for each, name in zip(model.proto.graph.node[1].attribute, ("a", "n"), strict=True):
        each.g.output.add(name=name)
    inside._take_branch(model.proto, number=number, index=1, name="then_branch")
    assert [*model.proto.graph.node[2].output] == ["a"] and [*model.proto.graph.node[3].input] == ["a"]


def test_nodes_that_nothing_reads_go():
    after, _ = edited(INNER, inside._drop_unread_nodes)
    assert ["a = Add n w", "p = Exp a"] in after and ["q = Sin n"] in after
    unread = CHAIN.replace("{ a", "{ unread = Sin (x) a")
    assert edited(unread, inside._drop_unread_nodes) is None  # of the main graph
    called = unread.replace("b = Neg (a)", "b = f.G (a)")
    called += ' <domain: "f", opset_import: ["": 18]> G (u) => (v) { s = Abs (u) t = Sin (s) v = Neg (u) }'
    after, _ = edited(called, inside._drop_unread_nodes)
    assert after[0][0] == "unread = Sin x" and after[1:] == [["v = Neg u"]]


def test_readers_may_read_each_input_that_is_there():
    node = onnx.helper.make_node("Clip", ["x", "", "high"], ["y"])
    assert [edit.keywords["at"] for edit in inside._bypasses(node, 0)] == [0, 2]


def test_a_node_is_bypassed():
    every = [*bodies(loaded(INNER).proto)]
    main, branch = (next(at for at, body in enumerate(every) if len(body.nodes) == count) for count in (2, 3))
    after, _ = edited(INNER, inside._bypass, number=main, index=0, at=0)
    assert after == [["y = If c"], ["unread = Abs x", "a = Add x w", "p = Exp a"], ["q = Sin x"]]
    assert edited(INNER, inside._bypass, number=main, index=1, at=0) is None  # an output of the model
    after, _ = edited(INNER, inside._bypass, number=branch, index=1, at=1)
    assert ["unread = Abs n", "p = Exp w"] in after
    model = loaded(INNER)
    inside._bypass(model.proto, number=branch, index=2, at=0)  # the branch has another output then
    assert [each.g.output[0].name for each in model.proto.graph.node[1].attribute] == ["a", "q"]
    split = "(float[4] x) => (float[A] y) { a, b = Split <num_outputs = 2> (x) y = Add (a, b) }"
    assert edited(split, inside._bypass, number=0, index=0, at=0) is None  # another output is read
    assert edited(split.replace("(a, b)", "(a, x)"), inside._bypass, number=0, index=0, at=0)[0] == [["y = Add x x"]]


@pytest.mark.parametrize(
    ("outputs", "read", "left"),
    [
        (["m"], "m", "x"),
        (["m", ""], "m", "x"),
        (["", "m"], "m", "x"),
        (["", "m", "n"], "m", "x"),
        (["", "m", "n"], "n", None),
        (["m", "n"], "n", None),
        (["", ""], "x", None),
        (["m", ""], "", ""),
    ],
)
def test_readers_of_the_first_output_that_is_named_read_an_input_instead(outputs, read, left):
    node = onnx.helper.make_node
    nodes = [node("Split", ["", "x"], outputs), node("Clip", ["x", "", read], ["y"])]
    message = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], []))
    assert inside._bypass(message, number=0, index=0, at=1) == (left is not None)
    assert [each.op_type for each in message.graph.node] == ["Split"] * (left is None) + ["Clip"]
    assert [*message.graph.node[-1].input] == ["x", "", read if left is None else left]


def test_nodes_in_all_bodies_count():
    assert node_count(loaded(INNER)) == 6 and node_count(loaded(PLACES["function"])) == 5


def test_bodies_are_reduced_node_by_node_unless_they_have_too_many(monkeypatch):
    text = "(bool c, float[2] x) => (float[2] y) { a = Neg (x)  b = Abs (a)  y = Exp (b) }"
    for most, left in ((2, ["Neg", "Abs", "Exp"]), (3, ["Exp"])):
        monkeypatch.setattr(inside, "_MOST_NODES", most)
        search = search_for(loaded(text), lambda each: "Exp" in operators(each))
        assert inside.reduce_inside(search) == (most == 3) and operators(search.model) == left
    monkeypatch.setattr(inside, "_MOST_NODES", 9)
    search = search_for(loaded(INNER), lambda each: "Sin" in operators(each) and "Neg" in operators(each))
    assert inside.reduce_inside(search) and search.steps == {"unread": 1, "branch": 1}


def test_a_value_that_a_branch_returns_and_reads_has_its_new_name():
    text = """(float[2] x, bool c) => (float[2] y, float[2] z) { y, z = If (c) <
        then_branch = t () => (float[2] p, float[2] q) { p = Neg (x)  r = If (c) <then_branch = i () => (float[2] p)
            { s = Abs (p) }, else_branch = j () => (float[2] k) { k = Sin (x) }>  q = Add (p, r) },
        else_branch = e () => (float[2] v, float[2] w) { v = Exp (x)  w = Cos (x) }> }"""
    model = loaded(text)
    inside._take_branch(model.proto, number=0, index=0, name="then_branch")
    neg, branch, add = model.proto.graph.node
    assert ([*neg.output], [*add.input], [*add.output]) == (["y"], ["y", "r"], ["z"])
    inner = branch.attribute[0].g
    assert ([*inner.node[0].input], inner.output[0].name) == (["y"], "y")


def test_a_list_is_halved_until_single_items():
    tried = []

    def is_enough(items):
        tried.append("".join(items))
        return {*"cg"} <= {*items}

    assert minimize("abcdefgh", is_enough) == ["c", "g"]
    assert tried == ["efgh", "abcd", "cdefgh", "efgh", "cdgh", "cd", "dgh", "cgh", "ch", "cg", "g", "c"]
    assert minimize("", is_enough) == [] and minimize("a", lambda items: True) == []
    tried.clear()
    assert minimize("cgx", is_enough) == ["c", "g"] and tried == ["gx", "cx", "cg", "g", "c"]


def test_absent_values_are_no_neighbors_and_no_outputs():
    model = loaded("""(float[4] x, float[2] l) => (float[A] y, int64[A] c, float[2] z) <float[1] w = {1}> {
        y, , , c = Unique (x)  z = Clip (l, , w)  u = Clip (l, , ) }""")
    main = index_model(model.proto, ()).main
    assert [nodes._nodes_around(main, start, 1) for start in (0, 1, 2)] == [[0], [1], [2]]
    part = nodes.cut_nodes(model, [0], default_registry()).proto.graph
    assert ([v.name for v in part.input], [v.name for v in part.output]) == (["x"], ["y", "c"])
    part = nodes.cut_nodes(model, [1], default_registry()).proto.graph
    assert ([v.name for v in part.input], [v.name for v in part.initializer]) == (["l"], ["w"])
    model.proto.graph.input.add(name="w").type.tensor_type.elem_type = 1  # which a caller may override
    part = nodes.cut_nodes(model, [1], default_registry()).proto.graph
    assert ([v.name for v in part.input], [v.name for v in part.initializer]) == (["l", "w"], ["w"])
    model.proto.graph.sparse_initializer.add().values.name = "s"
    main = index_model(model.proto, ()).main
    assert nodes._weight_names(main) == {"w", "s"}
    assert [nodes._key_of(node) for node in main.nodes] == ["y", "z", "u"]
    constants = loaded("""(float[2] x) => (float[2] y) {
        a = Constant <value_float: float = 1.0> ()  y = Clip (x, , )  b = Constant <value_float: float = 1.0> () }""")
    assert nodes._nodes_around(index_model(constants.proto, ()).main, 1, 1) == [1]
    assert [nodes._key_of(onnx.NodeProto(output=names)) for names in (["", "a", "b"], [""], [])] == ["a", "", ""]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ({"name": "F"}, "F"), ({"name": "F", "domain": "d"}, "d.F"), ({"name": "F", "overload": "o"}, "F:o"),
        ({"name": "F", "domain": "d", "overload": "o"}, "d.F:o"),
    ],
)  # fmt: skip
def test_functions_are_named_as_options_take_them(function, name):
    assert nodes._function_name(onnx.FunctionProto(**function)) == name


def test_a_command_gets_the_time_that_is_left(monkeypatch):
    waited = []
    monkeypatch.setattr(symptoms, "_wait", lambda process, seconds: waited.append(seconds) or 3)
    symptom = Fails(loaded(CHAIN), [sys.executable, "-c", "", "{}"], "", 60)
    monkeypatch.setattr(symptoms.time, "monotonic", lambda: 1000.0)
    for deadline in (1007.0, 1100.0, None):
        symptom.deadline = deadline
        assert symptom.is_shown(loaded(CHAIN))
    assert waited == [60, 7, 60, 60]


def test_the_limits_of_a_conversion_are_those_without_the_time():
    target = Target({"": 13})
    model = loaded(PLACES["graph"])
    refusal = symptom_of_conversion(model, target, default_registry(), Limits(70000, 80000, timeout=9), "", False, {})
    assert refusal._limits == Limits(70000, 80000)


def test_sizes_are_tried_up_to_3():
    tried = []

    def is_shown(each):
        tried.append(each.proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value)
        return tried[-1] in (3, 5)

    search = search_for(loaded("(float[5] x) => (float[A] y) { y = Neg (x) }"), is_shown)
    values._shrink_sizes(search)
    assert tried == [5, 1, 2, 3]
    assert search.steps == {"sizes": 1}


def test_each_body_is_a_model():
    model = loaded("""(float[2] x, bool c) => (float[2] y) { a = Abs (x)  y = f.G (a, c) }
        <domain: "f", opset_import: ["": 18]> G (u, c) => (v) { n = Neg (u)  v = If (c) <
            then_branch = t () => (float[2] p) { p = Exp (n) },
            else_branch = e () => (float[2] q) { q = Sin (n) }> }""")
    parts = [nodes._whole_body(model, body, default_registry()) for body in bodies(model.proto)]
    assert [[node.op_type for node in part.proto.graph.node] for part in parts] == [
        ["Abs", "G"], ["Neg", "If"], ["Exp"], ["Sin"],
    ]  # fmt: skip
    assert [[value.name for value in part.proto.graph.input] for part in parts] == [
        ["x", "c"],
        ["u", "c"],
        ["n"],
        ["n"],
    ]


def test_one_of_two_outputs_goes():
    text = "(float[2] x) => (float[2] y, float[2] z) { y = Abs (x)  z = Neg (x) }"
    for kind, left in (("Abs", "y"), ("Neg", "z")):
        search = search_for(loaded(text), lambda each, kind=kind: kind in operators(each))
        values.drop_unused(search)
        assert ([v.name for v in search.model.proto.graph.output], operators(search.model)) == ([left], [kind])
    search = search_for(loaded(text.replace(", float[2] z", "")))
    values.drop_unused(search)
    assert search.tries == 0


def test_a_place_that_does_not_show_it_by_itself_is_left():
    model = loaded(PLACES["branch"])
    place = RefusalSymptom(model, Target({"": 13}), default_registry(), Limits()).place
    search = search_for(model, lambda each: "If" in operators(each))
    nodes._take_place(search, place)
    assert (search.tries, search.steps) == (1, {})  # the branch, which is no model with an If
    chain = " ".join(f"v{number + 1} = Neg (v{number})" for number in range(20))
    model = loaded(f"(float[2] v0) => (float[2] v20) {{ {chain} }}")
    search = search_for(model, lambda each: len(operators(each)) == 20)
    nodes._take_place(search, index_model(model.proto, ()).main.location(0))
    assert (search.tries, search.steps) == (5, {})


def test_what_nothing_uses_goes_and_then_there_is_no_candidate():
    search = search_for(loaded("(float[2] x, float[2] u) => (float[2] y) <float[2] w = {1, 2}> { y = Abs (x) }"))
    values.drop_unread(search)
    proto = search.model.proto
    assert ([v.name for v in proto.graph.input], [*proto.graph.initializer]) == (["x"], [])
    assert ([each.domain for each in proto.opset_import], search.steps) == ([""], {"unused": 1})
    values.drop_unread(search)
    assert search.tries == 1


def test_initializers_of_a_branch_come_along_but_not_into_a_function():
    number = next(at for at, body in enumerate(bodies(loaded(INNER).proto)) if body.owner is None)
    model = loaded(INNER)
    model.proto.graph.node[1].attribute[0].g.sparse_initializer.add().values.name = "s"
    assert inside._take_branch(model.proto, number=number, index=1, name="then_branch")
    graph = model.proto.graph
    assert [each.name for each in graph.initializer] == ["w"]
    assert [each.values.name for each in graph.sparse_initializer] == ["s"]
    called = """(float[2] x, bool c) => (float[2] y) { y = f.G (x, c) }
        <domain: "f", opset_import: ["": 18]> G (u, c) => (v) { v = If (c) <
            then_branch = t () => (float[2] p) <float[2] w = {1, 2}> { p = Add (u, w) },
            else_branch = e () => (float[2] q) { q = Sin (u) }> }"""
    place = {"number": 1, "index": 0}
    assert edited(called, inside._take_branch, **place, name="then_branch") is None
    assert edited(called, inside._take_branch, **place, name="else_branch")[0] == [["y = G x c"], ["v = Sin u"]]


def test_weights_become_zeros_one_by_one():
    ones = ", ".join("1" * 9)
    search = search_for(
        loaded(f"""(float[9] x) => (float[9] y) <float[9] a = {{{ones}}}, float[9] b = {{{ones}}},
        float[1] c = {{1}}> {{ s = Add (x, a)  t = Add (s, b)  y = Add (t, c) }}""")
    )
    values._zero_weights(search)
    assert search.steps == {"zeros": 2}
    assert [each.any() for each in weights(search.model).values()] == [False, False, True]


def test_values_of_weights_that_are_too_large_stay(monkeypatch):
    ones = ", ".join("1" * 9)
    text = f"(float[9] x) => (float[9] y) <float[9] a = {{{ones}}}> {{ y = Add (x, a) }}"
    for most, steps in ((35, {}), (36, {"zeros": 1})):
        monkeypatch.setattr(values, "_MOST_BYTES", most)
        search = search_for(loaded(text))
        values._zero_weights(search)
        assert search.steps == steps


ONES = ", ".join("1" * 15)


def has_large_weight(model):
    return any(each.name == "w" and np.prod(each.dims) > 8 for each in model.proto.graph.initializer)


def test_each_kind_of_value_becomes_small():
    model = loaded(f"""(float[5, 3] x) => (float[A, B] y) <float[5, 3] w = {{{ONES}}}, float[1] v = {{1}}> {{
        a = Add (x, w)  b = LeakyRelu <alpha = 0.5> (a)  c = Add (b, v)  y = Clip (c, v) }}""")
    search = search_for(model, has_large_weight)
    values.reduce_values(search)
    assert search.steps == {"weights": 1, "sizes": 1, "zeros": 1, "attributes": 1, "inputs": 1}
    assert search.tries == 17 and [*search.model.proto.graph.node[3].input] == ["c"]
    assert {name: each.tolist() for name, each in weights(search.model).items()} == {"w": [[0, 0, 0]] * 3}


def test_a_whole_reduction_takes_all_kinds_of_steps():
    model = loaded(f"""(float[5, 3] x, float[2] u) => (float[A, B] y, float[2] z) <float[5, 3] w = {{{ONES}}}> {{
        n = Neg (x)  a = Add (n, w)  b = LeakyRelu <alpha = 0.5> (a)  y = f.G (b)  z = Abs (u) }}
        <domain: "f", opset_import: ["": 18]> G (a) => (b) {{ t = Sin (a)  b = Cos (t) }}""")
    model.proto.doc_string = "d"
    found = reduce_model(model, Shown(model, has_large_weight), default_registry(), Limits())
    assert (found.nodes_before, found.nodes, found.complete) == (7, 1, True)
    assert found.steps == {"nodes": 3, "annotations": 1, "sizes": 1, "zeros": 1}
    graph = found.model.proto.graph
    assert ([each.name for each in graph.input], [each.name for each in graph.output]) == (["n"], ["a"])
    text = "(float[4] x) => (float[A] y, int64[B] i, int64[B] c) { y, i, , c = Unique <sorted = 1> (x) }"
    unique = loaded(text)
    found = reduce_model(unique, Shown(unique, lambda each: "Unique" in operators(each)), default_registry(), Limits())
    assert found.steps == {"annotations": 1, "outputs": 2, "sizes": 1, "attributes": 1}
