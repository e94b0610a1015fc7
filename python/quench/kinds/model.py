"""Model families: a class that opens a model and runs its stages."""

import fnmatch
import json

import numpy

from .. import host
from ..abi import constant
from ..arrays import FLOAT32, FLOAT64, Output, Typed, numpy_dtype
from ..crossing import Struct
from ..declare import Carry
from ..sources import Tensors
from ..status import INVALID_ARGUMENT, NOT_FOUND, UNSUPPORTED, Error

ROLES = {role: constant("ROLE_" + role.upper()) for role in ("matrix", "embedding", "head", "norm", "bias", "other")}
INITIALIZE, SHAPES = constant("OPEN_INITIALIZE"), constant("OPEN_SHAPES")  # flags of open
CHUNK = 256  # rows whose logits exist at once


class LinearOp:
    """Replaces the product with a linear's weight: op(x) is [N, out]."""

    def __init__(self, remote, out_features, dtype):
        self._remote, self._out, self._dtype = remote, out_features, dtype

    def __call__(self, x):
        return self._remote.call("apply", x=Typed(x, self._dtype), y=Output(self._dtype, (len(x), self._out)))

    def release(self):
        self._remote.call("release")


class Open:
    """An open model: the author's object, its descriptions, and what the host keeps count of."""

    def __init__(self, made, dtype):
        self.made, self.dtype = made, dtype
        self.tensors = list(made.parameters())
        self.blocks = list(made.blocks())
        self.names = {alias: tensor for tensor in self.tensors for alias in (tensor.name, *tensor.aliases)}
        self.generations = {tensor.name: 0 for tensor in self.tensors}
        self.ops = {}
        for tensor in self.tensors:
            if tensor.role not in ROLES:
                raise Error(INVALID_ARGUMENT, "%s: role %r, wanted one of %s" % (tensor.name, tensor.role, ", ".join(ROLES)))

    def tensor(self, name):
        if name not in self.names:
            raise Error(NOT_FOUND, "this family has no tensor %s" % name)
        return self.names[name]

    def carry(self, block, stage):
        """The tensors that enter a stage: as the class says, else h, and x for the group that reads it."""
        if hasattr(self.made, "carry"):
            return list(self.made.carry(block, stage))
        carried = [Carry("h", self.made.width)]
        reading = [group for group in self.blocks[block].groups if group.stage == stage - 1]
        return carried + ([Carry("x", reading[0].linears[0].in_features)] if reading else [])


class Batch:
    """Rows of tokens: int32 [B, T]. positions and segments likewise, or None."""

    def __init__(self, batch):
        self.tokens = batch.tokens.astype(numpy.int32)
        self.positions = None if batch.positions is None else batch.positions.copy()
        self.segments = None if batch.segments is None else batch.segments.copy()


def described_group(group):
    linears = [Struct(flags=1 if linear.bias else 0, name=linear.name, role=linear.role, weight=linear.weight,
                      bias=linear.bias, out_features=linear.out_features, in_features=linear.in_features)
               for linear in group.linears]
    return Struct(stage=group.stage, input=group.input, rows=-1, expert=-1, linear_count=len(linears), linears=linears,
                  site_count=len(group.sites), sites=[Struct(parameter=name, rows=None) for name in group.sites])


