"""The one exception people meet: a mistake that a person can put right."""


class UserError(ValueError):
    """Bad input, told in one sentence: what was wanted, what came, what to do."""
