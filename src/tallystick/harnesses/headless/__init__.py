"""Calling a harness without a terminal: `protocol` is what every one is asked and answers, `programs` lists them."""
