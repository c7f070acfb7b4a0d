"""Tasks, cards and anchors: the durable things that jobs and messages point at.

A task says what done means, a card keeps a finding, an anchor names an area of the work. All are rows folded from
`x.tally.task.*`, `x.tally.card.*` and `x.tally.anchor.*` events.
"""
