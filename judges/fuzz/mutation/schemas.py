"""Mutants of schema files: operator YAML of the standard and of a user's domain, changed in its bytes or its tree.

A case is a folder with one such file, some with type sets, a lock, or Python files beside it. Its verbs do all that a
user does with the folder: lint, `--fix` and `--lock` on a copy, the registry, `list`, `show` and `diff`, and of a model
for each of a few examples inference, conversion to other versions and evaluation.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from judges.fuzz.mutation.case import Case, command
from opset import Limits, ReferenceEvaluator, convert, infer
from opset.catalog import changes, difference_words, schema_data, worst_work
from opset.cli.diff import _difference_lines as diff_lines
from opset.cli.list import _chosen_operators, _table_lines
from opset.cli.operators import change_lines, schema_lines
from opset.errors import OpsetError, SchemaError
from opset.opsets.registry import Registry, registry_with
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.constraints.signature import arity_misfits, attribute_misfits, type_misfits, value_misfits
from opset.schemas.diff import signature_diff
from opset.schemas.example import example_versions
from opset.schemas.index import FOLDER
from opset.schemas.lint.fix import fixes
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.selection import folder_of_domains
from opset.schemas.yaml.loader import TYPES_FILE
from opset.schemas.yaml.reader import Findings, YamlNode, read

OWN = Path(__file__).parents[3] / "tests" / "opsets" / "own" / "com.example"
DOMAIN = "com.example"
HOOKS = ("adapters.py", "inference.py", "kernels.py")
SCHEMAS = "schemas"
"""The folder of a case that holds its schemas."""
LIMITS = Limits(max_steps=1000, max_bytes=50_000_000, timeout=5)
MOST_EXAMPLES, MOST_TARGETS = 4, 2


class Raw(str):
    """A scalar that is printed as it is."""


class Pairs(list):  # type: ignore[type-arg]
    """A mapping as a list of [key, value], in which keys may be duplicate."""


# Values that have broken readers of YAML, of numbers, of expressions.
NASTY = [
    *("", "~", "null", "true", "false", "no", "on", "0", "-0", "1", "-1", "2", "7", "13", "31", "63", "64", "127"),
    *("255", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775809",),
    *(str(2**70), str(-(2**70)), "9" * 39, "9" * 400, "9" * 5000, "0x" + "f" * 40, "0o" + "7" * 40, "0b1", "1_000"),
    *("1e400", "-1e400", "1e999999999", "1e-999999999", "3.5e38", "1e39", "1e-46", "0.1", ".5", "1.", "-0.0", "1e5"),
    *(".inf", "-.inf", ".nan", "inf", "nan", "190:20:30", "12:30:45", "2001-12-14", "2001-12-14t21:59:43.10-05:00"),
    *("!!binary aGk=", "!!int 3", "!!python/object/apply:os.system [ls]", "!x y", "&a 1", "*a", "<<", "="),
    *("? a", "|", ">"),
    *("[]", "{}", "[[]]", "[{}]", "{a: }", "[1, [2]]", "[null]", "{1: 2}", "{null: 1}", "{[a]: b}", "{? {a: b} : c}"),
    *('"\\0"', '"\\x1b[31m"', '"\\ud800"', '"\\uFEFF"', '"\\u202e"', '"\\n\\n"', '"\\U0010ffff"', '"\u2028"'),
    *('" "', "'it''s'"),
    *("%s", "{}".format("{{0.__class__}}").join("''"), "'{{ 7 * 7 }}'", "'<script>'", "../../x", "/dev/zero"),
    *("a" * 3000,),
]
WORDS = [
    *("X", "Y", "T", "x", "rank", "rank(X)", "size(X)", "dim(X, 0)", "dim(X, rank(X))", "len(axes)"),
    *("-rank(X) <= x < rank(X)",),
    *("()", "(N)", "(N, C, ...)", "(...)", "(...D)", "(..., N)", "(N, N, N)", "(C * group, k - 1)"),
    *("(_ , 1 or 2)", "(N, C = 1, ...)"),
    *("() or (1)", "(N // 0)", "(N * N * N * N)", "(1e999)", "multiple of 0", "multiple of group", "3 or 4"),
    *(">= 2", ">= 1e999"),
    *("> 0 and < 0", "x < x", "0 <= x <= 1e400", "!= 0", "-1", "0..5", "-5..5", "5..0", "0..99999999"),
    *("0..9999999999999999999",),
    *("(" * 200, "-" * 200, "1 + " * 70 + "1", "9" * 290, "9" * 290 + " * " + "9", "N" * 299, "(" + "N, " * 90 + ")"),
    *(" * ".join(["99999"] * 40), "not X", "given", "absent", "true", "false", "C1", "C2", "C9999", "C0", "c1"),
    *("C10000",),
    *("same(X)", "same(X); same(X)", "same(Nonesuch)", "same()", "same", "scalar", "broadcast(X, Y)"),
    *("same(X)" * 50, "same(("),
    *("float", "int64", "tensor(float)", "seq(tensor(float))", "optional(float)"),
    *("seq(" * 9 + "float" + ")" * 9, "all", "numeric"),
    *("map(string, float)", "map(int64, map(int64, float))", "sparse_tensor(float)", "floats", "integers"),
    *("+float", "-float"),
    *("seq(" * 500 + "float" + ")" * 500, "optional(seq(all))", "tensor(Float)", "tensor()", "type_proto"),
    *("graph", "ints", "tensors"),
    *("derived", "written", "impossible: no", "impossible:", "deterministic", "unknown", "single", "variadic"),
    *("bool", "axis", "axes"),
    *("data_type", "any_case", "new", "gone", "Stretch", "Relu", "ai.onnx", "com.example", "1+2j", "nan"),
    *("inf", "1e3", "j"),
    *("g () => (y) { y = Relu (x) }", "g (float[N] x) => (float[N] y) { y = Relu (x) }"),
    *("g () => () {" + "}" * 100, "{" * 2000),
]


@cache
def sources() -> dict[str, bytes]:
    """Return the text of operator files by name: the standard's, and those of a domain of one's own several times."""
    files = [*sorted(FOLDER.glob("*/*.yaml"))]
    texts = {f"{file.parent.name}/{file.name}": file.read_bytes() for file in files}
    return texts | {f"{DOMAIN}/{file.name}": file.read_bytes() for file in sorted(OWN.glob("*.yaml"))}


@cache
def _tree(name: str) -> Any:
    return _of_node(read(sources()[name], Findings(name)))


def _of_node(node: YamlNode) -> Any:
    if isinstance(node.value, dict):
        return Pairs([key, _of_node(value)] for key, value in node.value.items())
    if isinstance(node.value, list):
        return [_of_node(each) for each in node.value]
    return node.value


def _copied(tree: Any) -> Any:
    if isinstance(tree, Pairs):
        return Pairs([key, _copied(value)] for key, value in tree)
    return [_copied(each) for each in tree] if isinstance(tree, list) else tree


def printed(tree: Any) -> str:
    """Return a tree as YAML in flow style."""
    if isinstance(tree, Raw):
        return tree
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{_key(key)}: {printed(value)}" for key, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(printed, tree)) + "]"
    if isinstance(tree, float) and not math.isfinite(tree):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(tree), ".nan")
    return json.dumps(tree)


def _key(key: str) -> str:
    return key if isinstance(key, Raw) else json.dumps(key)


def _document(tree: Any) -> bytes:
    """Return an operator's tree with a line for each key, version and example, in bytes that may not be UTF-8."""
    if not isinstance(tree, Pairs):
        return printed(tree).encode("utf-8", "surrogatepass")
    lines = []
    for key, value in tree:
        if isinstance(value, list) and not isinstance(value, Pairs) and value:
            lines += [f"{_key(key)}:", *(f"- {printed(each)}" for each in value)]
        else:
            lines.append(f"{_key(key)}: {printed(value)}")
    return "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"


