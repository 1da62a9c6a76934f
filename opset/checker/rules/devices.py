"""Rules about multi-device configurations: the devices that a model names, and how its nodes are spread over them.

The order of pipeline stages is no rule: a stage is a hint to a runtime, which moves what one stage needs of another, so
no order of stages contradicts the order of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from opset.checker.table import CHECKER, WARNING, CheckContext
from opset.errors import Finding, listing, quote
from opset.model.graph.index import Body

IR_VERSION = 11
"""The version of the IR that introduced multi-device configurations."""


@CHECKER.rule("G721 G722 G723 G724 G725", CheckContext, since=IR_VERSION)
def check_configurations(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each way in which a multi-device configuration of the model is malformed.

    - G721, G722: it has no name, or no number of devices;
    - G723: the number of devices is not positive;
    - G724: two configurations have one name;
    - G725: it names devices, and not as many as there are.
    """
    for name, count in Counter(each.name for each in context.proto.configuration).items():
        if count > 1 and name:
            message = f"{count:,} device configurations have the name {quote(name)}"
            why = "nodes refer to a configuration by its name"
            yield Finding("G724", message, f"configuration {quote(name)}", why, "rename all but one, and their nodes")
    for number, each in enumerate(context.proto.configuration):
        place = f"configuration {quote(each.name)}" if each.name else f"configuration number {number}"
        if not each.name:
            why = "nodes refer to a configuration by its name"
            yield Finding("G721", "a device configuration has no name", place, why, "set its name")
        if not each.HasField("num_devices"):
            why = "it says how many devices the model is spread over"
            yield Finding("G722", "the configuration has no num_devices", place, why, "set num_devices")
        elif each.num_devices < 1:
            message = f"the configuration has {each.num_devices} devices"
            yield Finding("G723", message, place, "nothing runs without a device", "set num_devices to at least 1")
        elif each.device and len(each.device) != each.num_devices:
            message = f"the configuration names {len(each.device):,} devices, and has {each.num_devices:,}"
            yield Finding("G725", message, place, "each device has a name, or none", "name all devices, or none")


