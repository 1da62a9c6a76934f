"""Reads a state from one file: the YAML of an operator, or the JSON of `opset docs --format json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from opset.errors import ComparisonError, Finding, SchemaError, listing
from opset.schemas.constraints.grammar import parse_range
from opset.schemas.documentation import Docs, ImplementationNote, SpecialCase
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import (
    UNBOUNDED,
    Attribute,
    AttributeChange,
    Change,
    Condition,
    FunctionBody,
    OpSchema,
    Parameter,
)
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.status import CHOSEN, DERIVED, STATED
from opset.schemas.untrusted_files import file_bytes, parse_json
from opset.workflow.breaking.states import (
    OperatorState,
    State,
    loaded_state,
    no_operators_finding,
    operator_state,
    unreadable_error,
)

MAX_BYTES = 1 << 28
MAX_DEPTH = 64


def file_state(path: Path, new: State) -> tuple[State, bool]:
    """Return (state, whether the file is YAML) for a file with the older state: JSON of many operators, or YAML of one.

    The file is JSON if its first character is "{". Operators of domains that only the JSON has are left out. If none
    would remain, all are kept.

    Args:
        path: JSON of `opset docs`, or YAML of an operator.
        new: The newer state.

    Raises:
        ComparisonError: B192 if the file cannot be read or has faults, B193 if it has no operator to compare.
    """
    try:
        data = file_bytes(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _unreadable_file(path, why) from None
    if data.lstrip()[:1] == b"{":
        return _json_state(path, data, new), False
    return _yaml_state(path, data, new), True


def _unreadable_file(path: Path, why: str) -> ComparisonError:
    """Return the error B192: a file holds no operators, for the reason `why`."""
    help = "give the YAML of an operator, or the JSON that opset docs wrote"
    return ComparisonError(Finding("B192", f"the schemas of {path} cannot be read", why=why, help=help))


def _yaml_state(path: Path, data: bytes, new: State) -> State:
    """Return the state of the one operator in a YAML file, whose bytes are `data`.

    Its domain is the name of the file's folder if `new`, the newer state, has this domain. Otherwise, it is the only
    domain in `new` with an operator of the file's name. Raises ComparisonError B192 if the file has faults, and B193 if
    `new` has no such operator, or if several domains have it.
    """
    from opset.schemas.yaml.loader import parse_operator

    domain = normalize_domain(path.parent.resolve().name)
    if domain not in new.domains:
        domains = [each for each, name in new.operators if name == path.stem]
        if len(domains) != 1:
            known_domains = listing([domain_name(each) for each in domains]) if domains else "no domain"
            why = f"{known_domains} has an operator {path.stem}, and the file's folder names none"
            help = "keep the file as <domain>/<Operator>.yaml"
            raise ComparisonError(Finding("B193", f"{path} has no operator that is compared", why=why, help=help))
        domain = domains[0]
    try:
        operator = parse_operator(data, Path(domain_name(domain)) / path.name, new.sets)
    except SchemaError as error:
        raise unreadable_error(str(path), error) from None
    state = loaded_state([operator], str(path), new.sets)
    if not state.operators.keys() & new.operators.keys():
        name = f"{domain_name(domain)}.{operator.name}"
        raise ComparisonError(Finding("B193", f"there is no operator {name} to compare with {path}"))
    return state


def _json_state(path: Path, data: bytes, new: State) -> State:
    """Return the state of the operators in the JSON of `opset docs`, whose bytes are `data`; `path` names the state.

    Operators of domains that `new` does not have are left out. If none would remain, all are kept. Raises
    ComparisonError B192 if the file cannot be read, B193 if it has no operators.
    """
    try:
        document = parse_json(data)
        _check_depth(document)
        states = [_parse_operator(each) for domain in document["domains"] for each in domain["operators"]]
        sets = {name: tuple(map(_require_text, types)) for name, types in document["type_sets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        why = f"it is no document of operators: {type(error).__name__} {str(error)[:200]}"
        raise _unreadable_file(path, why) from None
    domains = {each.domain for each in states} & new.domains.keys()
    kept = {each.key: each for each in states if not domains or each.domain in domains}
    if not kept:
        raise ComparisonError(no_operators_finding(str(path), str(path)))
    return State(str(path), kept, sets)


def _check_depth(document: Any) -> None:
    """Raise ValueError if plain data is nested more than MAX_DEPTH levels deep."""
    level = [document]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        level = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [*chain.from_iterable(level)]


def _parse_operator(data: Mapping[str, Any]) -> OperatorState:
    """Return the state of an operator, with all versions and examples, from the JSON of `opset docs`.

    Raises ValueError, KeyError, TypeError, AttributeError or IndexError if the data is malformed.
    """
    domain = normalize_domain(_require_text(data["domain"]))
    name = _require_text(data["operator"])
    versions = sorted(data["versions"], key=lambda each: int(each["since"]))
    schemas = [_parse_schema(domain, name, each) for each in versions]
    examples = tuple(_parse_example(each) for each in data["examples"])
    return operator_state(schemas, map(_parse_docs, versions), examples)


def _require_text(value: Any) -> str:
    """Return a value unchanged if it is a string; raise ValueError if it is not."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    return value


