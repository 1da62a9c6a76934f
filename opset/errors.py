"""The exceptions, and every error code.

    OpsetError                  root of everything that this package raises on purpose
    ├── UsageError      U…      the call itself is wrong: options, targets, an existing output     (exit 2)
    ├── SchemaError     S…      operator YAML that cannot be read, or breaks a lint rule           (exit 1)
    ├── ModelError      M…      a model that is unreadable, malformed or unsafe                    (exit 3)
    ├── CheckError      G…, W…  a model that breaks a rule of the specification                    (exit 1)
    ├── InferenceError  I…      types or shapes that contradict each other                         (exit 1)
    ├── ConversionError C…      a conversion that would not keep the meaning                       (exit 1)
    ├── RunError        R…      an evaluation that failed; a file of values that cannot be read    (exit 1; 3)
    ├── VersionError    V…      a model version that does not fit what changed                     (exit 1)
    ├── ComparisonError B19…    two states of schemas that cannot be compared                      (exit 3)
    └── CorpusError     T2…     a corpus of test cases that cannot be read, or is not complete     (exit 3)

An exception carries every finding that it was raised for, and the first one's parts as its own attributes, so that a
caller never parses a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opset.advice import advice_of

WIDTH = 200
"""Characters of a name, in messages, locations and tables."""
LONGEST = 1000
"""Characters of one part of a message."""
MOST = 4096
"""Characters of one part of a finding that is kept: a path may be that long."""
KEPT, SHOWN = 1000, 100
"""Findings that an exception and JSON hold, and those that text shows; the others are counted."""
NOTEBOOK = 20
"""Findings that a notebook shows; the others are counted."""
PLACES = 3
"""Places that text shows of refusals of one kind; the others are counted."""

CODES: dict[str, str] = {
    "U101": "the target is not known",
    "U102": "the output exists already",
    "U103": "an option does not fit the input",
    "U104": "the output cannot be written",
    "U105": "the operator, domain or version does not exist",
    "U106": "there is not enough memory",
    "U107": "this is not a model version",
    "U108": "the work on a model ended its process",
    "U109": "the command line is not understood",
    "U110": "a URL or a cluster cannot be used",
    "M101": "the file cannot be opened",
    "M102": "this is not an ONNX model",
    "M103": "the file is damaged or cut short",
    "M104": "the model is nested too deeply",
    "M105": "the file changed while it was being read",
    "M106": "a name is not valid UTF-8",
    "M107": "the model imports no operator set",
    "M108": "one domain is imported at two different versions",
    "M109": "the model has no graph",
    "M110": "a value is used before it is computed",
    "M111": "the message is larger than protobuf can hold",
    "M112": "a value is used that nothing defines",
    "M113": "a name is defined twice",
    "M114": "functions call each other in a cycle",
    "M201": "external data lies outside the model's folder",
    "M202": "an external data file is missing",
    "M203": "external data is not a regular file",
    "M204": "offset or length of external data is not a plain number",
    "M205": "external data ends before offset plus length",
    "M206": "the size of a tensor's data does not fit its dims and type",
    "M207": "external data has no location",
    "M208": "external data has keys without a clear meaning",
    "M209": "an external data file has more than one name",
    "M301": "the text of a model breaks its syntax",
    "S101": "a file or folder cannot be read as operator YAML",
    "S102": "a limit on files or folders is exceeded",
    "S103": "a key is unknown, or does not fit at this place",
    "S104": "a key is missing",
    "S105": "a value has the wrong type or form",
    "S106": "a key, name, version or value is duplicate",
    "S107": "a name is not defined",
    "S108": "two files declare the same operator",
    "S109": "there are no operators to check",
    "S110": "a file is not read as an operator",
    "S201": "the declared change is not the difference of the signatures",
    "S202": "versions are not ordered newest first",
    "S203": "the signature of a released version was edited",
    "S204": "a released version is gone, or the lock cannot be read",
    "S205": "a version does not say, or says in two ways, what it changed",
    "S206": "an adapter that is declared as written does not exist",
    "S207": "an adapter or a lowering is never used",
    "S208": "the fate of a removed attribute is not declared",
    "S209": "no value is declared that makes a new attribute keep the old behavior",
    "S210": "a declaration about an attribute does not fit its change",
    "S211": "a type constraint is not used",
    "S212": "a parameter or attribute has no doc",
    "S213": "a version has no doc",
    "S214": "the replacement of a withdrawn version is missing or wrong",
    "S215": "a file, operator or domain is badly named",
    "S216": "a family is not known",
    "S217": "a type set is not used",
    "S218": "two type sets are the same",
    "S219": "a list of types equals a named set",
    "S220": "an operator has no example",
    "S221": "no example breaks a constraint",
    "S222": "no example sets an attribute",
    "S223": "two examples are the same",
    "S224": "a version has no kernel",
    "S225": "a kernel matches no version",
    "S226": "a version does not declare how its outputs are inferred",
    "S227": "a rule of shape inference cannot be used",
    "S228": "an inference function is never called",
    "S229": "emulated types do not match the types that the version adds",
    "S230": "a list of types names a type twice",
    "S231": "a type set of another domain is used",
    "S232": "the text of a constraint repeats its declaration",
    "S233": "a function body cannot be read",
    "S234": "the values of a function body are not defined or used correctly",
    "S235": "a function body uses something that is not available at its opsets, or not allowed",
    "S236": "an attribute in a function body does not fit",
    "S237": "function bodies are not ordered, or one hides another",
    "S238": "function bodies expand to each other without end",
    "S239": "an operator names no special cases",
    "S240": "no example has one of the new types",
    "S241": "a released version is not in the lock",
    "S242": "a result that the standard leaves open is not marked as chosen",
    "S243": "a clause names no part of the standard",
    "S244": "a function body does not take all types of its version",
    "S245": "a withdrawn operator has a newer version that is withdrawn, too",
    "S246": "the standard's text names a runtime",
    "S301": "the file is not an operator-set document",
    "S302": "an operator-set document is damaged, or too large",
    "S303": "the domain of an operator set is empty or badly named",
    "S304": "a version of an operator set, or of an operator in it, is out of range",
    "S305": "an operator or function occurs twice in an operator set",
    "S306": "parts of an operator-set document contradict each other",
    "S307": "a function of an operator set cannot be used",
    "T211": "the kernel contradicts an example",
    "T212": "another implementation contradicts an example",
    "T213": "an example cannot be a test case",
    "T221": "the manifest of a corpus cannot be used",
    "T222": "a file of a test case is missing, or differs from the manifest",
    "T223": "fewer test cases were judged than required",
    "T224": "a runtime cannot be started",
    "T225": "a runtime disagrees with a test case",
    "T226": "an expected disagreement did not occur",
    "T227": "a list of expected disagreements cannot be used",
    "T228": "a result is worse than in an earlier report",
    "G101": "the model states no IR version",
    "G102": "the IR version is not known",
    "G104": "the domain of a node is not imported",
    "G105": "an operator set is imported at a version that cannot exist",
    "G201": "a graph has no name",
    "G202": "an input, an output or an entry of value_info has no name",
    "G203": "an input or output of the model has no type",
    "G204": "an input or output of the model has no shape",
    "G205": "an initializer has no name",
    "G206": "two initializers have the same name",
    "G207": "a value of a nested graph has the name of a value of a surrounding graph",
    "G208": "before IR version 4, an initializer is not listed as an input",
    "G209": "an initializer of a nested graph comes before an actual input",
    "G210": "an input of a nested graph is an initializer, too",
    "G211": "two entries of value_info have the same name",
    "G212": "a graph states two types for one value",
    "G213": "two nodes have the same name",
    "G214": "the model uses something that its IR version does not have",
    "G216": "an output of a nested graph is a value of a surrounding graph",
    "G301": "a node names no operator",
    "G302": "a node has no output",
    "G303": "an attribute has no name",
    "G304": "a node has two attributes of the same name",
    "G305": "an attribute states no type, or a type that does not exist",
    "G306": "an attribute does not have exactly one value, in the field of its type",
    "G307": "an attribute refers to a function's attribute outside of functions",
    "G308": "a reference to a function's attribute is wrong",
    "G311": "the domain has no such operator",
    "G312": "no schema of the operator is known",
    "G313": "the operator came with a later version than the model imports",
    "G314": "the operator was withdrawn before the version that the model imports",
    "G321": "a node has the wrong number of inputs",
    "G322": "a node has the wrong number of outputs",
    "G323": "a required input is left out",
    "G324": "the operator has no such attribute",
    "G325": "an attribute has the wrong type",
    "G326": "a required attribute is missing",
    "G327": "the value of an attribute is not legal",
    "G328": "a graph in a node has the wrong number of inputs or outputs",
    "G401": "a function has no name or no domain",
    "G402": "an attribute of a function has no name, or the name of another attribute",
    "G403": "the default of a function's attribute is not a value",
    "G404": "two outputs of a function have the same name",
    "G405": "a node calls an overload that the model does not have",
    "G406": "a function uses another version of an operator than the model imports",
    "G501": "a tensor states no element type, or a type that does not exist",
    "G502": "a tensor holds values in several fields",
    "G503": "a tensor holds values in a field of another type",
    "G504": "an external tensor holds values as well",
    "G505": "a string of a tensor is not plain UTF-8",
    "G506": "a boolean of a tensor is neither 0 nor 1",
    "G507": "a number does not fit the element type of its tensor",
    "G508": "bits after the last element of a packed tensor are set",
    "G509": "the segment of a tensor lies outside of its dims",
    "G511": "the checksum of external data is not a SHA-1 digest",
    "G512": "a file of external data does not have its checksum",
    "G513": "the location of external data is absolute",
    "G521": "a sparse tensor has no values",
    "G523": "the values of a sparse tensor are not a vector",
    "G524": "the dims of a sparse tensor are missing, or not positive",
    "G525": "the indices of a sparse tensor do not fit its values and dims",
    "G526": "an index of a sparse tensor lies outside of its dims",
    "G527": "the indices of a sparse tensor are not ascending",
    "G601": "a stated type is empty",
    "G602": "the element type in a stated type is missing or does not exist",
    "G603": "the keys of a map are neither integers nor strings",
    "G604": "a sequence, optional or map does not say what it holds",
    "G605": "an optional holds another optional, or an opaque type",
    "G606": "a dimension is negative",
    "G607": "a dimension variable is meant to stand for several dimensions",
    "G609": "an opaque type has no name",
    "G610": "an operator does not take a value of an opaque type",
    "G701": "the initialization of a training takes inputs",
    "G702": "the initialization of a training uses an input or a computed value of the main graph",
    "G703": "a variable of a training is bound twice",
    "G704": "a binding of a training names no initializer",
    "G705": "a binding of a training names no output",
    "G706": "a training algorithm defines a value that the main graph defines",
    "G707": "a training algorithm states a type that the main graph states",
    "G711": "a quantization annotation names a tensor that does not exist",
    "G712": "a scale or zero point of an annotation does not exist",
    "G713": "a tensor has two quantization annotations",
    "G714": "a key of a quantization annotation occurs twice",
    "G721": "a device configuration has no name",
    "G722": "a device configuration has no number of devices",
    "G723": "a device configuration has no devices",
    "G724": "two device configurations have the same name",
    "G725": "a device configuration does not name as many devices as it has",
    "G726": "a node's device configuration has no configuration_id",
    "G727": "a node refers to a device configuration that the model does not have",
    "G731": "a sharding names no tensor",
    "G732": "a sharding names a tensor that is not an input or output of its node",
    "G733": "a sharding names a device that does not exist",
    "G734": "a group of devices contains a device that does not exist",
    "G735": "a group of devices occurs twice",
    "G736": "a sharded dimension has no axis",
    "G737": "the axis of a sharded dimension is out of range",
    "G738": "an axis is sharded twice",
    "G739": "a sharded dimension has no number of shards",
    "G740": "the number of shards is not positive",
    "G741": "the size that is cut into shards is negative",
    "W101": "an imported domain is not used",
    "W102": "a metadata key occurs twice",
    "W103": "the model's domain is missing, or is not a reversed DNS name",
    "W104": "the model does not name its producer",
    "W105": "an imported domain is not a reversed DNS name",
    "W106": "an imported operator set is not released",
    "W107": "a domain is imported more than once, at the same version",
    "W201": "an entry of value_info describes a value that does not exist",
    "W202": "the model has annotations that its IR version does not have",
    "W203": "names are not C identifiers",
    "W204": "dimension variables are not C identifiers",
    "W205": "two graphs have the same name",
    "W206": "a graph has no documentation",
    "W207": "documentation has HTML in it",
    "W301": "a node has an attribute that only some runtimes read",
    "W302": "the axes of Squeeze or Unsqueeze are a scalar",
    "W303": "an attribute for spatial axes is an empty list",
    "W304": "a flag is neither 0 nor 1",
    "W401": "the model does not import the domain of a function",
    "W402": "an attribute of a function has the name of an input or output",
    "W403": "a function has the name of an operator of the standard",
    "W501": "a tensor is a segment of a larger tensor",
    "W502": "a tensor has entries of external data, but is not external",
    "W503": "external data has unknown or duplicate keys",
    "W504": "external data does not begin at a multiple of 4096",
    "W505": "the files of external data cannot be checked without the model's path",
    "W601": "a dimension variable is not a C identifier",
    "W602": "a dimension variable has an empty name",
    "W603": "a denotation is not defined by the standard",
    "W604": "a type has more dimensions than are compared",
    "W701": "a key of a quantization annotation is not known",
    "W721": "a pipeline stage is negative",
    "W801": "not all types and shapes were checked",
    "W802": "types or shapes contradict each other in a branch that may never run",
    "I101": "a stated type contradicts what is inferred",
    "I201": "inputs do not fit their operator",
    "I202": "types, or the number of inputs, do not fit the operator",
    "I203": "the node is malformed for its operator",
    "I301": "inference functions cannot be loaded",
    "I302": "the inference rule of an operator cannot be used",
    "I303": "there is a bug in an inference function",
    "I501": "a node prevents the change of a size",
    "I502": "it is not certain which axis of an output has the new size",
    "I401": "the inference was stopped: it exceeded its budget",
    "C101": "the operator is not known",
    "C102": "the operator does not exist at the model's own version",
    "C103": "the node does not fit its operator's signature",
    "C104": "the model imports a version that is not known",
    "C105": "an adapter cannot be loaded, or fails",
    "C106": "the opset for which the model was written is not certain",
    "C201": "the operator does not exist at the target version",
    "C202": "the type is not allowed at the target version",
    "C203": "a type must be known, but is unknown",
    "C204": "the conversion would lose meaning",
    "C205": "a value must be constant, but is not",
    "C206": "an attribute refers to an attribute of its function, so its value is not known",
    "C207": "a rank or shape must be known, but is unknown",
    "C208": "no conversion is possible",
    "C209": "the runtime has no kernel for the node",
    "C301": "the IR version cannot be that low",
    "C401": "the conversion was stopped: it exceeded its budget",
    "C501": "the function cannot be inlined",
    "C601": "the inputs of a part do not determine its outputs",
    "C602": "a part of a model has no certain meaning",
    "C603": "values that are connected do not fit each other",
    "C604": "two models import versions of a domain that cannot be made equal",
    "C701": "the models compute different values",
    "C702": "nothing could be compared",
    "R101": "an input is missing",
    "R102": "the model has no such input",
    "R103": "an input does not fit its declaration",
    "R104": "the model computes no such value",
    "R105": "a file of values cannot be read",
    "R201": "the operator cannot be computed",
    "R202": "the node does not fit its operator",
    "R203": "a constraint of the operator is broken",
    "R204": "the operator cannot be computed on these inputs",
    "R205": "a package that the operator needs is not installed",
    "R206": "the installed runtime does not run the model",
    "R207": "the models have different inputs or outputs",
    "R301": "the evaluation was stopped: too many steps",
    "R302": "the evaluation was stopped: too much memory",
    "R303": "the evaluation was stopped: time limit reached",
    "R401": "an output differs from what was expected",
    "V101": "the model version is too low for what changed",
    "V102": "no higher model version can be written",
    "B101": "a domain was removed or renamed",
    "B102": "an operator was removed or renamed, with all its versions",
    "B103": "a version was removed",
    "B104": "the since_version of a version was changed",
    "B105": "an operator was added",
    "B106": "a version was added",
    "B107": "the version of an operator set was raised by more than one",
    "B108": "versions were added in several new opsets",
    "B109": "an operator was moved to another family",
    "B110": "a domain was added",
    "B111": "an input or output was added, even an optional one",
    "B112": "an input or output was removed",
    "B113": "an input or output was renamed",
    "B114": "inputs or outputs were reordered, or one was inserted before others",
    "B115": "an input or output became required, optional or variadic",
    "B116": "the minimum number of values of a variadic input or output was changed, or the rules for their types",
    "B117": "an input or output became differentiable, or stopped being so",
    "B121": "an attribute was added, even an optional one whose default keeps the meaning",
    "B122": "an attribute was removed",
    "B123": "an attribute was renamed",
    "B124": "the type of an attribute was changed",
    "B125": "the default of an attribute was changed, added or removed",
    "B126": "an attribute became required, or stopped being so",
    "B127": "the legal values of an attribute were changed",
    "B128": "illegal values of an attribute now break a constraint with a different label",
    "B131": "a type was added to a type constraint",
    "B132": "a type was removed from a type constraint",
    "B133": "the type constraint of an input or output was replaced by one that allows different types",
    "B134": "inputs or outputs no longer have to be of the same type, or have to be now",
    "B135": "a type constraint was only renamed, or an unused one was added or removed",
    "B141": "a constraint was added",
    "B142": "a constraint was removed",
    "B143": "a constraint that is checked was tightened, loosened or changed",
    "B144": "the wording of a constraint was edited",
    "B145": "the label of a constraint was changed",
    "B151": "the rule for the shapes of outputs was changed",
    "B152": "a function body was added, removed or changed, or serves other opsets, nodes or types",
    "B153": "results became deterministic, or stopped being so",
    "B154": "an operator was withdrawn, or a withdrawn one came back",
    "B155": "a version became experimental, or stopped being so",
    "B156": "the replacement of a withdrawn operator was changed",
    "B157": "the text of a version, of a parameter or of an attribute was edited",
    "B158": "the formula of a released version was edited",
    "B159": "the special cases of a released version were edited",
    "B161": "a conversion that was possible is declared impossible, or the reverse",
    "B162": "a claim of a transition was edited",
    "B163": "a new version declares a change of meaning",
    "B171": "the result of an example of a released version was changed",
    "B172": "an example of a released version was removed, or its inputs or attributes were edited",
    "B173": "an example was renamed",
    "B174": "the tolerance of an example of a released version was changed",
    "B181": "a new version changes nothing, or only clarifies",
    "B182": "a named type set was edited, and the versions that use it changed with it",
    "B183": "a function body cannot take a type that its version allows",
    "B184": "operators of one family no longer allow the same types",
    "B185": "a withdrawn operator got a new version that is withdrawn, too",
    "B189": "schema, inference, function body and kernel of a changed operator disagree on an example",
    "B190": "a released version differs from the lock",
    "B186": "an approval is incomplete",
    "B187": "an approval has ended",
    "B188": "an approval matches no finding",
    "B191": "the git revision cannot be read",
    "B192": "the schemas of a state cannot be read",
    "B193": "the states to compare have no operators in common",
    "B194": "the list of approved findings cannot be read",
    "T101": "the kernel computes another result than an example shows",
    "T102": "the kernel cannot compute an example",
    "T103": "the kernel does not report a broken constraint",
    "T104": "inference contradicts an example",
    "T105": "inference refuses an example, or reports the wrong error",
    "T106": "a function body and the kernel compute different results",
    "T107": "a conversion changes the values of an example",
    "T108": "an example contradicts a claim",
    "T109": "the test of an example did not finish",
    "T110": "an adapter fails, or is missing",
    "T111": "a registered Python function is never called",
    "T112": "nothing computes an example",
    "T113": "the table of conversions is out of date, or cannot be read",
    "T114": "an operator lacks what the standard asks of a contribution",
}


def escape_text(text: object) -> str:
    """Return text with each character that is not printable or cannot be decoded escaped, safe on a terminal.

    Names and messages come from models, which are untrusted.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    elif isinstance(text, str) and text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in str(text))


