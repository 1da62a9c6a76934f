"""Descriptions of models.

    describe(load("model.onnx"), default_registry())

`contents` has what a model contains, which needs no conversion; `report` adds which versions the model could have, and
which releases of runtimes take it.
"""
