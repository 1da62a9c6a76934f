from opset.extend import Call, Shape, Violation, infer


@infer("Wash", since=4, domain="com.paint")
def wash_4(call: Call) -> Shape:
    shape = call.require_shape(0)
    _check(call.attribute("brush") > 0)
    if any(_of("C2", size) for size in shape):
        raise Violation("C2", "a size is 0")
    return shape


def _of(label: str, size: object) -> bool:
    return size == 0


def _check(met: bool, label: str = "C1") -> None:
    if not met:
        raise Violation(label, "the brush has no width")