def safe_text(text: object, width: int = LONGEST) -> str:
    """Return the beginning of a text, escaped and cut to a width; a text that is cut ends with "…"."""
    if not isinstance(text, str | bytes):
        text = str(text)
    shown = escape_text(text[: width + 1])
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def quote(name: str | bytes) -> str:
    """Return a name from a model for a message: in quotes, safe on a terminal, and not too long."""
    return f"'{safe_text(name, WIDTH)}'"


def brief_name(name: str | bytes) -> str:
    """Return a name from a model without quotes, as a cell of a table or one of many."""
    return safe_text(name, WIDTH)


def listing(names: Sequence[str], most: int = 20, show: Callable[[str], str] = brief_name) -> str:
    """Return the first names of many for a message: "a, b and 7 more"."""
    shown = ", ".join(map(show, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


_QUOTED = r"'[^']*'"


@dataclass(frozen=True)
class NodeReference:
    """A node for programs: the path of its graph, its name, the domain and name of its operator, its index there."""

    graph: str
    node: str
    domain: str
    op_type: str
    index: int


class NodeLocation(str):
    """The path of a node as messages show it, with the node `at` it for programs."""

    at: NodeReference

    def __new__(cls, text: str, at: NodeReference) -> NodeLocation:
        """Return the text with the node."""
        location = super().__new__(cls, text)
        location.at = at
        return location

    def __reduce__(self) -> tuple[object, ...]:
        return NodeLocation, (str(self), self.at)


class Finding(NamedTuple):
    """One problem: its stable code, message, place, reason (`why`) and help.

    `file` is the path as the user gave it, `place` the path of the node, attribute, value or line inside it. If it is a
    NodeLocation, JSON has its parts as `at`.
    """

    code: str
    message: str
    place: str = ""
    why: str = ""
    help: str = ""
    file: str = ""

    @property
    def severity(self) -> str:
        """The severity: "warning" for a code W…, of a rule that enforces a SHOULD, "error" for any other."""
        return "warning" if self.code[:1] == "W" else "error"

    @property
    def advice(self) -> str:
        """The help as it is shown: without one, what the page of the code says first of what to do."""
        return self.help or advice_of(self.code)

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}] {safe_text(self.message)}"]
        where = ", ".join(safe_text(part) for part in (self.place, self.file) if part)
        lines += [f"  where   {where}"] if where else []
        lines += [f"  why     {safe_text(self.why)}"] if self.why else []
        lines += [f"  help    {safe_text(self.advice)}"] if self.advice else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        where = f" at {safe_text(self.place, WIDTH)}" if self.place else ""
        return f"<Finding {self.code}: {safe_text(self.message, WIDTH)}{where}>"

    def _repr_html_(self) -> str:
        from html import escape  # imported when something is shown

        return f"<pre>{escape(str(self))}</pre>"

    @property
    def brief(self) -> str:
        """The finding on one line, as part of a note: "node 'a': the message (the reason), G101"."""
        place = f"{self.place}: " if self.place else ""
        return f"{place}{self.message}{f' ({self.why})' if self.why else ''}, {self.code}"

    def in_file(self, file: str) -> Finding:
        """Return the finding with its file set to this one, unless it names one already."""
        return self if self.file else self._replace(file=file)

    @property
    def kind(self) -> tuple[str, ...]:
        """The key that refusals of one kind share, whatever names of values they quote; () if it is no refusal."""
        if self.code[:1] != "C":
            return ()
        return self.code, self.message, re.sub(_QUOTED, "''", self.why), re.sub(_QUOTED, "''", self.help), self.file


