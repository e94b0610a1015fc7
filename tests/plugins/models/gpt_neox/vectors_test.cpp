// Arithmetic on vectors over all parameters (quench.model.vectors/1), against plain float64 loops.
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/error.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"

namespace quench::test {

namespace {

// A model, and its extension as callers see it.
class Vectors {
 public:
  explicit Vectors(quench_dtype dtype) {
    need_host_memory();
    TinyModel tiny;
    tiny.draw().store(source_, dtype);
    model_ = std::make_unique<ModelDriver>(tiny.config(), source_, dtype);
    table_ = static_cast<const quench_model_vectors*>(
        model_->table().extension(model_->get(), QUENCH_MODEL_VECTORS));
    REQUIRE(table_ != nullptr);
  }

  void fill(double value, const at::Tensor& to) {
    const quench_tensor view = kit::view_of(to);
    checked([&](quench_error* error) { return table_->fill(get(), value, &view, error); });
  }
  void combine(const std::vector<at::Tensor>& vectors, const std::vector<double>& coefficients,
               const at::Tensor& to) {
    std::vector<quench_tensor> views;
    for (const at::Tensor& vector : vectors) {
      views.push_back(kit::view_of(vector));
    }
    const quench_tensor view = kit::view_of(to);
    checked([&](quench_error* error) {
      return table_->combine(get(), static_cast<uint32_t>(views.size()), views.data(),
                             coefficients.data(), &view, error);
    });
  }
  double dot(const at::Tensor& a, const at::Tensor& b) {
    const quench_tensor left = kit::view_of(a);
    const quench_tensor right = kit::view_of(b);
    double value = 0;
    checked([&](quench_error* error) { return table_->dot(get(), &left, &right, &value, error); });
    return value;
  }

 private:
  quench_model* get() const { return model_->get(); }
  template <typename Call>
  void checked(Call call) {
    quench_error error{sizeof error, 0, {}};
    kit::check(call(&error), error);
  }

  MemorySource source_;
  std::unique_ptr<ModelDriver> model_;
  const quench_model_vectors* table_ = nullptr;
};

// Values of many sizes, the same for a seed.
template <typename T>
at::Tensor values(int64_t count, uint64_t seed) {
  const at::Tensor out = at::zeros({count}, c10::CppTypeToScalarType<T>::value);
  uint64_t state = seed * 2 + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) / static_cast<double>(1ULL << 52) - 1;
    out.data_ptr<T>()[i] = static_cast<T>(unit * std::exp2(static_cast<double>(i % 21) - 10));
  }
  return out;
}

void share(ModelDriver& model, const at::Tensor& vector) {
  const auto& table = *static_cast<const quench_model_shared_weights*>(
      model.table().extension(model.get(), QUENCH_MODEL_SHARED_WEIGHTS));
  const quench_tensor view = kit::view_of(vector);
  quench_error error{sizeof error, 0, {}};
  kit::check(table.share(model.get(), &view, &error), error);
}

// A range of the implementation has 2^22 elements.
constexpr int64_t kSizes[] = {1, 7, (int64_t{1} << 22) + 3};

