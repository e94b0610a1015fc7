"""The quantizers of other packages give what the packages give by their own layers and solvers."""

import os
import unittest
from types import SimpleNamespace

import support  # noqa: F401, the package's folder

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plugins", "quantizers")
PACKAGES = ("hqq", "bitsandbytes", "gptqmodel")
PARAMETERS = {  # the packages' names, and their defaults
    "hqq_package": {"nbits": 4, "group_size": 64, "axis": 1, "optimize": True, "round_zero": None,
                    "compute_dtype": "float16"},
    "bitsandbytes_4bit": {"quant_type": "fp4", "blocksize": 64, "compress_statistics": False},
    "bitsandbytes_int8": {"dtype": "float16"},
    "gptqmodel_package": {"bits": 4, "group_size": 128, "sym": True, "desc_act": False, "act_group_aware": None,
                          "static_groups": False, "mse": 0.0, "damp_percent": 0.05, "damp_auto_increment": 0.01},
}


def imports(package):
    """None, or why a package cannot be imported."""
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
        __import__(package)
    except ImportError as missing:
        return "SKIPPED: %s, so of %s_package.py only what it says of itself is tested" % (missing, package)
    return None


MISSING = {package: imports(package) for package in PACKAGES}
for reason in MISSING.values():
    if reason:
        print(reason)


def path_of(package):
    return os.path.join(FOLDER, package + "_package.py")


class DescriptionTest(unittest.TestCase):
    def test_the_files_say_what_they_serve_without_their_libraries(self):
        from quench.describe import describe
        found = {item["id"]: item for package in PACKAGES for item in describe(path_of(package))["items"]}
        self.assertEqual({item["kind"] for item in found.values()}, {"quantizer"})
        defaults = {name: {one["name"]: one.get("default") for one in item["parameters"]}
                    for name, item in found.items()}
        self.assertEqual(defaults, PARAMETERS)
        for item in found.values():
            self.assertTrue(item["summary"] and item["reference"] and item["example"], item["id"])
            self.assertTrue(all(one["meaning"] for one in item["parameters"]), item["id"])

    def test_no_id_is_a_native_quantizers(self):
        native = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(FOLDER))), "plugins", "quantizers")
        if not os.path.isdir(native):
            self.skipTest("SKIPPED: no sources of native quantizers beside the package")
        self.assertFalse(set(PARAMETERS) & set(os.listdir(native)))

    def test_gptq_alone_needs_rows_and_they_are_sequential(self):
        from quench.describe import FLAGS, describe
        bits = FLAGS["quantizer"]
        for package in PACKAGES:
            for item in describe(path_of(package))["items"]:
                gptq = item["id"] == "gptqmodel_package"
                wanted = bits["needs_rows"] | bits["needs_sequential"] if gptq else 0
                self.assertEqual(item["instance"]["needs"], wanted)
                self.assertEqual("gram_get" in item["instance"]["functions"], gptq)

    def test_what_a_file_computes_with_is_found_in_its_text(self):
        from quench.surroundings import imported
        for package in PACKAGES:
            with open(path_of(package), "rb") as file:
                self.assertLessEqual({package, "torch"}, imported(file.read()))


class PackageTest(unittest.TestCase):
    package = None

    @classmethod
    def setUpClass(cls):
        from quench.plugin import Plugin
        if MISSING[cls.package]:
            raise unittest.SkipTest(MISSING[cls.package])
        plugin = Plugin(path_of(cls.package))
        cls.marked = {item.id: plugin.marked(item) for item in plugin.items}

    def quantized(self, name, weight, **given):
        """What a quantizer returns of a read-only weight; parameters that are not given have their defaults."""
        weight = weight.copy()
        weight.flags.writeable = False
        taken = {**PARAMETERS[name], **given}
        if name in ("hqq_package", "gptqmodel_package"):
            taken["linear"] = SimpleNamespace(name="layer")
        return self.marked[name](weight, **taken)

    @staticmethod
    def weight(rows, columns):
        import numpy
        return (0.05 * numpy.random.default_rng(1).standard_normal((rows, columns))).astype("f4")

    def same(self, got, wanted):
        import numpy
        numpy.testing.assert_array_equal(got, wanted)

    def stands_for(self, made, tolerance=1e-6):
        """Codes, scales and zeros give the weight."""
        import numpy
        codes, groups = made.codes.astype("f8"), made.g_idx
        given = made.scales[:, groups] * (codes - numpy.asarray(made.zeros)[:, groups])
        self.assertLessEqual(abs(given - made.weight).max(), tolerance * abs(made.weight).max())


