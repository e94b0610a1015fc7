"""What keeps a package from being made: what, where, got, wanted."""


class Failure(Exception):
    pass
