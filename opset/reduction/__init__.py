"""Reduction: the smallest model that still shows a refusal, a difference, or the failure of a command.

    reduce("model.onnx", 13).save("small.onnx")

`symptoms` decides whether a model shows it, `search` holds the smallest model so far, `nodes` takes nodes away,
`values` makes constants and sizes small, and `reducing` puts these in order.
"""