class FindingList(list[Finding]):
    """Findings in order: the first are kept, the others are counted in `omitted`. A file may cause any number.

    Of a further kind, the first one is kept all the same, as long as there are not too many kinds. `omitted_errors` is
    how many of the others are errors, as far as they were seen here.
    """

    def __init__(self, findings: Iterable[Finding] = (), omitted: int = 0, omitted_errors: int = 0) -> None:
        super().__init__()
        self.omitted, self.omitted_errors = omitted, omitted_errors
        self._kinds: set[tuple[str, ...]] = set()
        self.extend(findings)

    def __reduce__(self) -> tuple[object, ...]:
        return FindingList, (list(self), self.omitted, self.omitted_errors)

    def __repr__(self) -> str:
        codes = listing([*dict.fromkeys(finding.code for finding in self)])
        more = f" and {self.omitted:,} more" if self.omitted else ""
        return f"<FindingList of {len(self):,}{more}{': ' if codes else ''}{codes}>"

    def _repr_html_(self) -> str:
        from html import escape

        kinds = self.group_by_kind()
        more = max(len(kinds) - NOTEBOOK, 0) + self.omitted
        lines = [f"<pre>{escape(str(finding))}</pre>" for finding in kinds[:NOTEBOOK]] or ["<p>no findings</p>"]
        return "".join([*lines, f"<p>… and {more:,} more</p>"] if more else lines)

    def append(self, finding: Finding) -> None:
        """Add a finding with very long parts cut, or count it as omitted if there are too many."""
        kinds = len(self._kinds)
        if kinds < KEPT and (kind := finding.kind):
            self._kinds.add(kind)
        if len(self) < KEPT or len(self._kinds) > kinds:
            if max(map(len, finding)) > MOST:
                finding = Finding(*[part if len(part) <= MOST else f"{part[:MOST]}…" for part in finding])
            super().append(finding)
        else:
            self.omitted += 1
            self.omitted_errors += finding.severity == "error"

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings, and count those that are too many."""
        for finding in findings:
            self.append(finding)
        self.omitted += getattr(findings, "omitted", 0)
        self.omitted_errors += getattr(findings, "omitted_errors", 0)

    def __iadd__(self, findings: Iterable[Finding]) -> FindingList:  # type: ignore[misc, override]
        self.extend(findings)
        return self

    def group_by_kind(self) -> list[Finding]:
        """Return the findings with refusals of one kind merged, which name the first places and count the others."""
        kinds: dict[object, list[Finding]] = {}
        for index, finding in enumerate(self):
            kinds.setdefault(finding.kind or index, []).append(finding)
        merged = []
        for group in kinds.values():
            places = "; ".join(safe_text(each.place) for each in group[:PLACES])
            more = f"; and {len(group) - PLACES:,} more" if len(group) > PLACES else ""
            merged.append(group[0] if len(group) == 1 else group[0]._replace(place=places + more))
        return merged

    def in_file(self, file: str) -> FindingList:
        """Return the findings with the file set in each that does not name one."""
        return FindingList((finding.in_file(file) for finding in self), self.omitted, self.omitted_errors)


class OpsetError(Exception):
    """Root of every error that opset raises on purpose.

    `findings` holds the first thousand findings in order, and `omitted` is the number of others.
    """

    exit_status = 1

    def __init__(self, findings: Finding | Iterable[Finding]) -> None:
        if not isinstance(findings, FindingList):
            findings = FindingList([findings] if isinstance(findings, Finding) else findings)
        self.findings, self.omitted = tuple(findings), findings.omitted
        first = self.findings[0]
        self.code, self.message, self.place = first.code, first.message, first.place
        self.why, self.file = first.why, first.file
        super().__init__()

    def __str__(self) -> str:
        kinds = self.finding_list.group_by_kind()
        more = max(len(kinds) - SHOWN, 0) + self.omitted
        lines = [str(finding) for finding in kinds[:SHOWN]]
        return "\n".join([*lines, f"… and {more:,} more"] if more > 0 else lines)

    @property
    def help(self) -> str:
        """What to do about the first finding."""
        return self.findings[0].advice

    @property
    def finding_list(self) -> FindingList:
        """The findings with the number of those omitted."""
        return FindingList(self.findings, self.omitted)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.finding_list,)

    def in_file(self, file: str) -> OpsetError:
        """Return the error with the file set in every finding that does not name one.

        Args:
            file: The path as the user gave it.

        Returns:
            A new error of the same class.
        """
        return type(self)(self.finding_list.in_file(file))


class UsageError(OpsetError):
    """The call itself is invalid: an unknown target, options that exclude each other, an output that exists."""

    exit_status = 2


class SchemaError(OpsetError):
    """Operator YAML that cannot be read or that breaks a lint rule; `place` is file:line:column."""


class ModelError(OpsetError):
    """A model that is unreadable, malformed or unsafe."""

    exit_status = 3


class CheckError(OpsetError):
    """A model that breaks a rule of the specification."""


class InferenceError(OpsetError):
    """Types or shapes that contradict each other."""


class ConversionError(OpsetError):
    """A conversion that would not keep the model's meaning; every refusal is in `findings`."""


class RunError(OpsetError):
    """An evaluation that failed; the exit status is 3 if a file of values cannot be read (R105)."""

    def __init__(self, findings: Finding | Iterable[Finding]) -> None:
        super().__init__(findings)
        if any(finding.code == "R105" for finding in self.findings):
            self.exit_status = 3


class VersionError(OpsetError):
    """A model version that does not fit what changed in the model."""


class ComparisonError(OpsetError):
    """Two states of schemas that cannot be compared: one of them cannot be read, or they have nothing in common."""

    exit_status = 3


class CorpusError(OpsetError):
    """A corpus of test cases that cannot be read, or is not complete."""

    exit_status = 3
