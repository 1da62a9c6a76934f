"""Descriptions of models.

    describe(load("model.onnx"), default_registry())

`contents` has the contents of a model, which need no conversion; `report` adds which versions the model could have, and
which releases of runtimes take it. `interface` compares two models: what changed for callers, from `type_changes`, and
beside that, from `content_changes`.
"""
