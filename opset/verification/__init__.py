"""Whether two models compute the same: inputs that suit them, both run, and the outputs compared.

`verifying` does it, `inputs` draws or reads what both are run on, `tolerances` says how close is close enough,
`comparing` collects differences, `running` runs a model on the evaluator or a runtime, `report` holds the result.
"""
