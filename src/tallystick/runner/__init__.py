"""`tally runner`: the one program that executes jobs, in processes of its own; the hub never does.

It is a client like any other. `job_source` is all it says to the hub, `rules` decides what follows a slice, `prompt`
and `answer` are what goes to an executor and comes back, `harnesses.process_group` ends all that an executor started.
"""
