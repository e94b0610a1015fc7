#include "core/checkpoint/packed/store_linear.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/packed/gptq_zeros.hpp"
#include "core/checkpoint/packed/packed_codes.hpp"
#include "core/checkpoint/packed/packed_layouts.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

template <typename T>
PackedTensor tensor_of(std::string name, quench_dtype dtype, std::vector<int64_t> shape,
                       const std::vector<T>& values) {
  PackedTensor out{std::move(name), dtype, std::move(shape), {}};
  out.bytes.resize(values.size() * sizeof(T));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}

// One linear on its way into a format.
class Store {
 public:
  Store(PackedFormat format, const CodedLinear& linear)
      : linear_(linear),
        out_(static_cast<uint64_t>(linear.out)),
        in_(static_cast<uint64_t>(linear.in)),
        groups_(static_cast<uint64_t>(linear.groups)) {
    made_.name = linear.name;
    made_.in = linear.in;
    made_.scheme = scheme_of(format);
    made_.scales = linear.scales.size();
  }

  StoredLinear run() {
    check();
    if (made_.scheme.format == PackedFormat::kBitsandbytesInt8) {
      store_int8();
      return std::move(made_);
    }
    round_scales();
    dequantize();
    if (made_.scheme.format == PackedFormat::kAwqGemm) {
      store_awq();
    } else if (made_.scheme.format == PackedFormat::kCompressedTensors) {
      store_compressed();
    } else {
      store_gptq();
    }
    return std::move(made_);
  }

 private:
  QuantizationConfig scheme_of(PackedFormat format) const {
    QuantizationConfig scheme;
    scheme.format = format;
    scheme.bits = linear_.bits;
    const auto middle = static_cast<double>(int64_t{1} << (linear_.bits - 1));
    scheme.symmetric = std::all_of(linear_.zeros.begin(), linear_.zeros.end(),
                                   [&](double zero) { return zero == middle; });
    if (linear_.groups > 1) {
      scheme.group_size = (linear_.in + linear_.groups - 1) / linear_.groups;
      for (int64_t c = 0; c < linear_.in; ++c) {
        scheme.ordered =
            scheme.ordered || linear_.g_idx[static_cast<size_t>(c)] != c / scheme.group_size;
      }
    }
    return scheme;
  }

  void check() const {
    const QuantizationConfig& s = made_.scheme;
    std::string fault = scheme_fault(s.format, s.bits, s.group_size, s.symmetric, s.ordered);
    if (fault.empty()) {
      fault = shape_fault(s.format, s.bits, s.group_size, linear_.out, linear_.in);
    }
    if (!fault.empty()) {
      fail(QUENCH_UNSUPPORTED, "{}: {}", linear_.name, fault);
    }
    const auto largest = static_cast<double>((int64_t{1} << linear_.bits) - 1);
    for (const double zero : linear_.zeros) {
      if (zero != std::rint(zero) || zero < 0 || zero > largest) {
        fail(QUENCH_UNSUPPORTED, "{}: zero point {}, formats hold integers of 0 to {}",
             linear_.name, zero, largest);
      }
    }
  }

  void round_scales() {
    halves_.resize(linear_.scales.size());
    scales_.resize(linear_.scales.size());
    std::vector<double> back(linear_.scales.size());
    from_float64(linear_.scales.data(), halves_.size(), kFloat16, halves_.data());
    to_float64(kFloat16, halves_.data(), halves_.size(), back.data());
    for (size_t i = 0; i < back.size(); ++i) {
      const double scale = linear_.scales[i];
      if (!std::isfinite(back[i])) {
        fail(QUENCH_NUMERICAL, "{}: scale {} of row {} is beyond float16", linear_.name, scale,
             i / groups_);
      }
      note_change(scale, back[i]);
      scales_[i] = static_cast<float>(back[i]);
    }
  }

  void note_change(double before, double after) {
    if (before != after) {
      ++made_.rounded_scales;
      made_.largest_change = std::max(made_.largest_change, std::fabs(after - before) / before);
    }
  }

  void dequantize() {
    made_.weight.resize(out_ * in_);
    for (uint64_t r = 0; r < out_; ++r) {
      for (uint64_t c = 0; c < in_; ++c) {
        const uint64_t at = r * groups_ + static_cast<uint64_t>(linear_.g_idx[c]);
        made_.weight[r * in_ + c] = scales_[at] * (static_cast<float>(linear_.codes[r * in_ + c]) -
                                                   static_cast<float>(linear_.zeros[at]));
      }
    }
  }

  // [groups, out] out of [out, groups].
  template <typename T, typename From>
  std::vector<T> by_group(std::span<const From> values) const {
    std::vector<T> out(values.size());
    for (uint64_t r = 0; r < out_; ++r) {
      for (uint64_t g = 0; g < groups_; ++g) {
        out[g * out_ + r] = static_cast<T>(values[r * groups_ + g]);
      }
    }
    return out;
  }

