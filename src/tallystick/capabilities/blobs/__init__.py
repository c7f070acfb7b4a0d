"""Blobs: files that belong to rooms, named by the hash of their content.

A blob's content lies in a folder behind the `Files` protocol in `contract`, which the hub answers; its description is
an event of the room, so access to the room is access to the blob.
"""
