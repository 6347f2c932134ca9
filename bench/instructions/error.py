"""The one error that the modules here share."""


class InstructionsError(Exception):
    """Said to the user in one line or two."""
