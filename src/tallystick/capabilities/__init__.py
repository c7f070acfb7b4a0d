"""Decisions: one folder per capability, the same file names in each.

`contract` is what the outside sees, `model` the state, `rules` the pure decisions and what they refuse, `operations`
load, decide, append and answer, `queries` read the rows and fold events into them, `schema` creates them. Where there
are many, refusals are in `errors` and folds in `projections`.
"""
