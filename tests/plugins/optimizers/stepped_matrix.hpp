// An optimizer of one hidden matrix, stepped along given numbers.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/optimizers/optimizer_library.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

// Numbers in [-1, 1), the same for a seed; tests/data/*_reference.py have them, too.
inline std::vector<float> numbers(uint64_t seed, size_t count) {
  std::vector<float> out(count);
  uint64_t state = seed * 2 + 1;
  for (float& value : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return out;
}

// The optimizer of one hidden matrix.
class SteppedMatrix {
 public:
  using State = std::map<std::string, std::vector<double>>;

  SteppedMatrix(const std::string& id, const nlohmann::json& parameters, int64_t rows,
                int64_t columns, const char* name = "w")
      : item_(plugin_item(library_of(id), "optimizer")),
        table_(table_of<quench_optimizer_table>(item_)),
        shape_{rows, columns},
        weight_({rows, columns}) {
    weight_.values() = numbers(1, weight_.values().size());
    const std::string json = complete_parameters(item_, parameters);
    REQUIRE(table_.create(json.data(), json.size(), &optimizer_, &error_) == QUENCH_OK);
    const quench_parameter_info info = {sizeof info, QUENCH_ROLE_MATRIX, name, 2, shape_, 0, 0,
                                        nullptr};
    REQUIRE(table_.begin(optimizer_, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error_) == QUENCH_OK);
  }
  ~SteppedMatrix() { table_.destroy(optimizer_); }
  SteppedMatrix(const SteppedMatrix&) = delete;
  SteppedMatrix& operator=(const SteppedMatrix&) = delete;

  void step(uint64_t number) {
    kit::OwnedTensor<float> given({shape_[0], shape_[1]});
    given.values() = numbers(100 + number, given.values().size());
    const quench_tensor weight = weight_.view();
    const quench_tensor view = given.view();
    const double lr = 0.01 / static_cast<double>(number);
    const quench_step_args args = {sizeof args, 0,       0,     number,  lr, 0.01,
                                   1,           &weight, &view, nullptr, 0.5};
    const quench_status status = table_.step(optimizer_, &args, &error_);
    INFO(error_.message);
    REQUIRE(status == QUENCH_OK);
  }
  const std::vector<float>& weight() const { return weight_.values(); }
  State state() {
    State out;
    for (uint64_t index = 0;; ++index) {
      quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
      if (table_.state_info(optimizer_, index, &info, &error_) == QUENCH_END) {
        return out;
      }
      const std::vector<int64_t> shape(info.shape, info.shape + info.dimensions);
      out[info.name] = info.dtype.bits == 64 ? got<double>(index, shape) : got<float>(index, shape);
    }
  }
  // Takes over weights and state, of which there is as much.
  void continue_from(SteppedMatrix& other) {
    weight_.values() = other.weight_.values();
    for (uint64_t index = 0;; ++index) {
      quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
      if (other.table_.state_info(other.optimizer_, index, &info, &error_) == QUENCH_END) {
        return;
      }
      const std::vector<int64_t> shape(info.shape, info.shape + info.dimensions);
      info.dtype.bits == 64 ? copy<double>(other, index, shape) : copy<float>(other, index, shape);
    }
  }

 private:
  template <typename T>
  void copy(SteppedMatrix& other, uint64_t index, const std::vector<int64_t>& shape) {
    kit::OwnedTensor<T> between(shape);
    const quench_tensor view = between.view();
    REQUIRE(other.table_.state_get(other.optimizer_, index, &view, &error_) == QUENCH_OK);
    REQUIRE(table_.state_set(optimizer_, index, &view, &error_) == QUENCH_OK);
  }
  template <typename T>
  std::vector<double> got(uint64_t index, const std::vector<int64_t>& shape) {
    kit::OwnedTensor<T> to(shape);
    const quench_tensor view = to.view();
    REQUIRE(table_.state_get(optimizer_, index, &view, &error_) == QUENCH_OK);
    return {to.values().begin(), to.values().end()};
  }

  const quench_item& item_;
  const quench_optimizer_table& table_;
  int64_t shape_[2];
  kit::OwnedTensor<float> weight_;
  quench_optimizer* optimizer_ = nullptr;
  quench_error error_{sizeof error_, 0, {}};
};

}  // namespace quench::test
