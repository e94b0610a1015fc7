// noise: adds to each group of a row a random vector with the norm of the group's rounding error on
// a grid (shared/grid/grid.hpp). Rounding errors are small if weights are easy to quantize. If the
// loss grows while the norm does not, the loss surface has become sharper.
#include "quantizers/noise/noise.hpp"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/placed_group.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/noise/device/add_noise_by_kernel.hpp"
#include "quantizers/noise/group_noise.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;
constexpr int64_t kDrawn = int64_t{1} << 20;  // values of noise on their way to a device

// Uniform in (0, 1), with 53 bits.
double unit(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// `count` values of mean 0 from position `row` of the linear's stream. Their variance is arbitrary,
// because they are scaled afterwards.
std::vector<double> draw_row(const std::string& stream, bool gaussian, int64_t row, int64_t count) {
  const auto even = static_cast<uint64_t>(count + count % 2);
  const std::vector<uint64_t> bits =
      kit::random_uniform(stream, static_cast<uint64_t>(row) * even, even);
  std::vector<double> values(even);
  for (size_t i = 0; i < even; i += 2) {
    const double a = unit(bits[i]);
    const double b = unit(bits[i + 1]);
    if (gaussian) {  // Box and Muller 1958
      const double radius = std::sqrt(-2 * std::log(a));
      values[i] = radius * std::cos(2 * std::numbers::pi * b);
      values[i + 1] = radius * std::sin(2 * std::numbers::pi * b);
    } else {
      values[i] = 2 * a - 1;
      values[i + 1] = 2 * b - 1;
    }
  }
  return values;
}

template <typename T>
void add_noise(const T* weight, const Coded& rounded, Groups groups, const Noise::Params& params,
               const std::string& stream, T* out) {
  kit::parallel_for(
      static_cast<uint64_t>(rounded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          const std::vector<double> noise =
              draw_row(stream, params.distribution == "gaussian", r, rounded.columns);
          for (int64_t g = 0; g < groups.count; ++g) {
            const int64_t first = g * groups.size;
            const int64_t count = std::min(groups.size, rounded.columns - first);
            const auto grid = static_cast<size_t>(r * groups.count + g);
            const int64_t at = r * rounded.columns + first;
            add_group_noise(weight + at, rounded.codes.data() + at, rounded.scales[grid],
                            rounded.zeros[grid], noise.data() + first, count, params.scale,
                            out + at);
          }
        }
      });
}

[[noreturn]] void refuse_range(const char* name) {
  kit::fail(QUENCH_NUMERICAL, "%s: the range of a row overflows", name);
}

template <typename T>
at::Tensor noisy_on_host(const at::Tensor& weight, Groups groups, GridKind kind,
                         const Noise::Params& params, const std::string& stream, const char* name) {
  const CodedStorage rounded(weight.size(0), weight.size(1), groups);
  round_rows(weight.const_data_ptr<T>(), groups, kind, rounded.view());
  for (const double scale : rounded.view().scales) {
    if (!std::isfinite(scale)) {
      refuse_range(name);
    }
  }
  at::Tensor out = kit::host_empty(weight.sizes(), weight.scalar_type());
  add_noise(weight.const_data_ptr<T>(), rounded.view(), groups, params, stream, out.data_ptr<T>());
  return out;
}

// The noise of `count` rows from row `first` on, before it is scaled, in host memory.
at::Tensor draw_rows(const std::string& stream, bool gaussian, int64_t first, int64_t count,
                     int64_t columns) {
  at::Tensor drawn = kit::host_empty({count, columns}, at::kDouble);
  auto* to = drawn.data_ptr<double>();
  kit::parallel_for(static_cast<uint64_t>(count), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      const std::vector<double> noise = draw_row(stream, gaussian, first + r, columns);
      std::copy_n(noise.begin(), columns, to + r * columns);
    }
  });
  return drawn;
}

