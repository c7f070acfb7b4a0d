"""The page: the whole team at a glance, rendered on the hub from its operations, kept fresh by its event stream.

It decides nothing. A view asks operations for what it shows, all of it in one read transaction; a button calls an
operation. Scripts only fetch a view again and put what changed in place.
"""
