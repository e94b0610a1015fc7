"""The family `transformers`: its stages give what the library's own forward gives."""

import os
import sys
import unittest

import support  # noqa: F401, the package's folder

FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plugins", "models", "transformers.py")
try:
    import numpy
    import torch
    import transformers
except ImportError as missing:
    torch = None
    print("SKIPPED: %s, so only what the family's file says of itself is tested" % missing)

COMMON = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
          "max_position_embeddings": 64, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None}
GROUPED = {**COMMON, "num_key_value_heads": 2}
SHORT = {**GROUPED, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 5}
CUT = {  # attention and MLP are computed once each
    "llama": GROUPED, "gpt_neox": {**COMMON, "use_parallel_residual": True},
    "olmo2": GROUPED, "qwen2": {**GROUPED, "tie_word_embeddings": True}, "qwen3": {**GROUPED, "head_dim": 16},
    "gemma2": {**SHORT, "final_logit_softcapping": 3.0}, "gemma3_text": {**SHORT, "layer_types": ["sliding_attention", "full_attention"]},
}
AGAIN = {"phi": COMMON}  # a block that hands one tensor to both: it is run again
STAGES = ["h"], ["h", "x"], ["h", "x"], ["h", "x", "attention"], ["h", "x", "attention"], ["h"]


def describe():
    from quench.describe import describe as read
    return read(FILE)["items"]


class DescriptionTest(unittest.TestCase):
    def test_the_file_says_what_it_serves_without_its_libraries(self):
        family, = describe()
        self.assertEqual((family["kind"], family["id"]), ("model", "transformers"))
        self.assertLessEqual({*CUT, *AGAIN}, set(family["model_types"]))


class Batch:
    def __init__(self, tokens, positions=None, segments=None):
        self.tokens, self.positions, self.segments = tokens, positions, segments


