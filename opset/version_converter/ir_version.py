"""The IR version of a converted model: kept if it serves, lowered with the opset, raised only for a feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opset.errors import Finding
from opset.model import proto as pb
from opset.model.features import UNLISTED, Feature, body_features, model_features
from opset.model.graph.index import Body, bodies
from opset.model.graph.walking import list_as_input
from opset.opsets import releases
from opset.schemas.names import normalize_domain
from opset.version_converter.targets import Target

_INITIALIZERS = 4
"""The IR version from which initializers need not be graph inputs."""


def set_ir_version(proto: Any, target: Target, notes: list[str]) -> list[Finding]:
    """Set the IR version of a converted ModelProto; return a refusal C301 for each feature that the version lacks.

    - If the target requests an IR version, the model gets it. A feature that needs a higher version is refused.
    - If the target requests none, the model keeps its version, or gets a lower one that came with the target's opset,
      such as 8 with opset 15. A feature of the model that needs a higher version raises the version. The target's
      highest version is not exceeded; a feature that needs more is refused.

    Annotations are never refused, as older readers skip them. Functions are rewritten if that avoids a feature. If the
    version has to be below 4, initializers become graph inputs.

    Args:
        proto: The ModelProto.
        target: The target of the conversion, which may request an IR version or have a highest one.
        notes: Gets a line for each kind of change, the features that need a higher version than the target's opset, and
            the annotations that older readers skip.
    """
    before = proto.ir_version
    opsets = {normalize_domain(entry.domain): entry.version for entry in proto.opset_import}
    reached = [domain for domain in opsets if domain in target.opsets and releases.is_released(domain)]
    natural = max((releases.ir_version_of_opset(opsets[domain], domain) for domain in reached), default=before)
    wanted = min(before, natural)
    if target.max_ir is not None:
        wanted = min(wanted, target.max_ir)
    if target.ir_version is not None:
        wanted = target.ir_version
    asked = target.ir_version is not None or wanted == target.max_ir
    if not asked and wanted == before >= 4:
        # Adapters add nodes, and initializers below version 4; neither needs more.
        return []
    all_bodies = bodies(proto)
    if asked and wanted < 4:
        _list_initializers(all_bodies, notes)
    if proto.functions:
        from opset.version_converter.ir_functions import lower_functions  # most models have none

        lower_functions(proto, all_bodies, wanted, notes)
        all_bodies = bodies(proto)  # calls may have attributes now that were defaults
    features = sorted(set(_features(proto, all_bodies, wanted, before)), reverse=True)
    if not asked and wanted < 4 <= before and any(map(_has_overridable, all_bodies)):
        features.append(Feature(4, "initializers that a caller may override"))
    needed = [feature for feature in features if not feature.is_annotation]
    findings = []
    if not asked and target.max_ir is not None:
        # The runtime takes more than the version that came with the opset, and the features may need all of it.
        lacking = [feature for feature in needed if feature.ir_version > target.max_ir]
        if lacking:
            asked = True
            wanted = target.max_ir
            needed = lacking
    if asked:
        findings = [
            Finding(
                "C301",
                f"IR version {wanted} does not have {name}",
                "ir_version",
                f"it needs IR version {version}",
                f"take it out of the model, or allow IR version {version}",
            )
            for version, name, _ in needed
        ]
    elif needed:
        names = ", ".join(name for _, name, _ in needed)
        notes.append(f"the IR version is {needed[0].ir_version}, not {wanted}, because of: {names}")
        wanted = needed[0].ir_version
    notes.extend(
        f"kept for readers of IR version {version}, older ones skip it: {name}"
        for version, name, is_annotation in features
        if is_annotation and wanted < version <= before
    )
    if wanted != before:
        proto.ir_version = wanted
    return findings


def needed_ir_version(proto: Any, all_bodies: list[Body]) -> tuple[int, list[str]]:
    """Return the lowest IR version that a ModelProto can be rewritten to, and the names of the features that need it.

    The version is at least 3; for 3 there are no names. Initializers that are no graph inputs, as version 4 allows, do
    not count, since they can be made graph inputs. The ModelProto is not changed.

    Args:
        proto: The ModelProto.
        all_bodies: All of its graphs and functions.
    """
    needed: dict[int, dict[str, None]] = {3: {}}
    for version, name, is_annotation in _features(proto, all_bodies, 3, proto.ir_version):
        if not is_annotation and name != UNLISTED:
            needed.setdefault(version, {})[name] = None
    for version in sorted(needed) if proto.functions else ():
        changed = pb.ModelProto()
        changed.CopyFrom(proto)
        if not set_ir_version(changed, Target({}, ir_version=version), []):
            return version, [*needed[version]]
    return max(needed), [*needed[max(needed)]]


def _has_overridable(body: Body) -> bool:
    """Whether a graph has an initializer that is also a graph input, so that a caller may override it.

    A function has none.
    """
    inputs = () if body.function else {value.name for value in body.proto.input}
    return bool(inputs) and any(tensor.name in inputs for tensor in body.proto.initializer)


def _list_initializers(all_bodies: list[Body], notes: list[str]) -> None:
    """Make the initializers of all graphs and subgraphs graph inputs, too, as IR version 3 demands; in place.

    They come after the inputs that are there. A note with the number of new inputs is added to `notes`, unless there
    are none. `all_bodies` are the graphs, subgraphs and functions of a model.
    """
    count = 0
    for graph in [body.proto for body in all_bodies if not body.function]:
        inputs = {value.name for value in graph.input}
        for tensor in [each for each in graph.initializer if each.name not in inputs]:
            list_as_input(graph, tensor)
            count += 1
    if count:
        notes.append(f"initializers listed as graph inputs too, as IR version 3 wants it: {count}")


def _features(proto: Any, all_bodies: list[Body], above: int, before: int) -> Iterator[Feature]:
    """Yield the features of the IR that a ModelProto uses and that need an IR version above `above`; some are repeated.

    An annotation needs the IR version that introduced it. So does a feature of IR version 4 or below. Any newer feature
    needs at most `before`, the IR version of the given model: readers of that version accept the model.

    `all_bodies` are the graphs and functions of the model.
    """
    # A feature that a model has before its IR version needs no higher one: some exporters write ZipMap at 3.
    # Adapters add initializers at most, which are no inputs from version 4 on.
    for version, name, is_annotation in (
        *model_features(proto),
        *(feature for body in all_bodies for feature, _ in body_features(body, above)),
    ):
        needed = version if is_annotation or version <= _INITIALIZERS else min(version, before)
        if needed > above:
            yield Feature(needed, name, is_annotation)
