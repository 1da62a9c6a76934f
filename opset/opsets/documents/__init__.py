"""Operator-set documents: the operators of a domain at one version, as protobuf, YAML or JSON."""
