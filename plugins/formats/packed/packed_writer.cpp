#include "formats/packed/packed_writer.hpp"

#include <algorithm>
#include <cmath>

#include "formats/shared/failure.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::formats {

namespace {

size_t count_of(int64_t a, int64_t b) {
  return static_cast<size_t>(a) * static_cast<size_t>(b);
}

}  // namespace

Scheme scheme_from(const quench_code_scheme& scheme) {
  return {scheme.bits, scheme.group_size, scheme.symmetric != 0, scheme.ordered != 0, "", ""};
}

Scheme scheme_of(const quench_coded_linear& linear) {
  Scheme out;
  out.bits = linear.bits;
  const auto middle = static_cast<double>(int64_t{1} << (linear.bits - 1));
  const double* zeros_end = linear.zeros + count_of(linear.out, linear.groups);
  out.symmetric = std::all_of(linear.zeros, zeros_end, [&](double zero) { return zero == middle; });
  if (linear.groups > 1) {
    std::vector<int64_t> columns(static_cast<size_t>(linear.groups));
    for (int64_t c = 0; c < linear.in; ++c) {
      ++columns[static_cast<size_t>(linear.g_idx[c])];
    }
    out.group_size = *std::max_element(columns.begin(), columns.end());  // the last may be short
    for (int64_t c = 0; c < linear.in; ++c) {
      out.ordered = out.ordered || linear.g_idx[c] != c / out.group_size;
    }
  }
  return out;
}

void note_change(quench_stored_linear& stored, double before, double after) {
  if (before != after) {
    ++stored.rounded_scales;
    stored.largest_change = std::max(stored.largest_change, std::fabs(after - before) / before);
  }
}

HalfScales round_scales(const quench_coded_linear& linear, quench_stored_linear& stored) {
  const size_t count = count_of(linear.out, linear.groups);
  HalfScales out{std::vector<uint16_t>(count), std::vector<float>(count)};
  for (size_t i = 0; i < count; ++i) {
    out.bits[i] = kit::to_half(linear.scales[i]);
    out.values[i] = kit::from_half(out.bits[i]);
    if (!std::isfinite(out.values[i])) {
      fail(QUENCH_NUMERICAL, "{}: scale {} of row {} is beyond float16", linear.name,
           linear.scales[i], i / static_cast<size_t>(linear.groups));
    }
    note_change(stored, linear.scales[i], out.values[i]);
  }
  return out;
}

void dequantize(const quench_coded_linear& linear, const HalfScales& scales,
                std::span<float> weight) {
  for (int64_t r = 0; r < linear.out; ++r) {
    for (int64_t c = 0; c < linear.in; ++c) {
      const int64_t at = r * linear.groups + linear.g_idx[c];
      const auto element = static_cast<size_t>(r * linear.in + c);
      weight[element] =
          scales.values[static_cast<size_t>(at)] *
          (static_cast<float>(linear.codes[element]) - static_cast<float>(linear.zeros[at]));
    }
  }
}

void PackedWriter::store(const quench_coded_linear& linear, const kit::FormatSink& sink,
                         std::span<float> weight, quench_stored_linear& stored) {
  const Scheme scheme = scheme_of(linear);
  if (const std::string why = fault(scheme, linear.out, linear.in); !why.empty()) {
    fail(QUENCH_UNSUPPORTED, "{}: {}", linear.name, why);
  }
  if (linear.groups > 1 && groups_of(scheme.group_size, linear.in) != linear.groups) {
    fail(QUENCH_UNSUPPORTED,
         "{}: {} groups of up to {} columns for {}; formats hold groups of one size", linear.name,
         linear.groups, scheme.group_size, linear.in);
  }
  const auto largest = static_cast<double>((int64_t{1} << linear.bits) - 1);
  const size_t count = count_of(linear.out, linear.groups);
  for (size_t i = 0; i < count; ++i) {
    const double zero = linear.zeros[i];
    if (zero != std::rint(zero) || zero < 0 || zero > largest) {
      fail(QUENCH_UNSUPPORTED, "{}: zero point {}, formats hold integers of 0 to {}", linear.name,
           zero, largest);
    }
  }
  stored.scales = count;
  put(linear, scheme, sink, weight, stored);
  linears_.push_back({linear.name, linear.in, scheme});
}

void PackedWriter::finish(const kit::FloatLinears& left, const kit::FormatSink& sink) {
  const Scheme scheme = common_scheme();
  complete(scheme, linears_, left, sink);
  sink.quantization(scheme_json(scheme));
}

Scheme PackedWriter::common_scheme() const {
  if (linears_.empty()) {
    fail(QUENCH_UNSUPPORTED, "no linear was quantized to codes");
  }
  Scheme out = linears_.front().scheme;
  const Stored* sized = nullptr;  // that tells the size of groups
  for (const Stored& linear : linears_) {
    if (linear.scheme.bits != out.bits || linear.scheme.symmetric != out.symmetric) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ in their grids ({} and {} bits); {} holds one",
           linears_.front().name, linear.name, out.bits, linear.scheme.bits, format_);
    }
    out.ordered = out.ordered || linear.scheme.ordered;
    if (linear.scheme.group_size != -1 && sized == nullptr) {
      sized = &linear;
    }
  }
  out.group_size = sized == nullptr ? -1 : sized->scheme.group_size;
  for (const Stored& linear : linears_) {
    const int64_t size = linear.scheme.group_size;
    if (sized != nullptr && size != out.group_size && (size != -1 || linear.in > out.group_size)) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ in their groups; {} holds one size", sized->name,
           linear.name, format_);
    }
  }
  return out;
}

}  // namespace quench::formats
