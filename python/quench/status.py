"""Status codes of the plugin interface, and the exception that carries one."""

OK = 0
INVALID_ARGUMENT = 1  # the argument can never be right
FAILED_PRECONDITION = 2  # right in form, but not now: missing rows, too few members
NOT_FOUND = 3  # a named tensor, weight or key does not exist
UNSUPPORTED = 4  # understood, but not implemented here
RESOURCE_EXHAUSTED = 5  # memory, disk
DATA_LOSS = 6  # a file is truncated or contradicts itself
NUMERICAL = 7  # NaN, infinity, a matrix that cannot be factorized
CANCELLED = 8  # the user asked to stop
INTERNAL = 9  # a fault in the implementation
END = 10  # not a failure: the sequence has no further element
UNAVAILABLE = 11  # the host's alone


class Error(Exception):
    """A failure with its status: quench.Error(quench.UNSUPPORTED, "layer 3: got 5 bits, wanted 4").

    The message is one line: what, where, got, wanted.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