class HqqTest(PackageTest):
    package = "hqq"

    def test_it_gives_what_the_packages_linear_holds(self):
        import torch
        from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
        weight = self.weight(32, 128)
        for bits, axis in ((4, 1), (3, 1), (2, 1), (8, 1), (4, 0)):
            with self.subTest(bits=bits, axis=axis):
                layer = torch.nn.Linear(128, 32, bias=False)
                layer.weight.data = torch.tensor(weight)
                held = HQQLinear(layer, BaseQuantizeConfig(nbits=bits, group_size=64, axis=axis),
                                 compute_dtype=torch.float16, device="cpu")
                made = self.quantized("hqq_package", weight, nbits=bits, axis=axis)
                self.same(made.weight, held.dequantize().float().numpy())

    def test_codes_stand_for_the_weight_and_bits_are_counted(self):
        weight = self.weight(16, 128)
        made = self.quantized("hqq_package", weight, compute_dtype="float32", group_size=32)
        self.assertEqual((made.scales.shape, made.bits_per_weight), ((16, 4), 4 + 64 / 32))
        self.stands_for(made)
        self.assertEqual(self.quantized("hqq_package", weight, group_size=-1).bits_per_weight, 4 + 32 / 128)

    def test_groups_across_rows_have_no_scales_by_row(self):
        made = self.quantized("hqq_package", self.weight(16, 48), group_size=32)
        self.assertIsNone(made.codes)
        self.assertEqual(made.bits_per_weight, 4 + 32 / 32)

    def test_zeros_stay_zeros(self):
        self.assertFalse(self.quantized("hqq_package", 0 * self.weight(8, 64)).weight.any())


class BitsandbytesTest(PackageTest):
    package = "bitsandbytes"

    def test_the_4_bit_types_are_those_of_the_packages_parameters(self):
        import torch
        from bitsandbytes import functional
        from bitsandbytes.nn import Params4bit
        weight = self.weight(16, 128)
        for kind in ("nf4", "fp4"):
            for double in (False, True):
                with self.subTest(kind=kind, double=double):
                    held = Params4bit(torch.tensor(weight), quant_type=kind, blocksize=64, compress_statistics=double,
                                      requires_grad=False).to("cpu")
                    made = self.quantized("bitsandbytes_4bit", weight, quant_type=kind, compress_statistics=double)
                    self.same(made.weight, functional.dequantize_4bit(held.data, held.quant_state).numpy())
                    self.assertEqual(made.tensors["indices"].shape, weight.shape)

    def test_an_index_and_a_factor_give_each_weight_where_blocks_cross_rows(self):
        from bitsandbytes import functional
        values = functional.get_4bit_type("nf4", device="cpu").numpy()
        for shape in ((4, 64), (8, 160), (3, 50)):
            made = self.quantized("bitsandbytes_4bit", self.weight(*shape), quant_type="nf4")
            factors = made.tensors["absmax"].repeat(64)[:made.weight.size].reshape(shape)
            self.same(made.weight, values[made.tensors["indices"]] * factors)

    def test_bits_are_counted(self):
        weight = self.weight(64, 256)  # 256 blocks of 64
        self.assertEqual(self.quantized("bitsandbytes_4bit", weight).bits_per_weight, 4 + 32 / 64)
        double = self.quantized("bitsandbytes_4bit", weight, compress_statistics=True)
        self.assertEqual(double.bits_per_weight, 4 + (8 + 64 / 256) / 64)
        self.assertEqual(self.quantized("bitsandbytes_int8", weight).bits_per_weight, 8 + 32 / 256)

    def test_int8_is_that_of_the_packages_parameters(self):
        import torch
        from bitsandbytes.nn import Int8Params
        weight = self.weight(16, 96)
        held = Int8Params(torch.tensor(weight), requires_grad=False).to("cpu")
        made = self.quantized("bitsandbytes_int8", weight)
        self.same(made.codes - 128, held.CB.numpy())
        self.stands_for(made)

    def test_zeros_stay_zeros(self):
        zeros = 0 * self.weight(8, 64)
        four, eight = "bitsandbytes_4bit", "bitsandbytes_int8"
        for name, given in ((four, {"quant_type": "nf4"}), (four, {"quant_type": "fp4"}), (eight, {})):
            self.assertFalse(self.quantized(name, zeros, **given).weight.any(), name)


