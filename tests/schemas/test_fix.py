"""What `opset lint --fix` writes: computed differences and the layout, and nothing that only an author knows."""

from opset.schemas.diff import Transition
from opset.schemas.index import FOLDER
from opset.schemas.lint.fix import fixed_text, fixes, is_unexplained, remove_guidance
from opset.schemas.selection import folder_of_domains
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import load_operator, load_sets
from tests.schemas.texts import SCALE

SETS = load_sets(FOLDER / "types.yaml")
DECLARED = "    attributes: {axis: {added: int, default: 1, old: 0}, by: {removed: float, input: by}}\n"
OLDER = """\
- since: 1
  like: 2
  inputs: [X]
  attributes: {by: {type: float, required: true, doc: factor}, axis: null}
  types: {T: floats}
"""
RIGHT = (
    SCALE.partition("- since: 1\n")[0]
    .replace("    attributes: {axis: {added: int, default: 1}}\n", f"    inputs: {{added: [by]}}\n{DECLARED}")
    .replace("    adapters", "    meaning: It counts differently.\n    adapters")
) + OLDER
WRONG = (
    RIGHT.replace("    inputs: {added: [by]}\n", "    outputs: {added: [Z]}\n")
    .replace("added: int, default: 1, old: 0", "old: 0")
    .replace("removed: float, input: by", "input: by")
    .replace("    types: {T: [+bfloat16]}\n", "")
    .replace("  inputs: [X]\n", "  doc: Scales.\n  inputs: [{name: X, type: T}]\n")
)


def write(folder, text, name="Scale"):
    path = folder / f"com.acme/{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_the_difference_and_the_layout_are_written(tmp_path):
    path = write(tmp_path, WRONG)
    assert fixed_text(load_operator(path, SETS), SETS) == RIGHT
    assert fixes(folder_of_domains(tmp_path)).texts == {str(path): RIGHT}
    write(tmp_path, RIGHT)
    assert fixes(folder_of_domains(tmp_path)).texts == {}


def test_what_is_said_of_an_attribute_stays_where_its_signature_is_the_same(tmp_path):
    kept = "mode: {values: {up: upwards}}"
    text = RIGHT.replace("  attributes:\n", "  attributes:\n    mode: {type: string, default: up, doc: how}\n", 1)
    right = text.replace("input: by}}\n", f"input: by}}, {kept}}}\n")
    wrong = right.replace("added: int, default: 1, old: 0", "old: 0")
    assert fixed_text(load_operator(write(tmp_path, wrong), SETS), SETS) == right


def test_every_file_of_a_folder_is_fixed(tmp_path):
    paths = [
        write(tmp_path, text.replace("operator: Scale", f"operator: {name}"), name)
        for name, text in (("Right", RIGHT), ("Scale", WRONG), ("Wrong", WRONG))
    ]
    assert [*fixes(folder_of_domains(tmp_path)).texts] == [str(path) for path in paths[1:]]


def test_an_example_may_drop_a_graph_that_it_inherits(tmp_path):
    text = (FOLDER / "ai.onnx.preview/FlexAttention.yaml").read_text()
    start = text.index("    score_mod: |\n      flattened")
    stop = text.index("- {name: bfloat16", start)
    path = tmp_path / "ai.onnx.preview/FlexAttention.yaml"
    path.parent.mkdir()
    path.write_text(text[:start] + "    score_mod: null\n" + text[stop:])
    assert "score_mod: null" in fixed_text(load_operator(path, SETS), SETS)


def test_graphs_in_a_list_are_literal_blocks(tmp_path):
    text = RIGHT.replace("  attributes:\n", "  attributes:\n    parts: {type: graphs, doc: graphs}\n", 1)
    graph = "g (float[N] a) => (float[N] b) {\n        b = Neg (a)\n      }\n"
    example = """examples:
- name: graphs
  since: 2
  attributes:
    parts:
    - |
      GRAPH
    - |
      GRAPH
  inputs: [{float: [1, 2]}, {float: 2}]
  outputs: [{float: [2, 4]}]
""".replace("GRAPH\n", graph)
    path = write(tmp_path, text + example.replace("\n        b = Neg (a)\n      }", " b = Neg (a) }"))
    assert fixed_text(load_operator(path, SETS), SETS).endswith(example)


