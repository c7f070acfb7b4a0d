"""`tally hook`: what a harness runs before an edit, at the start of a session and when its agent wants to stop.

`main` reads and answers; `session_files` and the hub's `reservation_check` let most edits pass at once, `replies` does
the rest.
"""
