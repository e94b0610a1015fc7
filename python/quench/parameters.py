"""Kinds of hyper-parameters. Each is data: the host checks ranges and shows them without this package.

A plain literal stands for a parameter without a range: 4 for Integer(4), 0.5 for Number(0.5), "a" for Text("a").
"""

from .abi import constant

REQUIRED = object()  # the default of a parameter that a manifest must set


class Parameter:
    """One hyper-parameter: its default (None: not set), its range and what it means."""

    number = 0  # of the type, as the host counts them
    accepts = ()  # Python types of a default

    def __init__(self, default=REQUIRED, low=None, high=None, meaning=""):
        if default is not REQUIRED and default is not None:
            self.check(default)
        self.default, self.low, self.high, self.choices, self.meaning = default, low, high, (), meaning

    def check(self, value):
        if not isinstance(value, self.accepts) or (isinstance(value, bool) and bool not in self.accepts):
            raise ValueError("%s: a default of %r" % (type(self).__name__, value))

    def described(self, name):
        """The parameter as the host's JSON has it."""
        out = {"name": name, "type": self.number, "minimum": None if self.low is None else float(self.low),
               "maximum": None if self.high is None else float(self.high), "choices": list(self.choices),
               "meaning": self.meaning}
        if self.default is not REQUIRED:
            out["default"] = self.default
        return out


class Integer(Parameter):
    number, accepts = constant("PARAMETER_INTEGER"), (int,)


class Number(Parameter):
    number, accepts = constant("PARAMETER_NUMBER"), (int, float)

    def described(self, name):
        out = super().described(name)
        if isinstance(out.get("default"), int):
            out["default"] = float(out["default"])
        return out


class Boolean(Parameter):
    number, accepts = constant("PARAMETER_BOOLEAN"), (bool,)

    def __init__(self, default=REQUIRED, meaning=""):
        super().__init__(default, meaning=meaning)


class Text(Parameter):
    number, accepts = constant("PARAMETER_STRING"), (str,)

    def __init__(self, default=REQUIRED, meaning=""):
        super().__init__(default, meaning=meaning)


class Choice(Parameter):
    """One of several words; the first is the default unless `default` names another."""

    number, accepts = constant("PARAMETER_CHOICE"), (str,)

    def __init__(self, *choices, default=None, meaning=""):
        if not choices or not all(isinstance(choice, str) for choice in choices):
            raise ValueError("Choice: wanted words to choose from")
        super().__init__(choices[0] if default is None else default, meaning=meaning)
        if self.default not in choices:
            raise ValueError("Choice: the default %r is none of them" % (self.default,))
        self.choices = choices


class _List(Parameter):
    element = ()

    def check(self, value):
        if not isinstance(value, (list, tuple)) or not all(
                isinstance(item, self.element) and not isinstance(item, bool) for item in value):
            raise ValueError("%s: a default of %r" % (type(self).__name__, value))

    def described(self, name):
        out = super().described(name)
        if isinstance(out.get("default"), tuple):
            out["default"] = list(out["default"])
        return out


class Integers(_List):
    number, element = constant("PARAMETER_INTEGER_LIST"), (int,)


class Numbers(_List):
    number, element = constant("PARAMETER_NUMBER_LIST"), (int, float)

    def described(self, name):
        out = super().described(name)
        if out.get("default") is not None and "default" in out:
            out["default"] = [float(value) for value in out["default"]]
        return out


class Texts(_List):
    number, element = constant("PARAMETER_STRING_LIST"), (str,)


class Corpus(Parameter):
    """The name of a corpus, which the host opens and tokenizes; the plugin is handed its tokens."""

    number, accepts = constant("PARAMETER_CORPUS"), (str,)

    def __init__(self, default=REQUIRED, meaning=""):
        super().__init__(default, meaning=meaning)


class Path(Parameter):
    """A file or folder, relative to the manifest's folder."""

    number, accepts = constant("PARAMETER_PATH"), (str,)

    def __init__(self, default=REQUIRED, meaning=""):
        super().__init__(default, meaning=meaning)


KINDS = {kind.__name__: kind for kind in (Integer, Number, Boolean, Text, Choice, Integers, Numbers, Texts, Corpus, Path)}


def parameter_of(value):
    """The parameter that a literal stands for. Raises ValueError where it stands for none."""
    if isinstance(value, Parameter):
        return value
    for kind in (Boolean, Integer, Number, Text):
        if isinstance(value, kind.accepts):
            return kind(value)
    if isinstance(value, (list, tuple)) and value:
        for kind in (Integers, Numbers, Texts):
            if all(isinstance(item, kind.element) and not isinstance(item, bool) for item in value):
                return kind(list(value))
    raise ValueError("no parameter has %r as its default; say which kind, such as quench.Integer()" % (value,))