// Rounds and adds where the weight is. Noise is drawn on the host, whose log and cos every device
// then shares, a slab of rows at a time, so that the host holds no second weight.
at::Tensor noisy_there(const at::Tensor& weight, Groups groups, GridKind kind,
                       const Noise::Params& params, const std::string& stream, const char* name) {
  const CodedThere rounded = round_rows_there(weight, groups, kind);
  if (!matrix::all_finite(rounded.scales)) {
    refuse_range(name);
  }
  at::Tensor out = at::empty_like(weight);
  const int64_t rows = weight.size(0);
  const int64_t most = std::max<int64_t>(1, kDrawn / weight.size(1));
  for (int64_t first = 0; first < rows; first += most) {
    kit::check_cancelled();
    const at::Tensor noise = draw_rows(stream, params.distribution == "gaussian", first,
                                       std::min(most, rows - first), weight.size(1));
    add_noise_by_kernel(weight, rounded, groups, noise.to(weight.device()), first, params.scale,
                        out);
  }
  if (!matrix::all_finite(out)) {  // nothing else looks at what stays on a device
    kit::fail(QUENCH_NUMERICAL, "%s: the weight with its noise is not finite", name);
  }
  return out;
}

at::Tensor noisy(const at::Tensor& weight, Groups groups, GridKind kind,
                 const Noise::Params& params, const char* name) {
  const std::string stream = std::string(name) + "/" + std::to_string(params.draw);
  if (!matrix::on_host(weight)) {
    return noisy_there(weight, groups, kind, params, stream, name);
  }
  return weight.scalar_type() == at::kDouble
             ? noisy_on_host<double>(weight, groups, kind, params, stream, name)
             : noisy_on_host<float>(weight, groups, kind, params, stream, name);
}

}  // namespace

void Noise::Params::describe(kit::Fields<Params>& fields) {
  fields.add("distribution", &Params::distribution, "distribution of the noise before it is scaled")
      .choices("gaussian|uniform");
  fields
      .add("bits", &Params::bits,
           "bits of the grid whose rounding error sets the norm of the noise")
      .range(2, 8);
  fields
      .add("group_size", &Params::group_size,
           "columns of a row in which noise and rounding error have equal norm; -1: the whole row")
      .at_least(-1);
  fields.add("sym", &Params::sym, "whether that grid is symmetric around zero");
  fields
      .add("mse", &Params::mse,
           "of that grid: exponent of the error that chooses the best of 80 clipped ranges; "
           "0: the full range")
      .range(0, 8);
  fields
      .add("scale", &Params::scale, "norm of the noise, as a multiple of the rounding error's norm")
      .range(0, 1000);
  fields.add("draw", &Params::draw, "index of the random draw under the run's seed").at_least(0);
  kit::add_modules(fields);
}

Noise::Noise(const Params& params) : params_(params), rules_(params.modules) {
  kit::check_group_size("noise", params.group_size);
}

std::unique_ptr<kit::QuantizerGroup> Noise::begin(const quench_group_args& group) {
  return std::make_unique<PlacedGroup>(group);
}

// The rounding whose error the noise is as long as, and the sum of weight and noise; on a device
// also the noise of some rows.
kit::GroupMemory Noise::memory(const kit::GroupShapes& shapes) const {
  const uint64_t weights = shapes.largest_weight();
  kit::GroupMemory out;
  out.linear =
      coded_bytes(weights, shapes.in_features, groups_of(shapes.in_features, params_.group_size)) +
      weights * (shapes.weight_dtype.bits / 8);
  if (shapes.on_device) {
    out.linear += std::min(weights, static_cast<uint64_t>(kDrawn)) * sizeof(double);
  }
  return out;
}

void Noise::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                     kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  const at::Tensor weight = weight_on(linear, static_cast<PlacedGroup&>(group).device());
  const ModuleSetting setting = rules_.setting_of(
      linear.info.name, {{params_.bits, params_.sym, params_.mse}, params_.group_size, false});
  if (setting.skip) {
    keep_float(weight, linear, sink);
    return;
  }
  const Groups groups = groups_of(weight.size(1), setting.group_size);
  kit::borrow(linear.dequantized)
      .copy_(noisy(weight, groups, setting.kind, params_, linear.info.name));
  sink.number("bits", static_cast<double>(setting.kind.bits));
  // Noise has no size on disk, so it reports the size of the grid that it imitates.
  const CodedStorage imitated(1, weight.size(1), groups);
  sink.number("bits_per_weight", bits_per_weight(imitated.view(), setting.kind, false));
}

}  // namespace quench::quantizers

QUENCH_MODULE(
    "quench.noise", "0.1.0",
    quench::kit::quantizer<quench::quantizers::Noise>(
        {.id = "noise",
         .version = "0.1.0",
         .summary = "Adds noise with the norm, group by group, of the error of rounding to "
                    "nearest: a control, not a method.",
         .example = "{bits: 4, group_size: 128}"}))
