"""`tally bench`: the budgets measured on this machine, each beside a baseline in the same run.

`options` is what it can be asked for, `command` the program, `catalogue` the list of benches; one module measures one
budget and gives `figures`.
"""