def _texts(data: Mapping[str, Any], keys: str) -> Iterator[str]:
    """Return an iterator of the values of several keys, which `keys` names with spaces between them: "name type".

    It raises ValueError if a value is no string, KeyError if a key is missing.
    """
    return (_require_text(data[key]) for key in keys.split())


def _parse_schema(domain: str, name: str, data: Mapping[str, Any]) -> OpSchema:
    """Return one version of an operator, from an entry of "versions" in the JSON of `opset docs`.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    return OpSchema(
        domain,
        name,
        int(data["since"]),
        _require_text(data["family"]),
        tuple(map(_parse_parameter, data["inputs"])),
        tuple(map(_parse_parameter, data["outputs"])),
        {
            each["name"]: _parse_attribute(each)
            for each in sorted(data["attributes"], key=lambda each: str(each["name"]))
        },
        {_require_text(key): tuple(map(_require_text, types)) for key, types in data["types"].items()},
        bool(data["deprecated"]),
        _require_text(data["replacement"]),
        bool(data["experimental"]),
        _require_text(data["determinism"]),
        _require_text(data["shape"]),
        _parse_change(data["change"]),
        tuple(map(_parse_condition, data["conditions"])),
        tuple(map(_parse_body, data["function"])),
        _require_text(data.get("unknown", "")),
    )


def _parse_parameter(data: Mapping[str, Any]) -> Parameter:
    """Return an input or output from an entry of "inputs" or "outputs" in the JSON of a version.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    least = min(int(data["min_arity"]), UNBOUNDED)
    name, type_, option = _texts(data, "name type option")
    return Parameter(name, type_, option, bool(data["homogeneous"]), least, bool(data["differentiable"]))


def _parse_attribute(data: Mapping[str, Any]) -> Attribute:
    """Return an attribute from an entry of "attributes" in the JSON of a version.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    name, type_, range_, kind, constraint = _texts(data, "name type range kind constraint")
    if range_:
        parse_range(range_)
    default = _parse_number(data["default"], type_)
    choices = tuple(_parse_number(each, type_.removesuffix("s")) for each in data["choices"])
    return Attribute(name, type_, default, bool(data["required"]), choices, range_, kind, constraint)


_UNFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def _parse_number(value: Any, kind: str = "") -> Any:
    """Return a value of JSON in the form that schemas have: a list as a tuple.

    If `kind`, the attribute type of the value, is a float type, "nan", "inf" and "-inf" become floats.
    """
    if isinstance(value, list):
        return tuple(_parse_number(each, kind) for each in value)
    if kind.startswith("float") and isinstance(value, str):
        return _UNFINITE.get(value, value)
    return value


def _parse_condition(data: Mapping[str, Any]) -> Condition:
    """Return the Condition that `data`, an entry of "conditions" in the JSON of a version, describes.

    A Condition is one check of a constraint, such as that the rank of the input X is 2.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    where = tuple((name, _require_text(form)) for name, form in data["where"].items())
    label, kind, subject, form = _texts(data, "label kind subject form")
    return Condition(label, kind, subject, form, where)