def test_files_that_cannot_be_loaded_or_have_comments_are_left_alone(tmp_path):
    path = write(tmp_path, "# mine\n" + WRONG)
    assert (fixes(folder_of_domains(tmp_path)).texts, fixes(folder_of_domains(tmp_path)).commented) == ({}, [str(path)])
    write(tmp_path, WRONG.replace("operator:", "operators:"))
    assert (fixes(folder_of_domains(tmp_path)).texts, fixes(folder_of_domains(tmp_path)).commented) == ({}, [])


def test_nothing_of_the_standard_changes():
    found = fixes(folder_of_domains(FOLDER))
    assert (found.texts, found.commented) == ({}, [])


def test_an_attribute_before_the_shared_ones_leaves_them_shared(tmp_path):
    path = tmp_path / "com.acme" / "A.yaml"
    path.parent.mkdir()
    text = """operator: A
family: f
versions:
- since: 2
  change:
    attributes: {a: {removed: int}}
    adapters: {up: written, down: derived}
  doc: d
  attributes:
    b: {type: int, doc: d}
- since: 1
  like: 2
  attributes: {a: {type: int, doc: d}}
"""
    path.write_text(text)
    assert fixed_text(load_operator(path, SETS), SETS) == text


EXAMPLE = "examples:\n- {name: a, since: 2, attributes: {axis: 0}, inputs: [null, null], outputs: [null]}\n"


def test_what_was_to_be_filled_in_goes_when_nothing_is_left(tmp_path):
    text = RIGHT.replace("    meaning: It counts differently.\n", "")
    guided = (text + EXAMPLE).replace("  doc: Scales.\n", "  #: say what it does\n  doc: Scales.\n")

    def found(edited):
        path = write(tmp_path, edited)
        made = fixes(folder_of_domains(tmp_path))
        return made.texts.get(str(path)), made.commented == [str(path)]

    fixed = dump_operator(load_operator(write(tmp_path, text + EXAMPLE), SETS))
    assert found(guided) == (fixed, False)
    assert found(guided.replace("  #: say", "  # say")) == (None, True)
    assert found(guided.replace(EXAMPLE, "")) == (None, True)  # an example is left to write
    assert found(guided.replace("doc: factor}\n  outputs", "doc: ' '}\n  outputs")) == (None, True)
    assert found((text + EXAMPLE).replace("doc: Scales.", "doc: 'Scales # it'"))[1] is False
    assert remove_guidance("a\n  #: b\n#:\n# c\n#:d\n") == "a\n# c\n#:d\n"


def test_a_transition_that_says_nothing(tmp_path):
    (step,) = load_operator(write(tmp_path, RIGHT), SETS).transitions
    assert not is_unexplained(step)
    equal = Transition(step.old, step.old, step.change._replace(meaning=""))
    assert is_unexplained(equal)
    for said in ({"meaning": "it"}, {"clarified": "it"}):
        assert not is_unexplained(Transition(step.old, step.old, equal.change._replace(**said)))
    assert not is_unexplained(Transition(step.old, step.new, equal.change))


def test_a_string_is_no_graph(tmp_path):
    text = RIGHT.replace("  attributes:\n", "  attributes:\n    mode: {type: string, doc: it}\n", 1)
    graph = "g (float[N] a) => (float[N] b) { b = Neg (a) }"
    example = f"""examples:
- name: text
  since: 2
  attributes: {{mode: "{graph}"}}
  inputs: [{{float: [1, 2]}}, {{float: 2}}]
  outputs: [{{float: [2, 4]}}]
"""
    path = write(tmp_path, text + example)
    assert graph in fixed_text(load_operator(path, SETS), SETS)
