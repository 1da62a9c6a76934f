from opset.extend import Call, Shape, Violation, infer


@infer("Wash", since=4, domain="com.paint")
def wash_4(call: Call) -> Shape:
    shape = call.require_shape(0)
    _check(call.attribute("brush") > 0)
    return tuple(size for size in shape if _filled(size, "C2"))


def _filled(size: object, label: str) -> bool:
    if size == 0:
        raise Violation(label, "a size is 0")
    return True


def _check(met: bool, label: str = "C1") -> None:
    if not met:
        raise Violation(label, "the brush has no width")
