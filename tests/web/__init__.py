"""A package for pytest, so that what lasts as long as this folder's tests ends with them: the browser."""