class ModelTable:
    def __init__(self, plugin, item):
        self._plugin, self._item = plugin, item

    def probe(self, args):
        config = json.loads(args.config_json)
        types = self._item.words.get("model_types", [])
        if "probe" not in self._item.methods:
            return (100 if config.get("model_type") in types else 0), None
        try:
            return int(self._plugin.marked(self._item).probe(config)), None
        except Error as failure:
            return 0, str(failure)

    def open(self, args):
        args = args.args
        if args.device[0] != 1:
            raise Error(UNSUPPORTED, "device: this family runs in host memory")
        if args.flags & SHAPES or args.flags & INITIALIZE:
            raise Error(UNSUPPORTED, "this family opens models only with their weights")
        if args.dtype not in (FLOAT32, FLOAT64):
            raise Error(UNSUPPORTED, "dtype: got code %d with %d bits, wanted float32 or float64" % args.dtype[:2])
        marked = self._plugin.marked(self._item)
        made = marked.__new__(marked)
        made.dtype = numpy_dtype(args.dtype)
        made.__init__()
        tensors = Tensors(args.source)
        made.open(tensors, json.loads(args.config_json))
        tensors.require_all_read(self._item.words.get("ignored", []), fnmatch.fnmatchcase)
        return {"model": Open(made, args.dtype)}

    def close(self, args):
        for op in args.model.ops.values():
            op.release()

    def info(self, args):
        model, made = args.model, args.model.made
        return {"info": Struct(blocks=len(model.blocks), width=made.width, vocabulary=made.vocabulary,
                               max_positions=made.max_positions, dtype=model.dtype, device=(1, 0))}

    def parameters(self, args):
        out, offset = [], 0
        for tensor in args.model.tensors:
            out.append(Struct(role=ROLES[tensor.role], name=tensor.name, dimensions=len(tensor.shape),
                              shape=numpy.array(tensor.shape, numpy.int64), offset=offset,
                              alias_count=len(tensor.aliases), aliases=list(tensor.aliases)))
            offset += int(numpy.prod(tensor.shape, dtype=numpy.int64))
        return {"parameters": out, "count": len(out)}

    def block(self, args):
        block = args.model.blocks[args.block]
        groups = [described_group(group) for group in block.groups]
        return {"info": Struct(stage_count=block.stages, group_count=len(groups), groups=groups)}

    def carry(self, args):
        carried = args.model.carry(args.block, args.stage)
        return {"tensors": [Struct(name=one.name, width=one.width, rows_per_token=1, dtype=args.model.dtype)
                            for one in carried], "count": len(carried)}

    def embed(self, args):
        model, batch = args.model, Batch(args.args.batch)
        last = batch.tokens.shape[1] - 1 if batch.positions is None else int(batch.positions.max(initial=0))
        if last >= model.made.max_positions:
            raise Error(INVALID_ARGUMENT, "position %d, wanted at most %d" % (last, model.made.max_positions - 1))
        if batch.tokens.size and not 0 <= batch.tokens.min() <= batch.tokens.max() < model.made.vocabulary:
            raise Error(INVALID_ARGUMENT, "tokens: got ids %d..%d, but the vocabulary has %d"
                        % (batch.tokens.min(), batch.tokens.max(), model.made.vocabulary))
        return {"h": model.made.embed(batch)}

    def stage(self, args):
        host.check_cancelled()
        model, given = args.model, getattr(args.args, "in")
        return {"out": list(model.made.stage(args.args.block, args.args.stage, list(given or ()), Batch(args.args.batch)))}

    def token_nll(self, args):
        model, h, targets = args.model, args.args.h, args.args.targets.reshape(-1)
        if targets.size and targets.max() >= model.made.vocabulary:
            raise Error(INVALID_ARGUMENT, "token_nll: got target %d, but the vocabulary has %d"
                        % (targets.max(), model.made.vocabulary))
        if hasattr(model.made, "token_nll"):
            nll, argmax = model.made.token_nll(h, targets)
        else:
            nll, argmax = self._token_nll(model.made, h, targets)
        return {"nll": numpy.reshape(nll, args.args.nll.shape),
                "argmax": None if args.args.argmax is None else numpy.reshape(argmax, args.args.argmax.shape)}

    @staticmethod
    def _token_nll(made, h, targets):
        nll, argmax = numpy.zeros(len(targets)), numpy.zeros(len(targets), numpy.int32)
        for begin in range(0, len(targets), CHUNK):
            rows = slice(begin, begin + CHUNK)
            logits = numpy.asarray(made.logits(h[rows]), numpy.float64)
            most = logits.max(1)
            argmax[rows] = logits.argmax(1)
            total = numpy.log(numpy.exp(logits - most[:, None]).sum(1)) + most
            wanted = targets[rows]
            found = total - logits[numpy.arange(len(wanted)), numpy.maximum(wanted, 0)]
            nll[rows] = numpy.where(wanted < 0, 0.0, found)
        return nll, argmax

    def logits(self, args):
        return {"logits": args.model.made.logits(args.h)}

    def weight_get(self, args):
        tensor = args.model.tensor(args.name)
        made = args.model.made
        value = made.weight_get(tensor.name) if hasattr(made, "weight_get") else made.weights[tensor.name]
        return {"destination": value}

    def weight_set(self, args):
        tensor, made = args.model.tensor(args.name), args.model.made
        if args.value.shape != tensor.shape:
            raise Error(INVALID_ARGUMENT, "tensor %s: got shape %s, wanted %s"
                        % (tensor.name, list(args.value.shape), list(tensor.shape)))
        value = args.value.astype(numpy_dtype(args.model.dtype))
        if hasattr(made, "weight_set"):
            made.weight_set(tensor.name, value)
        else:
            made.weights[tensor.name] = value
        args.model.generations[tensor.name] += 1

    def weight_generation(self, args):
        return {"generation": args.model.generations[args.model.tensor(args.name).name]}

    def set_linear_op(self, args):
        model, place = args.model, (args.block, args.group, args.linear)
        if not hasattr(model.made, "set_linear_op"):
            raise Error(UNSUPPORTED, "this family runs its linears with their weights alone")
        linear = model.blocks[args.block].groups[args.group].linears[args.linear]
        op = None if args.op is None else LinearOp(args.op, linear.out_features, model.dtype)
        model.made.set_linear_op(*place, op)
        before = model.ops.pop(place, None)
        if before is not None:
            before.release()
        if op is not None:
            model.ops[place] = op
