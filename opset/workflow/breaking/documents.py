"""A state that one file holds: the YAML of an operator, or the JSON that `opset docs --format json` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from opset.errors import ComparisonError, Finding, SchemaError, listing
from opset.schemas.constraints.ranges import parse_range
from opset.schemas.model import (
    UNBOUNDED,
    Attribute,
    AttributeChange,
    Change,
    Condition,
    Docs,
    Example,
    ExampleValue,
    FunctionBody,
    OpSchema,
    Parameter,
    SpecialCase,
)
from opset.schemas.names import normalised, shown
from opset.schemas.status import CHOSEN, DERIVED, STATED
from opset.schemas.untrusted_files import file_bytes, parse_json
from opset.workflow.breaking.states import (
    OperatorState,
    State,
    loaded_state,
    nothing_read,
    operator_state,
    unreadable,
)

MAX_BYTES = 1 << 28
MAX_DEPTH = 64


def file_state(path: Path, new: State) -> tuple[State, bool]:
    """Return the older state that a file holds, and whether it is of one operator alone.

    Raises ComparisonError B192 where it cannot be read, B193 where it has no operator that is compared.
    """
    try:
        data = file_bytes(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _unreadable(path, why) from None
    if data.lstrip()[:1] == b"{":
        return _document_state(path, data, new), False
    return _operator_file(path, data, new), True


def _unreadable(path: Path, why: str) -> ComparisonError:
    help = "give the YAML of an operator, or the JSON that opset docs wrote"
    return ComparisonError(Finding("B192", f"the schemas of {path} cannot be read", why=why, help=help))


def _operator_file(path: Path, data: bytes, new: State) -> State:
    """Return the operator of a YAML file; where its folder is no domain that is compared, the one that has its name."""
    from opset.schemas.yaml.loader import parse_operator

    domain = normalised(path.parent.resolve().name)
    if domain not in new.domains:
        domains = [each for each, name in new.operators if name == path.stem]
        if len(domains) != 1:
            known = listing([shown(each) for each in domains]) if domains else "no domain"
            why = f"{known} has an operator {path.stem}, and the file's folder names none"
            help = "keep the file as <domain>/<Operator>.yaml"
            raise ComparisonError(Finding("B193", f"{path} has no operator that is compared", why=why, help=help))
        domain = domains[0]
    try:
        operator = parse_operator(data, Path(shown(domain)) / path.name, new.sets)
    except SchemaError as error:
        raise unreadable(str(path), error) from None
    state = loaded_state([operator], str(path), new.sets)
    if not state.operators.keys() & new.operators.keys():
        name = f"{shown(domain)}.{operator.name}"
        raise ComparisonError(Finding("B193", f"there is no operator {name} to compare with {path}"))
    return state


def _document_state(path: Path, data: bytes, new: State) -> State:
    """Return the operators of a document, of the domains that are compared where there are such."""
    try:
        document = parse_json(data)
        _check_depth(document)
        states = [_operator(each) for domain in document["domains"] for each in domain["operators"]]
        sets = {name: tuple(map(_text, types)) for name, types in document["type_sets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        why = f"it is no document of operators: {type(error).__name__} {str(error)[:200]}"
        raise _unreadable(path, why) from None
    domains = {each.domain for each in states} & new.domains.keys()
    kept = {each.key: each for each in states if not domains or each.domain in domains}
    if not kept:
        raise ComparisonError(nothing_read(str(path), str(path)))
    return State(str(path), kept, sets)


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        level = [*chain.from_iterable(_inner(each) for each in level)]


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _operator(data: Mapping[str, Any]) -> OperatorState:
    domain, name = normalised(_text(data["domain"])), _text(data["operator"])
    versions = sorted(data["versions"], key=lambda each: int(each["since"]))
    schemas = [_schema(domain, name, each) for each in versions]
    examples = tuple(_example(each) for each in data["examples"])
    return operator_state(schemas, map(_docs, versions), examples)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    return value


def _schema(domain: str, name: str, data: Mapping[str, Any]) -> OpSchema:
    return OpSchema(
        domain,
        name,
        int(data["since"]),
        _text(data["family"]),
        tuple(map(_parameter, data["inputs"])),
        tuple(map(_parameter, data["outputs"])),
        {each["name"]: _attribute(each) for each in sorted(data["attributes"], key=lambda each: str(each["name"]))},
        {_text(key): tuple(map(_text, types)) for key, types in data["types"].items()},
        bool(data["deprecated"]),
        _text(data["replacement"]),
        bool(data["experimental"]),
        _text(data["determinism"]),
        _text(data["shape"]),
        _change(data["change"]),
        tuple(map(_condition, data["conditions"])),
        tuple(map(_body, data["function"])),
    )


def _parameter(data: Mapping[str, Any]) -> Parameter:
    least = min(int(data["min_arity"]), UNBOUNDED)
    return Parameter(
        _text(data["name"]),
        _text(data["type"]),
        _text(data["option"]),
        bool(data["homogeneous"]),
        least,
        bool(data["differentiable"]),
    )


def _attribute(data: Mapping[str, Any]) -> Attribute:
    kind = _text(data["type"])
    return Attribute(
        _text(data["name"]),
        kind,
        _number(data["default"], kind),
        bool(data["required"]),
        tuple(_number(each, kind.removesuffix("s")) for each in data["choices"]),
        _range(data["range"]),
        _text(data["kind"]),
        _text(data["constraint"]),
    )


def _range(data: Any) -> str:
    if text := _text(data):
        parse_range(text)
    return text


_UNFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def _number(value: Any, kind: str = "") -> Any:
    """Return a value as schemas hold it: lists as tuples, and floats that JSON writes as text."""
    if isinstance(value, list):
        return tuple(_number(each, kind) for each in value)
    if kind.startswith("float") and isinstance(value, str):
        return _UNFINITE.get(value, value)
    return value


def _condition(data: Mapping[str, Any]) -> Condition:
    where = tuple((name, _text(form)) for name, form in data["where"].items())
    return Condition(_text(data["label"]), _text(data["kind"]), _text(data["subject"]), _text(data["form"]), where)


def _body(data: Mapping[str, Any]) -> FunctionBody:
    where = tuple((name, _text(form)) for name, form in data["where"].items())
    types = {name: tuple(each) for name, each in data["types"].items()}
    return FunctionBody(int(data["opset"]), _text(data["nodes"]), where, types, dict(data["emulate"]))


def _change(data: Mapping[str, Any] | None) -> Change | None:
    if data is None:
        return None
    attributes = {
        name: AttributeChange(**{key: _number(value) for key, value in each.items()})
        for name, each in data["attributes"].items()
    }
    declared = data["difference"] if data["declared"] is None else data["declared"]
    return Change(
        declared,
        attributes,
        dict(data["emulate"]),
        bool(data["renamed"]),
        _text(data["meaning"]),
        _text(data["clarified"]),
        _text(data["up"]["declared"]),
        _text(data["down"]["declared"]),
    )


def _docs(data: Mapping[str, Any]) -> Docs:
    def phrases(part: str) -> dict[str, str]:
        return {each["name"]: _text(each["doc"]) for each in data[part]}

    return Docs(
        _text(data["doc"]),
        phrases("inputs"),
        phrases("outputs"),
        phrases("attributes"),
        dict(data["constraints"]),
        _text(data["formula"]),
        tuple(map(_case, data["special_cases"])),
        dict(data["counterparts"]),
    )


def _case(data: Any) -> SpecialCase:
    """Return a special case, which was text alone in format 1."""
    if isinstance(data, str):
        return SpecialCase(_text(data))
    return SpecialCase(_text(data["text"]), *_grounds(data))


def _grounds(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return by what clause something is stated, and why it is chosen."""
    status, because = data.get("status", DERIVED), _text(data.get("because", ""))
    return because if status == STATED else "", because if status == CHOSEN else ""


