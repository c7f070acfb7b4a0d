"""`tally runner`: the one program that executes jobs, in processes of its own; the hub never does.

It is a client like any other. `job_source` is all it says to the hub, `prompt` is what goes to an executor, `rules`
reads what comes back and decides what follows a slice, `harnesses.process_group` ends all that an executor started.
"""