def _places(tree: Any) -> Iterator[tuple[list[Any], int]]:
    """Yield every entry of every list and mapping of a tree, as the list and the index in it."""
    stack = [tree]
    while stack:
        container = stack.pop()
        for index, entry in enumerate(container):
            yield container, index
            inner = entry[1] if isinstance(container, Pairs) else entry
            if isinstance(inner, list):
                stack.append(inner)


def _get(container: list[Any], index: int) -> Any:
    return container[index][1] if isinstance(container, Pairs) else container[index]


def _put(container: list[Any], index: int, value: Any) -> None:
    container[index] = [container[index][0], value] if isinstance(container, Pairs) else value


def _any_place(rng: random.Random, tree: Any) -> tuple[list[Any], int]:
    """Return an entry of a tree, more often one that is not inside of examples, which are most of a file."""
    if isinstance(tree, Pairs) and rng.random() < 0.7:
        inner = [each for key, each in tree if key != "examples" and isinstance(each, list) and each]
        if inner:
            return rng.choice([*_places(rng.choice(inner))])
    return rng.choice([*_places(tree)])


# Changes of a tree. Each takes an entry of it.


def _delete(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    del container[index]


def _duplicate(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    container.insert(rng.randrange(len(container) + 1), _copied(container[index]))


def _many(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    """Repeat an entry, under names of its own where it has one."""
    count = rng.choice((3, 3, 40, 300))
    entry = container[index]
    for number in range(count):
        copy = [f"{entry[0]}{number}", entry[1]] if isinstance(container, Pairs) else _copied(entry)
        if isinstance(copy, Pairs) and rng.random() < 0.8:
            for pair in copy:
                if pair[0] in ("name", "since"):
                    pair[1] = f"{pair[1]}{number}" if pair[0] == "name" else number + 1
        container.append(copy)


def _rename(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    keys = [pair[0] for inner, at in _places(tree) if isinstance(inner, Pairs) for pair in (inner[at],)]
    if isinstance(container, Pairs):
        new = rng.choice([*keys[:50], rng.choice(keys), Raw(rng.choice(NASTY)), rng.choice(WORDS)])
        container[index] = [new, container[index][1]]
    else:
        _put(container, index, rng.choice(keys))


def _scalar(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    value = rng.choice(NASTY)
    _put(container, index, Raw(value) if rng.random() < 0.8 else value)


def _word(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    _put(container, index, rng.choice(WORDS))


def _text(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    """Change a text by its words, or a number by a little or much."""
    value = _get(container, index)
    if isinstance(value, bool) or value is None or isinstance(value, list):
        _word(rng, container, index, tree)
    elif isinstance(value, str):
        parts = re.findall(r"\w+|\W", value) or [""]
        at = rng.randrange(len(parts))
        change = rng.randrange(4)
        if change == 0:
            del parts[at]
        elif change == 1:
            parts[at:at] = [parts[at]] * rng.choice((1, 2, 50))
        elif change == 2:
            parts[at] = rng.choice([*parts, *WORDS, *"()=<>!,;:+-*/ .x0", "and", "or", "of"])
        else:
            other = rng.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        _put(container, index, "".join(parts))
    else:
        factor = rng.choice((-1, 0, 2, 1000, 2**31, 2**63, 1e30, 1e300))
        _put(container, index, Raw(repr(value * factor)) if value == value else 0)


def _swap(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    """Put in place of an entry one of another operator, of the same key if there is one."""
    other = _tree(rng.choice([*sources()]))
    places = [*_places(other)]
    if isinstance(container, Pairs):
        same = [(inner, at) for inner, at in places if isinstance(inner, Pairs) and inner[at][0] == container[index][0]]
        places = same if same and rng.random() < 0.8 else places
    _put(container, index, _copied(_get(*rng.choice(places))))


def _move(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    """Exchange two entries of one tree."""
    other, at = _any_place(rng, tree)
    first, second = _get(container, index), _copied(_get(other, at))
    _put(other, at, _copied(first))
    _put(container, index, second)


def _retype(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    value = _get(container, index)
    depth = rng.choice((1, 1, 1, 2, 30, 40, 2000))
    forms: list[Callable[[Any], Any]] = [lambda each: [each], lambda each: Pairs([["value", each]])]
    wrap = rng.choice(forms)
    if isinstance(value, list) and value and rng.random() < 0.5:
        _put(container, index, _get(value, rng.randrange(len(value))))
        return
    if isinstance(value, list) and rng.random() < 0.3:
        new = Pairs([f"k{at}", each] for at, each in enumerate(value))
        _put(container, index, [pair[1] for pair in value] if isinstance(value, Pairs) else new)
        return
    if depth > 100:
        text = printed(value)
        _put(container, index, Raw("[" * depth + text + "]" * depth if len(text) < 1000 else text))
        return
    for _ in range(depth):
        value = wrap(value)
    _put(container, index, value)


def _shorten(rng: random.Random, container: list[Any], index: int, tree: Any) -> None:
    value = _get(container, index)
    del (value if isinstance(value, list) else container)[rng.randrange(2) :]


CHANGES = (
    *(_delete, _delete, _duplicate, _many, _rename, _rename, _scalar, _scalar, _scalar, _word, _word),
    *(_text, _text, _text, _swap, _swap, _swap, _move, _retype, _shorten),
)


# Changes of bytes.

PIECES = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\t", b"\x1b[31m", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b"\xed\xa0\x80", b"\x7f"),
    *(b"&a ", b"*a", b"<<: ", b"<<: *a\n", b"!!binary ", b"!!str ", b"%YAML 1.1\n---\n", b"\n---\n"),
    *(b"\n...\n", b"# ", b": ", b"- "),
    *(b"{", b"}", b"[", b"]", b"'", b'"', b"? ", b"| \n", b">-\n", b"@", b"`", b",", b"\n", b"    "),
    *(b"[" * 3000, b"{a: " * 500),
    *(b"\n" * 5000, b" " * 5000, b"x" * 70000, b"? " * 300, b"- " * 300, b"0" * 5000, b"- [" * 200),
]


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    buffer = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(buffer) + 1)
        end = min(at + rng.choice((1, 1, 2, 8, 60, 600)), len(buffer))
        change = rng.randrange(6)
        if change == 0:
            buffer[at:end] = b""
        elif change == 1:
            buffer[at:at] = rng.choice(PIECES)
        elif change == 2 and at < len(buffer):
            buffer[at] = rng.randrange(256)
        elif change == 3:
            buffer[at:at] = buffer[at:end]
        elif change == 4:
            start = rng.randrange(len(buffer) + 1)
            buffer[at:at] = buffer[start : start + end - at]
        elif change == 5:
            number = [*re.finditer(rb"-?[0-9]+", buffer)]
            if number:
                chosen = rng.choice(number)
                buffer[chosen.start() : chosen.end()] = rng.choice(NASTY).encode("utf-8", "surrogatepass")
    data = bytes(buffer)
    whole = rng.randrange(60)
    if whole == 0:
        data = data[: rng.randrange(len(data) + 1)]
    elif whole == 1:
        data = data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig")))
    elif whole == 2:
        data = data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b" \n", b"\n ")))
    elif whole == 3:
        data *= rng.choice((2, 50))
    elif whole == 4:
        data = bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 30, 3000))))
    return data


def case(rng: random.Random) -> Case:
    """Return a folder with a mutated operator file, some with type sets of their own and hooks beside it."""
    name = rng.choice([*sources(), *[f"{DOMAIN}/Stretch.yaml"] * 30])
    data = sources()[name]
    done: list[str] = []
    if rng.random() < 0.8:
        tree = _copied(_tree(name))
        tree[:] = [[key, rng.sample(value, min(4, len(value))) if key == "examples" else value] for key, value in tree]
        for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 8))):
            if isinstance(tree, list) and tree:
                change = rng.choice(CHANGES)
                change(rng, *_any_place(rng, tree), tree)
                done.append(change.__name__.strip("_"))
        data = _document(tree)
    if not done or rng.random() < 0.05:
        data = _changed_bytes(rng, data)
        done.append("bytes")
    # The standard's own domain, where the standard's operators are, or another one, to which all rules of lint apply.
    domain = rng.choice((*[DOMAIN] * 8, "ai.onnx", "ai.onnx.ml"))
    operator = name.partition("/")[2]
    files = {f"{domain}/{operator}": data}
    if rng.random() < 0.1:
        sets = (FOLDER / TYPES_FILE).read_bytes().replace(b"\nfloats", b"\nmine").replace(b"\nint", b"\nours")
        files[TYPES_FILE] = _changed_bytes(rng, rng.choice((sets, b"mine: [float, int64]\nours: [mine, seq(mine)]\n")))
    if rng.random() < 0.05:
        lock = {domain: {operator[:-5]: {"1": "00" * 32, "2": "ab"}}}
        files["lock.json"] = _changed_bytes(rng, json.dumps(lock).encode())
    if domain == DOMAIN and operator == "Stretch.yaml":
        files |= {f"{DOMAIN}/{hook}": (OWN / hook).read_bytes() for hook in HOOKS}
    what = f"{name} in {domain}: {', '.join(done)}"
    return Case(what, {f"{SCHEMAS}/{path}": each for path, each in files.items()}, _Verbs(rng.random()).verbs())


