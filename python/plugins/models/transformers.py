"""Decoders as the Hugging Face Transformers library computes them: beside a family of one's own, what it should give.

The library builds the model from the checkpoint's config and computes embedding, blocks, final norm and head; nothing of
it is written anew here, and no code from a checkpoint runs. Weights come from the host under the library's own names.
Attention is "eager", so that masks are tensors.
"""

import numpy
import torch
import transformers  # the library: a file's own folder is searched last
from _library_blocks import Block, first, own_tensors, refuse, same, standing_in

import quench

__version__ = "0.1.0"

# What a config says about files, caches and types rather than about what is computed.
NOT_COMPUTED = ("model_type", "auto_map", "torch_dtype", "dtype", "quantization_config", "transformers_version")
LINEAR_ROLES = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "dense": "o", "out_proj": "o",
                "query_key_value": "qkv", "qkv_proj": "qkv", "gate_proj": "gate", "up_proj": "up", "down_proj": "down",
                "gate_up_proj": "gate_up", "dense_h_to_4h": "up", "dense_4h_to_h": "down", "fc1": "up", "fc2": "down",
                "c_fc": "up", "c_proj": "down"}
HEAD_ROWS = 256  # whose logits the library computes at once
PROBE_TOKENS = 8


def library_config(config):
    """The library's config object. Raises quench.Error for what is no decoder."""
    kind = config.get("model_type")
    if kind not in transformers.CONFIG_MAPPING:
        refuse("model_type: got %r, which transformers %s does not know" % (kind, transformers.__version__))
    settings = {name: value for name, value in config.items() if name not in NOT_COMPUTED}
    made = transformers.AutoConfig.for_model(kind, **settings)
    if made.is_encoder_decoder:
        refuse("model_type %s: an encoder-decoder, wanted a decoder" % kind)
    if type(made) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING or hasattr(made, "text_config"):
        refuse("model_type %s: transformers %s has no decoder of text alone for it" % (kind, transformers.__version__))
    made.use_cache = False
    return made


def longest(config):
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    return refuse("max_position_embeddings: the config has none")


def visible(segments):
    """[B, T, T]: whether a token (second axis) sees another (third), but for their order."""
    query, key = segments[:, :, None], segments[:, None, :]
    if segments.size and segments.min() < -1:
        refuse("segments: got %d, wanted -1 or more" % segments.min())
    seen = (key >= 0) & (query >= 0) & ((key == 0) | (key == query))
    return torch.from_numpy(seen | numpy.eye(segments.shape[1], dtype=bool))


def masked(kwargs, segments):
    """A block's arguments, with segments kept apart."""
    mask = kwargs.get("attention_mask")
    if not isinstance(mask, torch.Tensor) or mask.dim() != 4 or not mask.is_floating_point():
        refuse("segments: this model's blocks are handed no mask to add to")
    seen = visible(segments)[:, None]
    return {**kwargs, "attention_mask": torch.where(seen, mask, torch.finfo(mask.dtype).min)}


@quench.model(id="transformers", reference="Wolf et al. 2020, arXiv 1910.03771",
              model_types=["llama", "mistral", "gpt_neox", "olmo", "olmo2", "qwen2", "qwen3", "gemma", "gemma2",
                           "gemma3_text", "smollm3", "apertus", "phi", "phi3", "stablelm", "starcoder2", "granite"],
              ignored=["*.rotary_emb.inv_freq", "*.attention.bias", "*.attention.masked_bias"])
