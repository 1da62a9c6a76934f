"""What changed in the structure of a model: nodes, also those in bodies and functions, weights, metadata.

    compare_structure(load("old.onnx"), load("new.onnx")).changes

`digests` has digests of tensors, `matching` pairs the nodes of two bodies, `comparing` finds what changed, `folding`
merges changes that differ in a number.
"""
