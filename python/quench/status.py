"""Status codes of the plugin interface, and the exception that carries one."""

from .abi import constant

OK = constant("OK")
INVALID_ARGUMENT = constant("INVALID_ARGUMENT")  # the argument can never be right
FAILED_PRECONDITION = constant("FAILED_PRECONDITION")  # right in form, but not now: missing rows, too few members
NOT_FOUND = constant("NOT_FOUND")  # a named tensor, weight or key does not exist
UNSUPPORTED = constant("UNSUPPORTED")  # understood, but not implemented here
RESOURCE_EXHAUSTED = constant("RESOURCE_EXHAUSTED")  # memory, disk
DATA_LOSS = constant("DATA_LOSS")  # a file is truncated or contradicts itself
NUMERICAL = constant("NUMERICAL")  # NaN, infinity, a matrix that cannot be factorized
CANCELLED = constant("CANCELLED")  # the user asked to stop
INTERNAL = constant("INTERNAL")  # a fault in the implementation
END = constant("END")  # not a failure: the sequence has no further element
UNAVAILABLE = constant("UNAVAILABLE")  # the host's alone


class Error(Exception):
    """A failure with its status: quench.Error(quench.UNSUPPORTED, "layer 3: got 5 bits, wanted 4").

    The message is one line: what, where, got, wanted.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