class _Verbs:
    """What is done with the folder of a case; what the registry refuses is not tried any further."""

    def __init__(self, seed: float) -> None:
        self.rng = random.Random(seed)
        self.registry: Registry | None = None
        self.error: SchemaError | None = None
        self.own: list[tuple[str, str]] = []

    def verbs(self) -> dict[str, Callable[[Path], object]]:
        """Return the verbs by name, in order."""
        named = {"lint": self.lint, "fix": self.fix, "registry": self.load, "print": self.print, "run": self.run}
        return named | ({"commands": self.commands} if self.rng.random() < 0.1 else {})

    def lint(self, folder: Path) -> object:
        """Lint a copy of the folder, and lock it where nothing is wrong."""
        shutil.copytree(folder / SCHEMAS, folder / "copy")
        return command("lint", "--lock", folder / "copy", "--format", self.rng.choice(("json", "text")))

    def fix(self, folder: Path) -> object:
        """Mend the copy of the folder; what was mended once is not mended again."""
        target = folder_of_domains(folder / "copy")
        texts = fixes(target).texts
        for path, text in texts.items():
            Path(path).write_text(text, encoding="utf-8")
        assert not texts or not fixes(target).texts, "a file that is fixed is not as it is printed"
        return 0

    def load(self, folder: Path) -> object:
        """Make a registry of the standard and the folder."""
        try:
            self.registry = registry = registry_with([folder / SCHEMAS])
        except SchemaError as error:
            self.error = error
            for each in error.findings:
                assert each.place.startswith(str(folder / SCHEMAS)), each
                assert len(str(each)) < 10_000, f"a finding of {len(str(each))} characters"
            raise
        domains = {path.parent.name for path in (folder / SCHEMAS).glob("*/*.yaml")}
        names = [(domain, name) for domain in domains for name in registry.operators(domain)]
        self.own = [(domain, name) for domain, name in names if not registry.is_standard(name, domain)]
        return 0

    def _refused(self) -> None:
        if self.error is not None:
            raise self.error

    def print(self, folder: Path) -> object:
        """Print the operators as `list`, `show` and `diff` do."""
        self._refused()
        for domain, name in self.own:
            assert self.registry is not None
            _table_lines(_chosen_operators(self.registry, domain_name(domain), None, None))
            versions = self.registry.versions(name, domain)
            sets = self.registry.type_sets
            crossed = changes(versions, sets)
            for schema in versions:
                data = schema_data(self.registry, schema)
                schema_lines(data)
                json.dumps([data, crossed])
            for each in crossed:
                change_lines(each)
            data = {
                "operator": name,
                "before": 1,
                "after": 2,
                "since_before": 1,
                "transitions": crossed,
                "since_after": 2,
                "words": difference_words(signature_diff(versions[0], versions[-1]), sets),
                "up": worst_work([each.up for each in crossed]),
                "down": worst_work([each.down for each in crossed]),
            }
            diff_lines(data)
        return 0

    def run(self, folder: Path) -> object:
        """Check a node of every version; infer, convert and evaluate examples."""
        self._refused()
        for domain, name in self.own:
            assert self.registry is not None
            versions = {schema.since_version: schema for schema in self.registry.versions(name, domain)}
            for schema in versions.values():
                _check(schema)
            examples = [*self.registry.examples(name, domain)]
            for example in self.rng.sample(examples, min(MOST_EXAMPLES, len(examples))):
                held = example_versions(example, versions)
                schema = versions[self.rng.choice(held)]
                with suppress(OpsetError):
                    model, feeds = model_of(schema, example), feeds_of(example)
                    self._run(model, feeds, domain_name(domain), [*versions])
        return 0

    def _run(self, model: Any, feeds: dict[str, Any], domain: str, versions: list[int]) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: infer(model, schemas=self.registry),
            lambda: ReferenceEvaluator(model, schemas=self.registry, limits=LIMITS).run(None, feeds),
        ]
        for version in self.rng.sample(versions, min(MOST_TARGETS, len(versions))):
            calls.append(partial(convert, model, {domain: version}, schemas=self.registry))
        for call in calls:
            with suppress(OpsetError):
                call()

    def commands(self, folder: Path) -> object:
        """Run `list`, `show` and `diff` themselves."""
        self._refused()
        named = "--schemas", folder / SCHEMAS
        status = 0
        for form in ("text", "json"):
            for things in ("operators", "domains"):
                status |= command("list", things, *named, "--format", form)
            for domain, name in self.own:
                status |= command("show", *named, "--format", form, "--domain", domain_name(domain), "--", name)
                status |= command("diff", *named, "--format", form, "--domain", domain_name(domain), "--", name, 1, 2)
        return status


def _check(schema: OpSchema) -> None:
    """Check a node that states every attribute at its default."""
    values = {each.name: each.default for each in schema.attributes.values() if each.default is not None}
    kinds = [schema.allowed_types(each)[0] for each in schema.inputs]
    stated = dict.fromkeys(schema.attributes)
    for misfits in (
        arity_misfits(schema, kinds),
        type_misfits(schema, kinds),
        attribute_misfits(schema, stated),
        value_misfits(schema, values, [2] * len(kinds)),
    ):
        for _ in misfits:
            pass
