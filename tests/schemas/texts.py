"""The text of an operator file that tests edit."""

SCALE = """\
operator: Scale
family: acme
versions:
- since: 2
  change:
    attributes: {axis: {added: int, default: 1}}
    types: {T: [+bfloat16]}
    adapters: {up: derived, down: derived}
  doc: Scales.
  inputs:
  - {name: X, type: T, doc: what is scaled}
  - {name: by, type: T, doc: factor}
  outputs:
  - {name: Y, type: T, doc: the result}
  attributes:
    axis: {type: int, default: 1, doc: where}
  types:
    T: floats_ir4
- since: 1
  like: 2
  attributes: null
  types:
    T: floats
"""
