from opset.extend import ceil_div, infer, maximum


@infer("Thin", domain="com.acme")
def thin_1(call):
    *others, last = call.require_shape(0)
    return (*others, ceil_div(last, call.attribute("skip") + 1))


@infer("Thin", since=2, domain="com.acme")
def thin_2(call):
    *others, last = call.require_shape(0)
    return (*others, maximum(0, ceil_div(last - call.attribute("start"), call.attribute("step"))))