@CHECKER.rule("G726 G727 G731 G732 G733 G734 G735 G736 G737 G738 G739 G740 G741", CheckContext, since=IR_VERSION)
def check_node_configurations(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each way in which a node's multi-device configuration is malformed.

    - G726, G727: it names no configuration, or one that the model does not have;
    - G731, G732: a sharding names no tensor, or none of the node's inputs and outputs;
    - G733, G734: a device of a sharding, or a device of one of its groups, does not exist;
    - G735: two groups of a sharding have one number;
    - G736, G737, G738: a sharded dimension has no axis, one out of range, or one that another dimension has;
    - G739, G740, G741: the number of shards is missing or not positive, or the size that is cut is negative.
    """
    devices = {each.name: each.num_devices for each in reversed(context.proto.configuration) if each.name}
    ranks = _Ranks()
    for given, body, index in context.device_configurations:
        for code, message, why, help in _node_faults(given, devices, body, index, ranks):
            yield Finding(code, message, body.location(index), why, help)


@CHECKER.rule("W721", CheckContext, severity=WARNING, since=IR_VERSION)
def check_pipeline_stages(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node in a pipeline stage with a negative number."""
    for given, body, index in context.device_configurations:
        if given.pipeline_stage < 0:
            message = f"the node is in pipeline stage {given.pipeline_stage}"
            why = "a negative number usually stands for no stage, and a reader cannot tell whether one is meant"
            yield Finding("W721", message, body.location(index), why, "set a number from 0, or leave it out")


Fault = tuple[str, str, str, str]
"""Code, message, reason and help of a finding whose place is a node."""


def _node_faults(given: Any, devices: Mapping[Any, int], body: Body, index: int, ranks: _Ranks) -> Iterator[Fault]:
    """Yield (code, message, reason, help) for the faults of one NodeDeviceConfigurationProto of a node.

    `devices` has the number of devices of each configuration of the model, by name. `index` is the index of the node.
    """
    name = given.configuration_id
    if not name:
        why = "the node's devices are those of a configuration of the model"
        yield "G726", "a device configuration of the node has no configuration_id", why, "name a configuration"
    elif name not in devices:
        message = f"the model has no device configuration {quote(name)}"
        help = f"the model has {listing([*devices])}" if devices else "add it to the model"
        yield "G727", message, "a node refers to a configuration by its name", help
    values = {*body.reads[index], *body.computes[index]} if given.sharding_spec else set()
    for spec in given.sharding_spec:
        shown = f"the sharding of {quote(spec.tensor_name)}"
        rank = None
        if not spec.tensor_name:
            shown = "a sharding"
            yield "G731", "a sharding names no tensor", "it is about an input or output of the node", "set tensor_name"
        elif spec.tensor_name not in values:
            message = f"{shown} is about no input or output of the node"
            yield "G732", message, "a node spreads the tensors that it takes and computes", "name one of these"
        else:
            rank = ranks.rank_of(spec.tensor_name, body)
        yield from _device_faults(spec, devices.get(name, 0), shown)
        yield from _axis_faults(spec, rank, shown)


def _device_faults(spec: Any, count: int, shown: str) -> Iterator[Fault]:
    """Yield (code, message, reason, help) for the faults in the devices of a ShardingSpecProto.

    `count` is the number of devices of its configuration; if it is below 1, as for a configuration that is not known,
    only repeated groups are faults. `shown` names the sharding in messages.
    """
    groups = Counter(entry.key for entry in spec.index_to_device_group_map[:])
    for key, times in groups.items():
        if times > 1:
            message = f"{shown} has {times:,} groups of devices with the number {key}"
            yield "G735", message, "a reader may take either group", "keep the group that is meant"
    if count < 1:
        return
    why = f"the configuration has devices 0 to {count - 1:,}"
    for device in dict.fromkeys(spec.device[:]):
        if device not in groups and not 0 <= device < count:
            message = f"{shown} is on device {device}, which does not exist"
            yield "G733", message, f"{why}, and the sharding no group of this number", "name a device or a group"
    for entry in spec.index_to_device_group_map:
        for device in dict.fromkeys(entry.value):
            if not 0 <= device < count:
                message = f"{shown} has device {device} in group {entry.key}, and there is no such device"
                yield "G734", message, why, "name devices of the configuration"


def _axis_faults(spec: Any, rank: int | None, shown: str) -> Iterator[Fault]:
    """Yield (code, message, reason, help) for the faults in the sharded dimensions of a ShardingSpecProto.

    `rank` is the rank of its tensor; if it is None, not known, axes out of range are no faults. `shown` names the
    sharding in messages.
    """
    seen: set[int] = set()
    for dimension in spec.sharded_dim:
        axis = dimension.axis
        if not dimension.HasField("axis"):
            yield "G736", f"{shown} has a dimension without an axis", "it says which dimension is cut", "set axis"
        elif rank is not None and not -rank <= axis < rank:
            help = f"use -{rank} to {rank - 1}" if rank else "a scalar is not cut"
            yield "G737", f"{shown} has axis {axis}", f"the tensor has rank {rank}", help
        else:
            axis += rank if rank is not None and axis < 0 else 0
            if axis in seen:
                message = f"{shown} has axis {axis} twice"
                yield "G738", message, "an axis is cut in one way", "merge the two entries"
            seen.add(axis)
        for cut in dimension.simple_sharding:
            if not cut.HasField("num_shards"):
                yield "G739", f"{shown} has no num_shards", "it says into how many parts a size is cut", "set it"
            elif cut.num_shards < 1:
                message = f"{shown} cuts axis {axis} into {cut.num_shards} shards"
                yield "G740", message, "a size is cut into one shard or more", "set num_shards to at least 1"
            if cut.dim_value < 0:
                message = f"{shown} cuts a size of {cut.dim_value}"
                yield "G741", message, "a size is not negative", "set dim_value to the size of the dimension"


class _Ranks:
    """The ranks of values, as inputs, outputs, value_info and initializers state them."""

    def __init__(self) -> None:
        """Begin without ranks; the ranks of a body are read if one of its values is asked for."""
        self._ranks: dict[Body, dict[Any, int]] = {}

    def rank_of(self, name: Any, body: Body) -> int | None:
        """Return the rank of a value in a graph or function, or in a graph around it; None if it is not stated."""
        around: Body | None = body
        while around is not None:
            if around not in self._ranks:
                self._ranks[around] = _stated_ranks(around)
            if name in self._ranks[around]:
                return self._ranks[around][name]
            around = None if name in around.definitions else around.parent
        return None


def _stated_ranks(body: Body) -> dict[Any, int]:
    """Return {value: rank} for the values whose rank a graph or function states itself."""
    proto = body.proto
    values = [*proto.value_info] if body.function else [*proto.value_info, *proto.output, *proto.input]
    ranks = {}
    for value in values:
        kind = value.type.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type") and (tensor := getattr(value.type, kind)).HasField("shape"):
            ranks[value.name] = len(tensor.shape.dim)
    if not body.function:
        ranks.update((tensor.name, len(tensor.dims)) for tensor in proto.initializer)
        ranks.update((sparse.values.name, len(sparse.dims)) for sparse in proto.sparse_initializer)
    return ranks