def _parse_body(data: Mapping[str, Any]) -> FunctionBody:
    """Return a function body from an entry of "function" in the JSON of a version.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    where = tuple((name, _require_text(form)) for name, form in data["where"].items())
    types = {name: tuple(each) for name, each in data["types"].items()}
    return FunctionBody(int(data["opset"]), _require_text(data["nodes"]), where, types, dict(data["emulate"]))


def _parse_change(data: Mapping[str, Any] | None) -> Change | None:
    """Return the Change that `data`, a version's `change:` block in JSON, describes; None if `data` is None.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    if data is None:
        return None
    attributes = {
        name: AttributeChange(**{key: _parse_number(value) for key, value in each.items()})
        for name, each in data["attributes"].items()
    }
    declared = data["difference"] if data["declared"] is None else data["declared"]
    texts = (*_texts(data, "meaning clarified"), *(_require_text(data[way]["declared"]) for way in ("up", "down")))
    return Change(declared, attributes, dict(data["emulate"]), bool(data["renamed"]), *texts)


def _parse_docs(data: Mapping[str, Any]) -> Docs:
    """Return the prose of a version, such as descriptions and formula, from the JSON of `opset docs`.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """

    def phrases(part: str) -> dict[str, str]:
        """Return the descriptions in a part of the version, such as "inputs", by name."""
        return {each["name"]: _require_text(each["doc"]) for each in data[part]}

    return Docs(
        _require_text(data["doc"]),
        phrases("inputs"),
        phrases("outputs"),
        phrases("attributes"),
        dict(data["constraints"]),
        _require_text(data["formula"]),
        tuple(
            SpecialCase(each)  # as in format 1
            if isinstance(each, str)
            else SpecialCase(_require_text(each["text"]), *_parse_grounds(each))
            for each in data["special_cases"]
        ),
        dict(data["counterparts"]),
        tuple(map(_parse_note, data.get("implementations", ()))),
    )


def _parse_note(data: Mapping[str, Any]) -> ImplementationNote:
    """Return a note on implementations from an entry of "implementations" in the JSON of a version.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    name, text, tested = _texts(data, "name text tested")
    return ImplementationNote(name, text, tested, tuple(map(_require_text, data["examples"])))


def _parse_grounds(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return (clause of the standard, reason for the choice) of an example or special case in JSON.

    If its `status` is "stated", `because` is the clause, and the reason is "". If it is "chosen", `because` is the
    reason, and the clause is "". For any other status, both are "".
    """
    status, because = data.get("status", DERIVED), _require_text(data.get("because", ""))
    return because if status == STATED else "", because if status == CHOSEN else ""


def _parse_example(data: Mapping[str, Any]) -> Example:
    """Return an example from an entry of "examples" in the JSON of an operator.

    Raises ValueError, KeyError, TypeError or AttributeError if the data is malformed.
    """
    outputs = data["outputs"]
    return Example(
        _require_text(data["name"]),
        int(data["since"]),
        None if data["until"] is None else int(data["until"]),
        _require_text(data["doc"]),
        *_parse_grounds(data),
        {name: _parse_value(each) for name, each in data["attributes"].items()},
        tuple(map(_parse_value, data["inputs"])),
        None if outputs is None else tuple(map(_parse_value, outputs)),
        _require_text(data["error"]),
        None if data["tolerance"] is None else float(data["tolerance"]),
    )


def _parse_value(data: Any) -> Any:
    """Return a value of an example in JSON as an ExampleValue; the elements of a tensor become one flat list.

    Of a list, each item is converted in this way. Other data, such as the number of an attribute, is returned
    unchanged.
    """
    if isinstance(data, list):
        return [_parse_value(each) for each in data]
    if not isinstance(data, dict) or data.keys() != {"type", "shape", "content"}:
        return data
    content, shape = data["content"], data["shape"]
    if shape is not None and isinstance(content, list):
        for _ in shape[1:]:
            content = [*chain.from_iterable(content)]
    elif isinstance(content, dict) and _require_text(data["type"]).startswith("map("):
        content = {key: _parse_value(each) for key, each in content.items()}
    elif not _require_text(data["type"]).startswith("sparse_tensor("):
        content = _parse_value(content)
    return ExampleValue(_require_text(data["type"]), content, None if shape is None else tuple(shape))