template <typename T>
void check(quench_dtype dtype) {
  Vectors vectors(dtype);
  constexpr double kUnit = std::numeric_limits<T>::epsilon();
  for (const int64_t size : kSizes) {
    CAPTURE(size);
    const at::Tensor a = values<T>(size, 1);
    const at::Tensor b = values<T>(size, 2);
    const at::Tensor c = values<T>(size, 3);
    const auto* x = a.const_data_ptr<T>();
    const auto* y = b.const_data_ptr<T>();

    long double sum = 0;
    long double magnitude = 0;
    for (int64_t i = 0; i < size; ++i) {
      sum += static_cast<long double>(x[i]) * y[i];
      magnitude += std::fabs(static_cast<long double>(x[i]) * y[i]);
    }
    // Products of float32 are exact in float64, whose sums lose less than a unit of it a level.
    const double off = std::fabs(vectors.dot(a, b) - static_cast<double>(sum));
    CHECK(off <= 64 * std::numeric_limits<double>::epsilon() * static_cast<double>(magnitude));
    CHECK(vectors.dot(a, b) == vectors.dot(a, b));

    const at::Tensor before = c.clone();
    vectors.combine({c, a, b}, {0.5, -3.25, 1e-3}, c);
    const auto* was = before.const_data_ptr<T>();
    double furthest = 0;
    for (int64_t i = 0; i < size; ++i) {
      const double parts[] = {0.5 * was[i], -3.25 * x[i], 1e-3 * y[i]};
      const double wanted = parts[0] + parts[1] + parts[2];
      const double scale = std::fabs(parts[0]) + std::fabs(parts[1]) + std::fabs(parts[2]);
      furthest = std::max(
          furthest, std::fabs(static_cast<double>(c.const_data_ptr<T>()[i]) - wanted) / scale);
    }
    CHECK(furthest <= (sizeof(T) == sizeof(float) ? 0.5 : 4) * kUnit);  // rounded once

    vectors.fill(-1.5, c);
    CHECK(c.eq(-1.5).all().item<bool>());
  }
}

}  // namespace

TEST_CASE("gpt_neox: vectors over the parameters are added and multiplied in float64",
          "[models][gpt_neox]") {
  check<float>(kit::kFloat32);
  check<float>(kit::kBFloat16);
  check<double>(kit::kFloat64);
}

TEST_CASE("gpt_neox: weights that lie in the caller's vector are what the vector holds",
          "[models][gpt_neox]") {
  need_host_memory();
  TinyModel tiny;
  MemorySource source;
  tiny.draw().store(source, kit::kFloat32);
  ModelDriver plain(tiny.config(), source, kit::kFloat32);
  ModelDriver model(tiny.config(), source, kit::kFloat32);
  const Tokens tokens = some_tokens(tiny, 2, 9);
  const at::Tensor drawn = plain.parameters();
  at::Tensor vector = at::zeros({drawn.numel()}, at::kFloat);
  share(model, vector);
  CHECK(vector.eq(drawn).all().item<bool>());
  CHECK(model.next_id_nll(tokens) == plain.next_id_nll(tokens));

  // A change of the vector is one of the weights, and the other way round.
  vector.mul_(0.5);
  plain.set_parameters(drawn.mul(0.5));
  CHECK(model.next_id_nll(tokens) == plain.next_id_nll(tokens));
  CHECK(model.parameters().eq(plain.parameters()).all().item<bool>());
  model.set_parameters(drawn);
  CHECK(vector.eq(drawn).all().item<bool>());
}

TEST_CASE("gpt_neox: weights of 16 bits cannot lie in a vector", "[models][gpt_neox]") {
  need_host_memory();
  TinyModel tiny;
  MemorySource source;
  tiny.draw().store(source, kit::kBFloat16);
  ModelDriver model(tiny.config(), source, kit::kBFloat16);
  const at::Tensor vector = at::zeros({model.parameters().numel()}, at::kFloat);
  CHECK_THROWS_WITH(share(model, vector),
                    "share: a model of BFloat16, whose flat vectors are Float");
}

TEST_CASE("gpt_neox: vectors of another length, dtype or device are refused",
          "[models][gpt_neox]") {
  Vectors vectors(kit::kFloat32);
  const at::Tensor five = values<float>(5, 1);
  CHECK_THROWS_WITH(vectors.dot(five, values<float>(4, 1)),
                    "dot: b: float32 [4], wanted float32 [5] on cpu");
  CHECK_THROWS_WITH(vectors.combine({values<double>(5, 1)}, {1}, five),
                    "combine: a vector: float64 [5], wanted float32 [5] on cpu");
  CHECK_THROWS_WITH(vectors.fill(0, five.view({5, 1})),
                    "fill: to: float32 [5, 1], wanted float32 [n] on cpu");
}

}  // namespace quench::test
