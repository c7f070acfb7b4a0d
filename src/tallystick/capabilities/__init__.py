"""Decisions: one folder per capability, the same file names in each.

`contract` is what the outside sees, `model` the state, `rules` the pure decisions, `operations` load, decide, append
and answer, `projections` fold events into rows, `queries` read them, `schema` creates them, `errors` are the refusals.
"""
