"""Proofs that conversions keep meaning: what was shown of each transition and each lowering, and how."""
