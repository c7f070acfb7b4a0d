"""Actions: driving other agents in order (Weave). Groups of messages and controls, one queue per target, six results.

The tables `actions` and `conversations` are folded from `x.tally.action.*` events. What a target has answered is on
the ledger; what was merely handed to it is not, so an unanswered action is handed over again until there is a result.
"""
