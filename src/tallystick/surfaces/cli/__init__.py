"""The command line, `tally`.

`main` starts it, `commands` is the table of what it offers, `tree` turns table and catalogue into click commands, one
module per group of commands does the work through a `session`, and `screen` puts the result before a person.
"""
