#include "metrics/shared/weight_swap.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/source.hpp"

namespace quench::metrics {

namespace {

quench_tensor view_of(const quench_parameter_info& parameter, const std::vector<char>& values,
                      quench_dtype dtype) {
  return {const_cast<char*>(values.data()),
          {QUENCH_DEVICE_CPU, 0},
          parameter.dimensions,
          dtype,
          parameter.shape,
          nullptr,
          0};
}

uint64_t elements_of(const quench_parameter_info& parameter) {
  uint64_t out = 1;
  for (int32_t d = 0; d < parameter.dimensions; ++d) {
    out *= static_cast<uint64_t>(parameter.shape[d]);
  }
  return out;
}

// The common prefix of the names in a block, up to a dot: the names of its linears have it.
std::string prefix_of(const quench_block_info& block) {
  std::string prefix;
  bool first = true;
  for (uint32_t g = 0; g < block.group_count; ++g) {
    for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
      const std::string name = block.groups[g].linears[l].weight;
      if (first) {
        prefix = name;
        first = false;
      }
      const auto differs = std::mismatch(prefix.begin(), prefix.end(), name.begin(), name.end());
      prefix.erase(differs.first, prefix.end());
    }
  }
  return prefix.substr(0, prefix.rfind('.') + 1);
}

std::vector<char> read(const kit::Source& source, const quench_parameter_info& parameter,
                       quench_dtype dtype) {
  const auto index = source.find(parameter.name);
  if (!index) {
    kit::fail(QUENCH_NOT_FOUND, "the float weights have no %s", parameter.name);
  }
  if (!kit::same(source.info(*index).dtype, dtype)) {
    kit::fail(QUENCH_INTERNAL, "float weights: %s: got %s, wanted %s", parameter.name,
              kit::name_of(source.info(*index).dtype).c_str(), kit::name_of(dtype).c_str());
  }
  const uint64_t count = elements_of(parameter);
  std::vector<char> out(count * static_cast<uint64_t>(kit::bytes_of(dtype)));
  source.read(*index, 0, count, out.data());
  return out;
}

template <typename T>
double relative_error(const std::vector<char>& quantized, const std::vector<char>& floating) {
  const size_t count = quantized.size() / sizeof(T);
  const auto* q = reinterpret_cast<const T*>(quantized.data());
  const auto* f = reinterpret_cast<const T*>(floating.data());
  double difference = 0;
  double size = 0;
  for (size_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(q[i]) - static_cast<double>(f[i]);
    difference += d * d;
    size += static_cast<double>(f[i]) * static_cast<double>(f[i]);
  }
  return size > 0 ? std::sqrt(difference / size) : 0;
}

}  // namespace

WeightSwap::WeightSwap(const quench_subject& subject, const quench_weights& floating)
    : subject_(subject) {
  quench_error error{sizeof error, 0, {}};
  quench_model_info info{};
  info.struct_size = sizeof info;
  kit::check(subject.table->info(subject.model, &info, &error), error);
  dtype_ = kit::same(info.dtype, kit::kFloat64) ? kit::kFloat64 : kit::kFloat32;
  std::vector<std::string> prefixes;
  for (uint32_t b = 0; b < info.blocks; ++b) {
    const quench_block_info* block = nullptr;
    kit::check(subject.table->block(subject.model, b, &block, &error), error);
    prefixes.push_back(prefix_of(*block));
  }
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  kit::check(subject.table->parameters(subject.model, &parameters, &count, &error), error);
  const kit::Source source(*floating.source);
  for (const quench_parameter_info& parameter : std::span(parameters, count)) {
    Changed entry{&parameter, kOutside, {}, read(source, parameter, dtype_)};
    entry.quantized.resize(entry.floating.size());
    const quench_tensor to = view_of(parameter, entry.quantized, dtype_);
    kit::check(subject.table->weight_get(subject.model, parameter.name, &to, &error), error);
    if (entry.quantized == entry.floating) {
      continue;
    }
    for (size_t b = 0; b < prefixes.size(); ++b) {
      if (!prefixes[b].empty() && std::string(parameter.name).starts_with(prefixes[b])) {
        entry.block = static_cast<int64_t>(b);
      }
    }
    changed_.push_back(std::move(entry));
  }
}

WeightSwap::~WeightSwap() {
  for (Changed& changed : changed_) {
    if (changed.is_floating) {
      quench_error error{sizeof error, 0, {}};
      const quench_tensor value = view_of(*changed.parameter, changed.quantized, dtype_);
      subject_.table->weight_set(subject_.model, changed.parameter->name, &value, &error);
    }
  }
}

void WeightSwap::put(Changed& changed, bool floating) {
  quench_error error{sizeof error, 0, {}};
  const quench_tensor value =
      view_of(*changed.parameter, floating ? changed.floating : changed.quantized, dtype_);
  kit::check(subject_.table->weight_set(subject_.model, changed.parameter->name, &value, &error),
             error);
  changed.is_floating = floating;
}

void WeightSwap::set(int64_t block, bool floating) {
  for (Changed& changed : changed_) {
    if (changed.block == block && changed.is_floating != floating) {
      put(changed, floating);
    }
  }
}

bool WeightSwap::changes(int64_t block) const {
  return std::any_of(changed_.begin(), changed_.end(),
                     [&](const Changed& changed) { return changed.block == block; });
}

std::vector<WeightSwap::Error> WeightSwap::errors() const {
  std::vector<Error> out;
  for (const Changed& changed : changed_) {
    out.push_back({changed.parameter->name,
                   kit::same(dtype_, kit::kFloat64)
                       ? relative_error<double>(changed.quantized, changed.floating)
                       : relative_error<float>(changed.quantized, changed.floating)});
  }
  return out;
}

}  // namespace quench::metrics
