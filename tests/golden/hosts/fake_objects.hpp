// What a fake host lends to a plugin: structs with a number behind them that must stay, tensors,
// sinks and a source.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/quantizer.h"

namespace quench::golden {

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// function(args..., &error), which must succeed.
template <typename Function, typename... Args>
void call(Function function, Args... args) {
  quench_error error{sizeof error, 0, {}};
  if (function == nullptr) {
    fail(QUENCH_UNSUPPORTED, "a function is NULL");
  }
  if (const quench_status status = function(args..., &error); status != QUENCH_OK) {
    fail(status, "{}", error.message);
  }
}

// A struct of this host's size, all zero but for its size.
template <typename S>
class Guarded {
 public:
  Guarded() { memory_.value.struct_size = sizeof(S); }
  ~Guarded() {
    for (const uint64_t word : memory_.behind) {
      if (word != kBehind) {
        std::printf("a plugin wrote behind the struct of its host\n");
        std::abort();
      }
    }
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  S* get() { return &memory_.value; }
  S* operator->() { return &memory_.value; }
  S& operator*() { return memory_.value; }

 private:
  static constexpr uint64_t kBehind = 0xA5A5A5A5A5A5A5A5u;
  struct {
    S value{};
    uint64_t behind[16] = {kBehind, kBehind, kBehind, kBehind, kBehind, kBehind, kBehind, kBehind,
                           kBehind, kBehind, kBehind, kBehind, kBehind, kBehind, kBehind, kBehind};
  } memory_;
};

// A tensor with the values -0.5, -0.375, ...
template <typename T>
struct Values {
  explicit Values(std::vector<int64_t> of) : shape(std::move(of)) {
    int64_t count = 1;
    for (const int64_t one : shape) {
      count *= one;
    }
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<T>(0.125 * static_cast<double>(i % 11) - 0.5));
    }
    view = {values.data(),
            {QUENCH_DEVICE_CPU, 0},
            static_cast<int32_t>(shape.size()),
            {QUENCH_DTYPE_FLOAT, 8 * sizeof(T), 1},
            shape.data(),
            nullptr,
            0};
  }
  Values(Values&&) = default;
  double sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }

  std::vector<int64_t> shape;
  std::vector<T> values;
  quench_tensor view{};
};

// Takes a quantizer's results.
struct Sink {
  Sink() {
    table->context = this;
    table->tensor = [](void* context, const char*, quench_dtype dtype, int32_t dimensions,
                       const int64_t* shape, quench_tensor* view, quench_error*) noexcept {
      Sink& self = *static_cast<Sink*>(context);
      const std::vector<int64_t>& kept = self.shapes.emplace_back(shape, shape + dimensions);
      int64_t size = dtype.bits / 8;
      for (const int64_t one : kept) {
        size *= one;
      }
      std::vector<char>& room = self.rooms.emplace_back(static_cast<size_t>(size));
      *view = {room.data(), {QUENCH_DEVICE_CPU, 0}, dimensions, dtype, kept.data(), nullptr, 0};
      return quench_status{QUENCH_OK};
    };
    table->number = [](void* context, const char* name, double value, quench_error*) noexcept {
      if (std::strcmp(name, "bits_per_weight") == 0) {
        static_cast<Sink*>(context)->bits = value;
      }
      return quench_status{QUENCH_OK};
    };
    table->text = [](void*, const char*, const char*, quench_error*) noexcept {
      return quench_status{QUENCH_OK};
    };
    table->cache_op = [](void* context, const quench_cache_op* op, quench_error*) noexcept {
      static_cast<Sink*>(context)->cache_op = op;
      return quench_status{QUENCH_OK};
    };
#if QUENCH_ABI_MINOR > 1
    table->input_op = [](void* context, const quench_input_op* op, quench_error*) noexcept {
      static_cast<Sink*>(context)->input_op = op;
      return quench_status{QUENCH_OK};
    };
#endif
  }

  const quench_cache_op* cache_op = nullptr;
#if QUENCH_ABI_MINOR > 1
  const quench_input_op* input_op = nullptr;
#endif
  Guarded<quench_quantize_sink> table;
  double bits = 0;
  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::vector<char>> rooms;
};

// Counts what a format stores.
struct FormatSink {
  FormatSink() {
    table->context = this;
    table->tensor = [](void* context, const char*, quench_dtype dtype, int32_t dimensions,
                       const int64_t* shape, const void*, quench_error*) noexcept {
      uint64_t size = dtype.bits / 8;
      for (int32_t i = 0; i < dimensions; ++i) {
        size *= static_cast<uint64_t>(shape[i]);
      }
      static_cast<FormatSink*>(context)->bytes += size;
      ++static_cast<FormatSink*>(context)->tensors;
      return quench_status{QUENCH_OK};
    };
  }

  Guarded<quench_format_sink> table;
  uint64_t tensors = 0;
  uint64_t bytes = 0;
};

// Tensors of a checkpoint that never was.
struct Source {
  Source() {
    table->context = this;
    table->count = [](const quench_source* source) noexcept -> uint64_t {
      return of(source).tensors.size();
    };
    table->info = [](const quench_source* source, uint64_t index, quench_tensor_info* out,
                     quench_error*) noexcept {
      const Tensor& tensor = of(source).tensors.at(index);
      out->name = tensor.name.c_str();
      out->dtype = tensor.values.view.dtype;
      out->dimensions = tensor.values.view.dimensions;
      out->shape = tensor.values.view.shape;
      out->shared_with = index;
      return quench_status{QUENCH_OK};
    };
    table->find = [](const quench_source* source, const char* name, uint64_t* index,
                     quench_error*) noexcept {
      const std::deque<Tensor>& all = of(source).tensors;
      for (*index = 0; *index < all.size(); ++*index) {
        if (all[*index].name == name) {
          return quench_status{QUENCH_OK};
        }
      }
      return quench_status{QUENCH_NOT_FOUND};
    };
    table->read = [](const quench_source* source, uint64_t index, uint64_t first, uint64_t elements,
                     void* destination, quench_error*) noexcept {
      std::memcpy(destination, of(source).tensors.at(index).values.values.data() + first,
                  elements * sizeof(float));
      return quench_status{QUENCH_OK};
    };
  }
  void add(const std::string& name, std::vector<int64_t> shape) {
    tensors.push_back({name, Values<float>(std::move(shape))});
  }
  struct Tensor {
    std::string name;
    Values<float> values;
  };
  static const Source& of(const quench_source* source) {
    return *static_cast<const Source*>(source->context);
  }

  Guarded<quench_source> table;
  std::deque<Tensor> tensors;
};

}  // namespace quench::golden
