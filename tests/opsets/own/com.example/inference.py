"""Shapes and elements of outputs of com.example's operators."""

from opset.extend import Call, Dim, Unknown, Violation, data, infer, product


@infer("Stretch", domain="com.example")
def stretch_1(call: Call):
    return _shape(call, call.attribute("times"))


@infer("Stretch", since=2, domain="com.example")
def stretch_2(call: Call):
    times = call.sizes(1)
    if times is None or times[0] is None:
        raise Unknown("times is not known")
    return _shape(call, times[0])


@data("Stretch", domain="com.example")
def stretch_1_data(call: Call):
    elements = call.elements(0)
    return None if elements is None or call.rank(0) != 1 else elements * call.attribute("times")


@data("Stretch", since=2, domain="com.example")
def stretch_2_data(call: Call):
    elements, times = call.elements(0), call.numbers(1)
    if elements is None or times is None or call.rank(0) != 1:
        return None
    each = call.attribute("mode") == "each"
    return tuple(element for element in elements for _ in range(times[0])) if each else elements * times[0]


def _shape(call, times):
    if not isinstance(times, Dim) and times < 0:
        raise Violation("C1", f"times is {times}")
    *others, last = call.require_shape(0)
    return (*others, product([last, times]))