class Transformers:
    """Decoders as the Hugging Face Transformers library computes them."""

    def open(self, tensors, config):
        made = library_config(config)
        self.model = transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager")
        self.model.eval().requires_grad_(False).to(torch.float64 if self.dtype == numpy.float64 else torch.float32)
        self.max_positions, self.vocabulary = longest(made), self.model.get_output_embeddings().weight.shape[0]
        self._context = (None, None)
        self._name_tensors()
        self._read(tensors)
        self._cut()

    # ---- weights ----

    def _name_tensors(self):
        """self.names: the names of each parameter, tied ones together, the embedding's before the head's."""
        found = {}
        for name, value in self.model.named_parameters(remove_duplicate=False):
            found.setdefault(id(value), (value, []))[1].append(name)
        self.names = {names[0]: names for _, names in found.values()}
        self.values = {names[0]: value for value, names in found.values()}

    def _read(self, tensors):
        missing = []
        for name, names in self.names.items():
            present = [one for one in names if one in tensors]
            if not present:
                missing.append(name)
                continue
            value, wanted = tensors[present[0]], self.values[name]
            if value.shape != wanted.shape:
                raise quench.Error(quench.DATA_LOSS, "tensor %s: got shape %s, wanted %s"
                                   % (present[0], list(value.shape), list(wanted.shape)))
            for other in present[1:]:
                if not numpy.array_equal(tensors[other], value, equal_nan=True):
                    raise quench.Error(quench.DATA_LOSS, "tensors %s and %s: different values, but the model ties them"
                                       % (present[0], other))
            self.weight_set(name, value)
        if missing:
            raise quench.Error(quench.DATA_LOSS, "tensors do not fit the config: missing %s%s"
                               % (", ".join(missing[:3]), " and %d more" % (len(missing) - 3) if missing[3:] else ""))
        stored = self.model.state_dict()
        for name, buffer in self.model.named_buffers():
            if name in stored and name in tensors:
                buffer.copy_(torch.tensor(tensors[name]))

    def parameters(self):
        return [quench.Tensor(name, self.values[name].shape, self._role(name), aliases=names[1:])
                for name, names in self.names.items()]

    def _role(self, name):
        value = self.values[name]
        if value is self.model.get_input_embeddings().weight:
            return "embedding"
        if value is self.model.get_output_embeddings().weight:
            return "head"
        if "norm" in name.split(".")[-2]:
            return "norm"
        if value.dim() == 2:
            return "matrix"
        return "bias" if name.endswith(".bias") else "other"

    def weight_get(self, name):
        return self.values[name].numpy()

    def weight_set(self, name, value):
        self.values[name].copy_(torch.tensor(value))

    # ---- blocks ----

    def _layers(self):
        """The list of the model's blocks and its name."""
        found = [(name, module) for name, module in self.model.named_modules()
                 if isinstance(module, torch.nn.ModuleList) and len(module) == self.model.config.num_hidden_layers
                 and name.count(".") == 1]
        if len(found) != 1:
            refuse("blocks: got %d lists of %d modules, wanted one" % (len(found), self.model.config.num_hidden_layers))
        return found[0]

    @torch.no_grad()
    def _cut(self):
        """Cuts the blocks, and holds what the stages give on a few tokens against the library's own forward."""
        prefix, layers = self._layers()
        for name, _ in layers.named_modules():
            if "experts" in name.split("."):
                refuse("%s.%s: a mixture of experts, which this family does not serve" % (prefix, name))
        tokens = numpy.arange(min(PROBE_TOKENS, self.vocabulary, self.max_positions), dtype=numpy.int32)[None]
        calls = []

        def note(module, args, kwargs):
            calls.append((args, kwargs))

        hooks = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in layers]
        wanted = self._forward(self.model, tokens).logits[0]
        for hook in hooks:
            hook.remove()
        if len(calls) != len(layers):
            refuse("%s: %d calls in a forward, wanted one of each block" % (prefix, len(calls)))
        self.cut = []
        for number, (layer, (args, kwargs)) in enumerate(zip(layers, calls)):
            own_tensors(layer)
            self.cut.append(Block("%s.%d" % (prefix, number), layer, args, kwargs))
        self.width, self.ops = self.cut[0].width, {}
        batch = _Tokens(tokens)
        h = self.embed(batch)
        for number, block in enumerate(self.cut):
            carried = [h]
            for stage in range(block.stages):
                carried = self.stage(number, stage, carried, batch)
            h = carried[0]
        if not same(self.logits(h), wanted, 1e-5):
            refuse("model_type %s: its blocks pass on more than the residual stream; logits differ by %g"
                   % (self.model.config.model_type, float((self.logits(h) - wanted).abs().max())))

    def blocks(self):
        return [quench.Block([quench.Group([self._linear(block, *linear) for linear in group], stage)
                              for stage, group in enumerate(block.groups)]) for block in self.cut]

    @staticmethod
    def _linear(block, name, linear):
        full = "%s.%s" % (block.name, name)
        last = name.split(".")[-1]
        return quench.Linear(full, LINEAR_ROLES.get(last, last), linear.out_features, linear.in_features,
                             bias=None if linear.bias is None else full + ".bias")

    def carry(self, block, stage):
        return [quench.Carry(name, width) for name, width in self.cut[block].carried(stage)]

    def set_linear_op(self, block, group, linear, op):
        module = self.cut[block].groups[group][linear][1]
        if op is None:
            module.__dict__.pop("forward", None)
            return

        def forward(x):
            y = torch.tensor(op(x.reshape(-1, x.shape[-1]).numpy())).reshape(*x.shape[:-1], -1)
            return y if module.bias is None else y + module.bias

        module.forward = forward

    # ---- the forward ----

    @staticmethod
    def _forward(model, tokens, positions=None):
        # A mask that hides nothing: without one the library takes positions that start anew for packed documents.
        ids = torch.tensor(tokens, dtype=torch.int64)
        if positions is None:
            positions = numpy.broadcast_to(numpy.arange(tokens.shape[1]), tokens.shape)
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False,
                     position_ids=torch.tensor(positions, dtype=torch.int64))

    def _calls(self, model, tokens, positions=None, last=None):
        """What each block would be called with, and the output of `model`, whose last block gives `last`."""
        calls = []

        def stand_in(block):
            def forward(*args, **kwargs):
                calls.append((args, kwargs))
                return block.packed(first(args, kwargs) if last is None or len(calls) < len(self.cut) else last)

            return block.layer, forward

        with standing_in(*(stand_in(block) for block in self.cut)):
            output = self._forward(model, tokens, positions)
        return calls, output

    def _blocks_calls(self, batch):
        """The arguments of every block on a batch: masks, cosines and sines; remembered for the last batch."""
        key = tuple(None if part is None else (part.shape, part.tobytes())
                    for part in (batch.tokens, batch.positions, batch.segments))
        if self._context[0] != key:
            calls, _ = self._calls(self.model.base_model, batch.tokens, batch.positions)
            if batch.segments is not None:
                calls = [(args, masked(kwargs, batch.segments)) for args, kwargs in calls]
            self._context = key, calls
        return self._context[1]

    @torch.no_grad()
    def embed(self, batch):
        args, kwargs = self._blocks_calls(batch)[0]
        return first(args, kwargs).reshape(-1, self.width)

    @torch.no_grad()
    def stage(self, block, stage, tensors, batch):
        shape = (*batch.tokens.shape, -1)
        tensors = [(tensor if isinstance(tensor, torch.Tensor) else torch.tensor(tensor)).reshape(shape)
                   for tensor in tensors]
        out = self.cut[block].stage(stage, tensors, *self._blocks_calls(batch)[block])
        return [tensor.reshape(batch.tokens.size, -1) for tensor in out]

    @torch.no_grad()
    def logits(self, h):
        """Final norm and head, with all that the library does to logits, from the stream [N, width]."""
        out = []
        for rows in (torch.as_tensor(h) if isinstance(h, torch.Tensor) else torch.tensor(h)).split(HEAD_ROWS):
            tokens = numpy.zeros((1, len(rows)), numpy.int32)
            out.append(self._calls(self.model, tokens, tokens, rows[None])[1].logits[0])
        return torch.cat(out)


class _Tokens:
    """A batch of plain rows."""

    def __init__(self, tokens):
        self.tokens, self.positions, self.segments = tokens, None, None
