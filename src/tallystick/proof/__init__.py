"""What counts as proof that a job is done.

Everything but `files` is pure. The hub asks the judge before a job may be DONE, the runner before it asks the hub; both
get the same verdict on the same facts because it is the same code. It knows the kernel and nothing else.
"""
