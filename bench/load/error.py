"""The one error that the modules here share."""


class BenchError(Exception):
    """Said to the user in one line."""
