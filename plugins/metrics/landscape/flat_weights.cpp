#include "metrics/landscape/flat_weights.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/source.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

std::span<const quench_parameter_info> parameters_of(const quench_model_table& table,
                                                     const quench_model* model) {
  const quench_parameter_info* list = nullptr;
  uint64_t count = 0;
  quench_error error{sizeof error, 0, {}};
  kit::check(table.parameters(model, &list, &count, &error), error);
  return {list, count};
}

uint64_t elements_of(const quench_parameter_info& parameter) {
  uint64_t out = 1;
  for (int32_t d = 0; d < parameter.dimensions; ++d) {
    out *= static_cast<uint64_t>(parameter.shape[d]);
  }
  return out;
}

// A parameter's part of a flat vector, as it is shaped.
template <typename T>
quench_tensor part_of(std::span<const T> flat, const quench_parameter_info& parameter,
                      quench_device device) {
  return {const_cast<T*>(flat.data()) + parameter.offset,
          device,
          parameter.dimensions,
          kit::dtype_of<T>(),
          parameter.shape,
          nullptr,
          0};
}

template <typename T, typename Convert>
void widen(const std::vector<char>& raw, uint64_t count, double* out, Convert convert) {
  const auto* stored = reinterpret_cast<const T*>(raw.data());
  std::transform(stored, stored + count, out, convert);
}

// Converts float values of any width to float64.
void to_double(quench_dtype dtype, const std::vector<char>& raw, uint64_t count, double* out) {
  const auto same = [](auto value) { return static_cast<double>(value); };
  if (kit::same(dtype, kit::kFloat32)) {
    widen<float>(raw, count, out, same);
  } else if (kit::same(dtype, kit::kFloat64)) {
    widen<double>(raw, count, out, same);
  } else if (kit::same(dtype, kit::kFloat16)) {
    widen<uint16_t>(raw, count, out, [](uint16_t bits) { return kit::from_half(bits); });
  } else {
    widen<uint16_t>(raw, count, out, [](uint16_t bits) { return kit::from_bfloat(bits); });
  }
}

bool is_float(quench_dtype dtype) {
  return dtype.code == QUENCH_DTYPE_FLOAT || kit::same(dtype, kit::kBFloat16);
}

class Stored final : public FlatWeights {
 public:
  Stored(std::span<const quench_parameter_info> parameters, const quench_weights& weights)
      : source_(*weights.source) {
    for (const quench_parameter_info& parameter : parameters) {
      const uint64_t index = find(parameter, weights.name);
      const quench_tensor_info info = source_.info(index);
      const std::vector<int64_t> wanted(parameter.shape, parameter.shape + parameter.dimensions);
      const std::vector<int64_t> got(info.shape, info.shape + info.dimensions);
      if (wanted != got || !is_float(info.dtype)) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s: %s %s, wanted floats %s", weights.name,
                  parameter.name, kit::name_of(info.dtype).c_str(), kit::shape_text(got).c_str(),
                  kit::shape_text(wanted).c_str());
      }
      places_.push_back({parameter.offset, index, info.dtype});
    }
  }

  void read(uint64_t first, uint64_t count, double* out) const override {
    const auto after = std::upper_bound(
        places_.begin(), places_.end(), first,
        [](uint64_t element, const Place& place) { return element < place.offset; });
    const Place& place = *(after - 1);
    std::vector<char> raw(count * static_cast<uint64_t>(kit::bytes_of(place.dtype)));
    source_.read(place.index, first - place.offset, count, raw.data());
    to_double(place.dtype, raw, count, out);
  }

 private:
  struct Place {
    uint64_t offset;  // of the parameter in the flat vector
    uint64_t index;   // of its tensor in the source
    quench_dtype dtype;
  };

  uint64_t find(const quench_parameter_info& parameter, const char* where) const {
    if (const auto index = source_.find(parameter.name)) {
      return *index;
    }
    for (uint32_t i = 0; i < parameter.alias_count; ++i) {
      if (const auto index = source_.find(parameter.aliases[i])) {
        return *index;
      }
    }
    kit::fail(QUENCH_NOT_FOUND, "%s has no tensor %s", where, parameter.name);
  }

  kit::Source source_;
  std::vector<Place> places_;
};

template <typename T>
class Current final : public FlatWeights {
 public:
  Current(const quench_model_table& table, quench_model* model) {
    values_.resize(parameter_count(table, model));
    get_weights<T>(table, model, values_, {QUENCH_DEVICE_CPU, 0});
  }
  void read(uint64_t first, uint64_t count, double* out) const override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(first), count, out);
  }

 private:
  std::vector<T> values_;
};

}  // namespace

std::vector<Piece> pieces_of(const quench_model_table& table, quench_model* model,
                             uint64_t longest) {
  std::vector<Piece> out;
  for (const quench_parameter_info& parameter : parameters_of(table, model)) {
    const uint64_t count = elements_of(parameter);
    for (uint64_t first = 0; first < count; first += longest) {
      out.push_back({parameter.offset + first, std::min(longest, count - first)});
    }
  }
  return out;
}

uint64_t parameter_count(const quench_model_table& table, const quench_model* model) {
  const auto parameters = parameters_of(table, model);
  return parameters.empty() ? 0 : parameters.back().offset + elements_of(parameters.back());
}

std::unique_ptr<FlatWeights> stored_weights(const quench_model_table& table, quench_model* model,
                                            const quench_weights& weights) {
  return std::make_unique<Stored>(parameters_of(table, model), weights);
}

std::unique_ptr<FlatWeights> current_weights(const quench_model_table& table, quench_model* model) {
  quench_model_info info{};
  info.struct_size = sizeof info;
  quench_error error{sizeof error, 0, {}};
  kit::check(table.info(model, &info, &error), error);
  if (kit::same(info.dtype, kit::kFloat64)) {
    return std::make_unique<Current<double>>(table, model);
  }
  return std::make_unique<Current<float>>(table, model);
}

template <typename T>
void get_weights(const quench_model_table& table, quench_model* model, std::span<T> flat,
                 quench_device device) {
  for (const quench_parameter_info& parameter : parameters_of(table, model)) {
    const quench_tensor to = part_of<T>(flat, parameter, device);
    quench_error error{sizeof error, 0, {}};
    kit::check(table.weight_get(model, parameter.name, &to, &error), error);
  }
}

template <typename T>
void set_weights(const quench_model_table& table, quench_model* model, std::span<const T> flat,
                 quench_device device) {
  for (const quench_parameter_info& parameter : parameters_of(table, model)) {
    const quench_tensor value = part_of<T>(flat, parameter, device);
    quench_error error{sizeof error, 0, {}};
    kit::check(table.weight_set(model, parameter.name, &value, &error), error);
  }
}
template void get_weights<float>(const quench_model_table&, quench_model*, std::span<float>,
                                 quench_device);
template void get_weights<double>(const quench_model_table&, quench_model*, std::span<double>,
                                  quench_device);
template void set_weights<float>(const quench_model_table&, quench_model*, std::span<const float>,
                                 quench_device);
template void set_weights<double>(const quench_model_table&, quench_model*, std::span<const double>,
                                  quench_device);

}  // namespace quench::metrics