def _example(data: Mapping[str, Any]) -> Example:
    outputs = data["outputs"]
    return Example(
        _text(data["name"]),
        int(data["since"]),
        None if data["until"] is None else int(data["until"]),
        _text(data["doc"]),
        *_grounds(data),
        {name: _value(each) for name, each in data["attributes"].items()},
        tuple(map(_value, data["inputs"])),
        None if outputs is None else tuple(map(_value, outputs)),
        _text(data["error"]),
        None if data["tolerance"] is None else float(data["tolerance"]),
    )


def _value(data: Any) -> Any:
    """Return a value as examples hold it: the elements of a tensor as one list, in row-major order."""
    if isinstance(data, list):
        return [_value(each) for each in data]
    if not isinstance(data, dict) or data.keys() != {"type", "shape", "content"}:
        return data
    content, shape = data["content"], data["shape"]
    if shape is not None and isinstance(content, list):
        for _ in shape[1:]:
            content = [*chain.from_iterable(content)]
    elif isinstance(content, dict) and _text(data["type"]).startswith("map("):
        content = {key: _value(each) for key, each in content.items()}
    elif not _text(data["type"]).startswith("sparse_tensor("):
        content = _value(content)
    return ExampleValue(_text(data["type"]), content, None if shape is None else tuple(shape))
