// Scales that nothing absorbs.
#include "core/pass/channel_scale.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/manifest/single_checkpoint.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"

using quench::DividedRows;
using quench::HostTensor;
using quench::ModelHandle;

namespace {

const std::vector<double> kScale = {3, 0.1, 1, 7};

// A family that copies to and from memory of its own.
quench::OpenCheckpoint small_model() {
  const auto folder = quench::test::source_dir() / "tests/data/training/trained";
  return quench::open_checkpoint(quench::test::built_catalog(),
                                 quench::single_checkpoint(folder.string()), {}, quench::kFloat32,
                                 {QUENCH_DEVICE_CPU, 0});
}

template <typename T>
HostTensor rows_of(quench_dtype dtype) {
  HostTensor out(dtype, {5, 4});
  for (size_t i = 0; i < out.elements(); ++i) {
    out.as<T>()[i] = static_cast<T>(static_cast<double>(i) * 0.37 - 2);
  }
  return out;
}

// The elements of a tensor in the model's memory.
template <typename T>
std::vector<T> read(ModelHandle& model, const quench_tensor& tensor) {
  HostTensor out(tensor.dtype, {tensor.shape[0], tensor.shape[1]});
  model.copy(tensor, out.view());
  return {out.as<T>().begin(), out.as<T>().end()};
}

template <typename T>
void check_divided(ModelHandle& model, quench_dtype dtype) {
  const HostTensor rows = rows_of<T>(dtype);
  std::vector<T> wanted;
  for (size_t i = 0; i < rows.elements(); ++i) {
    wanted.push_back(static_cast<T>(static_cast<double>(rows.as<T>()[i]) / kScale[i % 4]));
  }
  const DividedRows divided(model, rows.view(), kScale);
  CHECK(quench::test::differences(read<T>(model, divided.view()), wanted) == "");
  CHECK(quench::test::differences(rows.as<T>(), rows_of<T>(dtype).template as<T>()) == "");
}

}  // namespace

TEST_CASE("channel scale: the columns of a copy of the rows are divided", "[core][run]") {
  quench::OpenCheckpoint checkpoint = small_model();
  check_divided<float>(checkpoint.model, quench::kFloat32);
  check_divided<double>(checkpoint.model, quench::kFloat64);
  const HostTensor narrow(quench::kFloat16, {5, 4});
  CHECK_THROWS_WITH(DividedRows(checkpoint.model, narrow.view(), kScale),
                    "a channel scale that cannot be folded wants a float32 or float64 model");
}

TEST_CASE(
    "channel scale: an op gets its inputs divided, tells them as they were, and is released once",
    "[core][run]") {
  quench::OpenCheckpoint checkpoint = small_model();
  struct Seen {
    std::vector<float> x;
    int released = 0;
  } seen;
  const quench_linear_op op{sizeof op, &seen,
                            [](void* context, const quench_tensor* x, const quench_tensor*, void*,
                               quench_error*) noexcept -> quench_status {
                              const auto* values = static_cast<const float*>(x->data);
                              static_cast<Seen*>(context)->x.assign(
                                  values, values + x->shape[0] * x->shape[1]);
                              return QUENCH_OK;
                            },
                            [](void* context) noexcept { ++static_cast<Seen*>(context)->released; },
                            [](void*, const quench_tensor* x, const quench_tensor* rounded, void*,
                               quench_error*) noexcept -> quench_status {
                              const auto* values = static_cast<const float*>(x->data);
                              for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
                                static_cast<float*>(rounded->data)[i] = std::nearbyint(values[i]);
                              }
                              return QUENCH_OK;
                            }};
  const quench_linear_op divided = quench::divided_inputs(checkpoint.model, op, kScale);
  const HostTensor rows = rows_of<float>(quench::kFloat32);
  const quench_tensor x = rows.view();
  quench_error error{sizeof error, 0, {}};
  REQUIRE(divided.apply(divided.context, &x, &x, nullptr, &error) == QUENCH_OK);
  CHECK(seen.x == read<float>(checkpoint.model, DividedRows(checkpoint.model, x, kScale).view()));
  HostTensor made = rows_of<float>(quench::kFloat32);
  const quench_tensor rounded = made.view();
  REQUIRE(divided.inputs(divided.context, &x, &rounded, nullptr, &error) == QUENCH_OK);
  for (size_t i = 0; i < seen.x.size(); ++i) {
    CHECK(made.as<float>()[i] == static_cast<float>(std::nearbyint(seen.x[i]) * kScale[i % 4]));
  }
  const HostTensor narrow(quench::kFloat16, {5, 4});
  const quench_tensor refused = narrow.view();
  CHECK(divided.apply(divided.context, &refused, &x, nullptr, &error) == QUENCH_UNSUPPORTED);
  divided.release(divided.context);
  CHECK(seen.released == 1);
  quench_linear_op silent = op;
  silent.inputs = nullptr;
  silent = quench::divided_inputs(checkpoint.model, silent, kScale);
  CHECK(silent.inputs == nullptr);
  silent.release(silent.context);
}
