"""`tally hook`: what a harness runs before an edit, at the start of a session and when its agent wants to stop.

`main` reads and answers, `stamp` and the hub's `glance` let most edits pass at once, `attending` does the rest.
"""
