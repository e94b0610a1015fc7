// hqq: groups along the input columns; scale and zero are stored as float16. The published code
// stops when the mean error of a whole weight no longer falls; here each group stops on its own, so
// that its result depends only on its own weights.
#include "quantizers/hqq/hqq.hpp"

#include <algorithm>

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/placed_group.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/hqq/device/solve_by_kernel.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 8;

template <typename T>
void code_rows(const T* weight, Groups groups, int64_t bits, const HalfQuadratic& options,
               const Coded& coded) {
  const double max_code = GridKind{bits, false}.max_code();
  kit::parallel_for(
      static_cast<uint64_t>(coded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          for (int64_t g = 0; g < groups.count; ++g) {
            const int64_t first = r * coded.columns + g * groups.size;
            const int64_t last = std::min(first + groups.size, (r + 1) * coded.columns);
            const Grid grid =
                solve_group<T>({weight + first, static_cast<size_t>(last - first)}, bits, options);
            for (int64_t i = first; i < last; ++i) {
              coded.codes[static_cast<size_t>(i)] = static_cast<uint8_t>(
                  half_quadratic_code(static_cast<double>(weight[i]), grid, max_code));
            }
            coded.scales[static_cast<size_t>(r * groups.count + g)] = grid.scale;
            coded.zeros[static_cast<size_t>(r * groups.count + g)] = grid.zero;
          }
        }
      });
}

}  // namespace

void Hqq::Params::describe(kit::Fields<Params>& fields) {
  kit::add_bits(fields, "nbits");
  kit::add_group_size(fields);
  fields
      .add("exponent", &Params::exponent,
           "exponent p of the errors whose sum is minimized (lp_norm)")
      .range(0.1, 1);
  fields.add("beta", &Params::beta, "initial weight of the auxiliary error").range(1e-3, 1e6);
  fields.add("kappa", &Params::kappa, "factor on beta after each iteration").range(1, 10);
  fields
      .add("iterations", &Params::iterations,
           "most iterations (iters); 0: only the grid of the extremes")
      .range(0, 1000);
  kit::add_modules(fields);
  fields.add("lm_head", &Params::lm_head, "also quantize the output head, unless it is tied");
  fields.add("embedding", &Params::embedding, "also quantize the token embedding");
}

Hqq::Hqq(const Params& params) : params_(params), rules_(params.modules) {
  kit::check_group_size("hqq", params.group_size);
}

uint32_t Hqq::needs() const {
  return QUENCH_TAKES_DEVICE_WEIGHTS | (params_.lm_head ? QUENCH_QUANTIZES_HEAD : 0u) |
         (params_.embedding ? QUENCH_QUANTIZES_EMBEDDING : 0u);
}

std::unique_ptr<kit::QuantizerGroup> Hqq::begin(const quench_group_args& group) {
  return std::make_unique<PlacedGroup>(group);
}

kit::GroupMemory Hqq::memory(const kit::GroupShapes& shapes) const {
  kit::GroupMemory out;
  out.linear = coded_bytes(shapes.largest_weight(), shapes.in_features,
                           groups_of(shapes.in_features, params_.group_size));
  return out;
}

void Hqq::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  const at::Tensor weight = weight_on(linear, static_cast<PlacedGroup&>(group).device());
  const ModuleSetting setting =
      rules_.setting_of(linear.info.name, {{params_.bits, false}, params_.group_size, false});
  kit::expects(!setting.kind.sym, "hqq: modules: sym=true is not possible with this method");
  if (setting.skip) {
    keep_float(weight, linear, sink);
    return;
  }
  const Groups groups = groups_of(weight.size(1), setting.group_size);
  const HalfQuadratic options{params_.exponent, params_.beta, params_.kappa, params_.iterations};
  if (stays_on_device(linear) && !matrix::on_host(weight)) {
    dequantize_on_device(solve_by_kernel(weight, groups, setting.kind.bits, options), groups,
                         kit::borrow(linear.dequantized), linear.info.name);
  } else {
    const Coded coded = make_coded(sink, weight.size(0), weight.size(1), groups.count);
    fill_group_index(coded, groups);
    if (!matrix::on_host(weight)) {
      take(solve_by_kernel(weight, groups, setting.kind.bits, options), coded);
    } else if (weight.scalar_type() == at::kDouble) {
      code_rows(weight.const_data_ptr<double>(), groups, setting.kind.bits, options, coded);
    } else {
      code_rows(weight.const_data_ptr<float>(), groups, setting.kind.bits, options, coded);
    }
    dequantize(coded, linear.dequantized, linear.info.name);
  }
  const double halves = 32.0 * static_cast<double>(groups.count);
  sink.number("bits", static_cast<double>(setting.kind.bits));
  sink.number("bits_per_weight", static_cast<double>(setting.kind.bits) +
                                     halves / static_cast<double>(weight.size(1)));
}

}  // namespace quench::quantizers

QUENCH_MODULE(
    "quench.hqq", "0.1.0",
    quench::kit::quantizer<quench::quantizers::Hqq>(
        {.id = "hqq",
         .version = "0.1.0",
         .summary = "Searches each group's zero point without data, so that large errors "
                    "become fewer rather than smaller.",
         .reference = "Badri and Shaji 2023, Half-Quadratic Quantization of Large Machine "
                      "Learning Models, equations 4 to 6",
         .example = "{bits: 4, group_size: 64}"}))