class GptqmodelTest(PackageTest):
    package = "gptqmodel"

    def setUp(self):
        import numpy
        random = numpy.random.default_rng(2)
        self.rows = (random.standard_normal((256, 16)) @ random.standard_normal((16, 64))
                     + 0.3 * random.standard_normal((256, 64))).astype("f4")
        self.gram = self.rows.astype("f8").T @ self.rows

    def gptq(self, weight, **given):
        return self.quantized("gptqmodel_package", weight, gram=self.gram, rows=256.0, **{"group_size": 32, **given})

    def own(self, weight, **given):
        """The package's solver with rows in place of a Gram matrix."""
        import torch
        from gptqmodel import QuantizeConfig
        from gptqmodel.quantization.gptq import GPTQ
        layer = torch.nn.Linear(64, len(weight), bias=False)
        layer.weight.data = torch.tensor(weight)
        task = GPTQ(layer, QuantizeConfig(bits=4, group_size=32, offload_to_disk=False, **given))
        task.quantizer.configure(perchannel=True)
        with torch.inference_mode():
            task.add_batch(torch.tensor(self.rows)[None], None, batch_index=0)
            return task.quantize()

    def test_defaults_are_the_packages(self):
        from gptqmodel import QuantizeConfig
        config = QuantizeConfig(offload_to_disk=False)
        for name, value in PARAMETERS["gptqmodel_package"].items():
            self.assertEqual(getattr(config, name), True if name == "act_group_aware" else value, name)

    def test_it_gives_what_the_solver_gives_of_the_rows(self):
        weight = self.weight(24, 64)
        for given in ({}, {"act_group_aware": False}, {"desc_act": True}, {"sym": False, "act_group_aware": False},
                      {"static_groups": True, "act_group_aware": False}):
            with self.subTest(**given):
                made, (wanted, scales, _, groups, *_) = self.gptq(weight, **given), self.own(weight, **given)
                # float32 sums of the rows differ from ours in the last bits: a code near the middle of two may turn.
                self.assertLess((abs(made.weight - wanted.numpy()) > 1e-6).mean(), 0.02)
                self.same(made.g_idx, groups.numpy())
                self.stands_for(made)

    def test_without_correlations_it_rounds_to_nearest(self):
        import numpy
        weight, self.gram = self.weight(24, 64), 256.0 * numpy.eye(64)
        made = self.gptq(weight, act_group_aware=False)
        steps = made.scales[:, made.g_idx]
        self.assertLessEqual((abs(made.weight - weight) / steps).max(), 0.5 + 1e-5)
        self.assertLess(self.gptq(weight).numbers["damp"], 0.051)

    def test_bits_are_counted(self):
        weight = self.weight(24, 64)
        self.assertEqual(self.gptq(weight).bits_per_weight, 4 + 16 / 32)
        self.assertEqual(self.gptq(weight, sym=False).bits_per_weight, 4 + 20 / 32)
        self.assertEqual(self.gptq(weight, desc_act=True).bits_per_weight, 4 + 16 / 32 + 32 / 24)

    def test_a_hessian_beyond_damping_is_an_error(self):
        self.gram = -self.gram
        with self.assertRaisesRegex(Exception, "layer: the Hessian is not positive definite"):
            self.gptq(self.weight(8, 64), damp_auto_increment=0.0)


if __name__ == "__main__":
    unittest.main()