@unittest.skipIf(torch is None, "SKIPPED: torch and transformers are not there")
class FamilyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from quench.plugin import Plugin
        plugin = Plugin(FILE)
        cls.family = staticmethod(plugin.marked(plugin.items[0]))

    def library(self, kind, settings):
        torch.manual_seed(1)
        config = transformers.AutoConfig.for_model(kind, **settings)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for value in model.parameters():
                value.copy_(value + 0.2 * torch.randn(value.shape))
        return model

    def opened(self, model, tensors=None, **config):
        family = self.family()
        family.dtype = numpy.dtype("f4")
        stored = {name: value.detach().numpy().copy() for name, value in model.state_dict().items()}
        family.open(stored if tensors is None else tensors, {**model.config.to_dict(), **config})
        return family

    def stream(self, family, batch):
        h = family.embed(batch).numpy()
        for number, block in enumerate(family.blocks()):
            carried = [h]
            for stage in range(block.stages):
                carried = [tensor.numpy() for tensor in family.stage(number, stage, carried, batch)]
                self.assertEqual([tensor.shape[1] for tensor in carried],
                                 [one.width for one in family.carry(number, stage + 1)])
            h, = carried
        return h

    def wanted(self, model, tokens, **more):
        with torch.no_grad():
            return model(input_ids=torch.tensor(tokens).long(), use_cache=False, **more).logits.flatten(0, 1).numpy()

    def close(self, got, wanted):
        numpy.testing.assert_allclose(got, wanted, rtol=0, atol=2e-6 * abs(wanted).max())

    def test_the_stages_give_the_librarys_logits(self):
        tokens = numpy.random.default_rng(2).integers(0, 64, (3, 12), dtype="i4")
        for kind, settings in {**CUT, **AGAIN}.items():
            with self.subTest(kind):
                model = self.library(kind, settings)
                family = self.opened(model)
                self.close(family.logits(self.stream(family, Batch(tokens))).numpy(), self.wanted(model, tokens))
                linears = [one.role for block in family.blocks() for group in block.groups for one in group.linears]
                self.assertLessEqual(set(linears), {"q", "k", "v", "qkv", "o", "gate", "up", "down"})
                names = [[one.name for one in family.carry(0, stage)] for stage in range(family.blocks()[0].stages + 1)]
                self.assertEqual(names, list(STAGES) if kind in CUT else [["h"], ["h", "x"], ["h", "x"], ["h", "x"], ["h"]])

    def test_segments_are_kept_apart_and_share_segment_0(self):
        tokens = numpy.random.default_rng(4).integers(0, 64, (1, 12), dtype="i4")
        segments = numpy.array([[0, 0, 0, 1, 1, 1, 1, 2, 2, 2, -1, -1]], "i4")
        positions = numpy.array([[0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 0, 0]], "i4")
        for kind in ("llama", "gpt_neox", "phi"):
            with self.subTest(kind):
                model = self.library(kind, {**CUT, **AGAIN}[kind])
                family = self.opened(model)
                got = family.logits(self.stream(family, Batch(tokens, positions, segments))).numpy()
                self.close(got[:7], self.wanted(model, tokens[:, :7]))
                second = numpy.concatenate([tokens[:, :3], tokens[:, 7:10]], 1)
                self.close(got[7:10], self.wanted(model, second)[3:])
                self.close(got[10:], self.wanted(model, tokens[0, 10:, None]))

    def test_weights_are_replaced_with_what_they_are_tied_to(self):
        model = self.library("qwen2", CUT["qwen2"])
        tensors = {name: value.numpy().copy() for name, value in model.state_dict().items()}
        del tensors["lm_head.weight"]
        family = self.opened(model, tensors)
        embedding, = [one for one in family.parameters() if one.role == "embedding"]
        self.assertEqual(embedding.aliases, ("lm_head.weight",))
        self.assertFalse([one for one in family.parameters() if one.role == "head"])
        value = numpy.random.default_rng(3).standard_normal(embedding.shape).astype("f4")
        h = self.stream(family, Batch(numpy.array([[1, 2, 3]], "i4")))
        family.weight_set(embedding.name, value)
        normed = family.model.model.norm(torch.tensor(h)).numpy()
        self.close(family.logits(h).numpy(), normed @ value.T)
        numpy.testing.assert_array_equal(family.weight_get(embedding.name), value)
        tensors["lm_head.weight"] = value
        with self.assertRaisesRegex(Exception, "lm_head.weight: different values"):
            self.opened(model, tensors)

    def test_a_linear_is_replaced_by_an_op_and_keeps_its_bias(self):
        for kind in ("qwen2", "phi"):
            with self.subTest(kind):
                model = self.library(kind, {**CUT, **AGAIN}[kind])
                family, batch = self.opened(model), Batch(numpy.array([[1, 2, 3, 4]], "i4"))
                before = self.stream(family, batch)
                for group, linear in ((0, 1), (1, 0), (2, 0)):
                    place = family.blocks()[1].groups[group].linears[linear].weight
                    weight, seen = family.weight_get(place).copy(), []
                    family.set_linear_op(1, group, linear, lambda x: seen.append(x.shape) or 2 * (x @ weight.T))
                    replaced = self.stream(family, batch)
                    self.assertEqual(set(seen), {(4, weight.shape[1])})
                    family.set_linear_op(1, group, linear, None)
                    family.weight_set(place, 2 * weight)
                    self.close(replaced, self.stream(family, batch))
                    family.weight_set(place, weight)
                    self.close(self.stream(family, batch), before)
                    self.assertGreater(abs(replaced - before).max(), 1e-3)

    def test_what_is_not_served_is_refused_with_its_reason(self):
        model = self.library("llama", CUT["llama"])
        tensors = {name: value.numpy() for name, value in model.state_dict().items()}
        short = {**tensors, "model.norm.weight": numpy.ones(3, "f4")}
        absent = {name: value for name, value in tensors.items() if "q_proj" not in name}
        for given, config, reason in (
                (short, {}, r"model.norm.weight: got shape \[3\], wanted \[32\]"),
                (absent, {}, "missing model.layers.0.self_attn.q_proj.weight"),
                (tensors, {"model_type": "t5", "is_encoder_decoder": True}, "encoder-decoder"),
                (tensors, {"model_type": "no_such"}, "does not know"),
                (tensors, {"model_type": "vit"}, "no decoder of text")):
            with self.subTest(reason), self.assertRaisesRegex(Exception, reason):
                self.opened(model, given, **config)
        experts = self.library("mixtral", {**GROUPED, "num_local_experts": 2})
        conv = self.library("gpt2", {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64})
        for other, reason in ((experts, "mixture of experts"), (conv, "Conv1D: a weight of shape")):
            with self.subTest(reason), self.assertRaisesRegex(Exception, reason):
                self.opened(other)


if __name__ == "__main__":
    unittest.main()