  void store_gptq() {
    const uint64_t down = words_for(in_, linear_.bits, CodeOrder::kStream);
    std::vector<uint32_t> words(down * out_);
    for (uint64_t r = 0; r < out_; ++r) {
      pack_codes(linear_.codes.data() + r * in_, 1, in_, linear_.bits, CodeOrder::kStream,
                 words.data() + r, out_);
    }
    add("qweight", kInt32, {down, out_}, words);
    const uint64_t across = words_for(out_, linear_.bits, CodeOrder::kStream);
    const std::vector<uint8_t> zeros = by_group<uint8_t>(linear_.zeros);
    std::vector<uint32_t> packed(groups_ * across);
    for (uint64_t g = 0; g < groups_; ++g) {
      encode_gptq_zeros(std::span(zeros).subspan(g * out_, out_),
                        made_.scheme.format == PackedFormat::kGptq, linear_.bits,
                        packed.data() + g * across);
    }
    add("qzeros", kInt32, {groups_, across}, packed);
    add("scales", kFloat16, {groups_, out_},
        by_group<uint16_t>(std::span<const uint16_t>(halves_)));
    add("g_idx", kInt32, {in_}, std::vector<int32_t>(linear_.g_idx.begin(), linear_.g_idx.end()));
  }

  void store_awq() {
    std::vector<uint32_t> words(in_ * out_ / 8);
    for (uint64_t c = 0; c < in_; ++c) {
      pack_codes(linear_.codes.data() + c, in_, out_, 4, CodeOrder::kAwq,
                 words.data() + c * (out_ / 8), 1);
    }
    add("qweight", kInt32, {in_, out_ / 8}, words);
    const std::vector<uint8_t> zeros = by_group<uint8_t>(linear_.zeros);
    std::vector<uint32_t> packed(groups_ * out_ / 8);
    for (uint64_t g = 0; g < groups_; ++g) {
      pack_codes(zeros.data() + g * out_, 1, out_, 4, CodeOrder::kAwq,
                 packed.data() + g * (out_ / 8), 1);
    }
    add("qzeros", kInt32, {groups_, out_ / 8}, packed);
    add("scales", kFloat16, {groups_, out_},
        by_group<uint16_t>(std::span<const uint16_t>(halves_)));
  }

  void store_compressed() {
    const uint64_t across = words_for(in_, linear_.bits, CodeOrder::kPadded);
    std::vector<uint32_t> words(out_ * across);
    for (uint64_t r = 0; r < out_; ++r) {
      pack_codes(linear_.codes.data() + r * in_, 1, in_, linear_.bits, CodeOrder::kPadded,
                 words.data() + r * across, 1);
    }
    add("weight_packed", kInt32, {out_, across}, words);
    add("weight_scale", kFloat16, {out_, groups_}, halves_);
    add("weight_shape", kInt64, {2}, std::vector<int64_t>{linear_.out, linear_.in});
    add("weight_g_idx", kInt32, {in_},
        std::vector<int32_t>(linear_.g_idx.begin(), linear_.g_idx.end()));
    if (!made_.scheme.symmetric) {
      const uint64_t down = words_for(out_, linear_.bits, CodeOrder::kPadded);
      const std::vector<uint8_t> zeros = by_group<uint8_t>(linear_.zeros);
      std::vector<uint32_t> packed(down * groups_);
      for (uint64_t g = 0; g < groups_; ++g) {
        pack_codes(zeros.data() + g * out_, 1, out_, linear_.bits, CodeOrder::kPadded,
                   packed.data() + g, groups_);
      }
      add("weight_zero_point", kInt32, {down, groups_}, packed);
    }
  }

  void store_int8() {
    std::vector<int8_t> codes(linear_.codes.size());
    std::vector<float> scales(out_);
    made_.weight.resize(codes.size());
    constexpr double kSteps = 127;
    for (uint64_t r = 0; r < out_; ++r) {
      scales[r] = static_cast<float>(linear_.scales[r] * kSteps);
      if (!std::isfinite(scales[r])) {
        fail(QUENCH_NUMERICAL, "{}: scale {} of row {} is beyond float32", linear_.name,
             linear_.scales[r], r);
      }
      note_change(linear_.scales[r], static_cast<double>(scales[r]) / kSteps);
      for (uint64_t i = r * in_; i < (r + 1) * in_; ++i) {
        codes[i] = static_cast<int8_t>(linear_.codes[i] - static_cast<int>(linear_.zeros[r]));
        made_.weight[i] = static_cast<float>(codes[i]) * scales[r] * kInt8Unit;
      }
    }
    add("weight", kInt8, {out_, in_}, codes);
    add("SCB", kFloat32, {out_}, scales);
    add("weight_format", kUInt8, {}, std::vector<uint8_t>{0});
  }

  template <typename T>
  void add(const char* part, quench_dtype dtype, const std::vector<uint64_t>& shape,
           const std::vector<T>& values) {
    made_.tensors.push_back(tensor_of(linear_.name + "." + part, dtype,
                                      std::vector<int64_t>(shape.begin(), shape.end()), values));
  }

  const CodedLinear& linear_;
  uint64_t out_;
  uint64_t in_;
  uint64_t groups_;
  StoredLinear made_;
  std::vector<uint16_t> halves_;  // [out, groups]
  std::vector<float> scales_;     // [out, groups]
};

}  // namespace

StoredLinear store_linear(PackedFormat format, const CodedLinear& linear) {
  return Store(format, linear).run();
}

}  // namespace quench
