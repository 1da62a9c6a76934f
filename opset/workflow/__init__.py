"""Contributing an operator: what is written, checked and compared before a version is released."""
