"""Averaging schemes: a function that gives each member its weight, or a class that sums chunks of values."""

import numpy

from ..plugin import Settings
from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, Error


def checked(weights, members, name):
    if weights is None:
        raise Error(FAILED_PRECONDITION, "%s: %s gives no average that ends here" % (members[-1].name, name))
    weights = numpy.asarray(weights, numpy.float64)
    if weights.shape != (len(members),):
        raise Error(INVALID_ARGUMENT, "%s: got weights of shape %s, wanted one for each of %d members"
                    % (name, list(weights.shape), len(members)))
    if not numpy.isfinite(weights).all():
        raise Error(INVALID_ARGUMENT, "%s: got a weight that is NaN or infinite" % name)
    return weights


class Weighted:
    """An instance of a function: a weighted sum, in the order of the members."""

    def __init__(self, settings):
        self._settings, self._name = settings, settings.item.name
        self._weights, self.sum = None, None

    def _weights_of(self, members):
        return checked(self._settings.call(members=list(members)), members, self._name)

    def select(self, members, last):
        """Members with a weight other than 0. Asked again with those alone, the function must say the same."""
        upto = members[:last + 1]
        weights = self._weights_of(upto)
        chosen = [index for index in range(len(upto)) if weights[index] != 0]
        if not chosen:
            raise Error(FAILED_PRECONDITION, "%s: %s gives every member the weight 0" % (upto[-1].name, self._name))
        again = self._weights_of([upto[index] for index in chosen])
        if not numpy.allclose(again, weights[chosen], rtol=1e-12, atol=0):
            raise Error(INVALID_ARGUMENT, "%s: the weights of the chosen members are others when the rest is not there"
                        % self._name)
        return chosen

    def begin(self, members):
        self._weights, self.sum = self._weights_of(members), None

    def accumulate(self, member, values):
        scaled = self._weights[member] * values
        self.sum = scaled if member == 0 else self.sum + scaled

    def finish(self):
        return self.sum


class AveragingTable:
    def __init__(self, plugin, item):
        self._plugin, self._item = plugin, item

    def create(self, args):
        settings = Settings(self._plugin, self._item, args.parameters_json)
        return {"averaging": settings.made() if self._item.is_class else Weighted(settings)}

    def destroy(self, args):
        pass

    def needs(self, args):
        return self._item.needs

    def select(self, args):
        select = getattr(args.averaging, "select", None)
        chosen = range(args.last + 1) if select is None else select(args.members, args.last)
        chosen = numpy.fromiter((int(index) for index in chosen), numpy.uint64)
        return {"selected": chosen, "selected_count": len(chosen)}

    def begin(self, args):
        if hasattr(args.averaging, "begin"):
            args.averaging.begin(args.members)

    def accumulate(self, args):
        args.averaging.accumulate(args.member, args.values)

    def finish(self, args):
        values = numpy.asarray(args.averaging.finish(), numpy.float64)
        if values.shape != (args.count,):
            raise Error(INVALID_ARGUMENT, "%s: finish: got shape %s, wanted [%d]"
                        % (self._item.name, list(values.shape), args.count))
        return {"values": values}

    # An interrupted training continues its averages with these: of functions, whose sums are known.

    def sums_size(self, args):
        return {"count": len(self._sum(args))}

    def sums_get(self, args):
        return {"values": self._sum(args)}

    def sums_set(self, args):
        if args.members < 1 or args.values is None or len(args.values) != args.chunk:
            raise Error(INVALID_ARGUMENT, "sums: got %d members and %d values of a chunk of %d" % (
                args.members, 0 if args.values is None else len(args.values), args.chunk))
        args.averaging.sum = args.values

    @staticmethod
    def _sum(args):
        if args.averaging.sum is None:
            raise Error(FAILED_PRECONDITION, "no chunk is being summed")
        return args.averaging.sum
