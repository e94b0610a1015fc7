// Products with Hadamard matrices by the kernel, held to the bits of the loops for processors: in
// host memory, where the kernel is loops, too, and on a GPU where there is one.
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "quantizers/rotated/device/entries.hpp"
#include "quantizers/rotated/device/multiply_by_kernel.hpp"
#include "quantizers/rotated/rotated_rows.hpp"
#include "quench/kit/torch.hpp"
#include "shared/cuda/library.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test::rotation_on_device {

namespace {

using hadamard::RandomHadamard;
using quantizers::multiply_by_kernel;
using Direction = RandomHadamard::Direction;

template <typename T>
std::vector<T> numbers(int64_t rows, int64_t columns) {
  const Matrix layer = random_matrix(rows, columns, 3, columns < 1000);
  std::vector<T> out(layer.values.begin(), layer.values.end());
  for (int64_t c = 0; c < columns; ++c) {  // zeros of both signs, and what cancels nearly
    out[static_cast<size_t>(c)] = c % 2 == 0 ? T{0} : -T{0};
    out[static_cast<size_t>(columns + c)] =
        1 + (c % 3 == 0 ? std::numeric_limits<T>::epsilon() : T{0});
  }
  return out;
}

template <typename T>
void check_bits(at::Device device, int64_t rows, int64_t size) {
  CAPTURE(rows, size);
  const RandomHadamard rotation(size, "test");
  for (const Direction direction : {Direction::kApply, Direction::kUndo}) {
    std::vector<T> wanted = numbers<T>(rows, size);
    const at::Tensor got =
        at::from_blob(wanted.data(), {rows, size}, c10::CppTypeToScalarType<T>::value)
            .clone()
            .to(device);
    rotation.multiply(std::span<T>(wanted), direction);
    CHECK(multiply_by_kernel(rotation, got, direction));
    const at::Tensor host = got.to(at::kCPU);
    const std::span<const T> made(host.const_data_ptr<T>(), wanted.size());
    CHECK(differences(made, wanted) == "");
  }
}

void check_bits_on(at::Device device) {
  linked_item();  // installs the host
  for (const int64_t size : {1, 2, 64, 12, 20, 36, 96, 28 * 16, 344 * 2}) {
    check_bits<float>(device, 5, size);
    check_bits<double>(device, 5, size);
  }
  check_bits<float>(device, 2051, 4096);  // more than is held at once
}

bool refuses_on(at::Device device, double bad) {
  std::vector<float> values = numbers<float>(20, 96);
  values[19 * 96 + 95] = static_cast<float>(bad);
  const at::Tensor rows = at::from_blob(values.data(), {20, 96}, at::kFloat).clone().to(device);
  return !multiply_by_kernel(RandomHadamard(96, "test"), rows, Direction::kApply);
}

// What is handed over, in 16 bits, and in float64 on both sides of a Gram matrix.
void check_rotated_on(at::Device device) {
  linked_item();
  const RandomHadamard rotation(96, "test");
  std::vector<float> values = numbers<float>(96, 96);
  const at::Tensor rows = at::from_blob(values.data(), {96, 96}, at::kFloat).clone();
  const at::Tensor narrow = rows.to(at::kBFloat16);
  const at::Tensor wanted = quantizers::rotated(rotation, kit::view_of(narrow), "x");
  const at::Tensor gram = quantizers::rotated_gram(rotation, kit::view_of(rows), Direction::kApply);
  std::optional<matrix::LibtorchAlone> as_on_a_gpu;
  if (device.is_cpu()) {
    as_on_a_gpu.emplace();
  }
  const at::Tensor narrow_there = narrow.to(device);
  const at::Tensor rows_there = rows.to(device);
  const at::Tensor got = quantizers::rotated(rotation, kit::view_of(narrow_there), "x");
  CHECK(got.device() == device);
  CHECK(got.to(at::kCPU).equal(wanted));
  CHECK(quantizers::rotated_gram(rotation, kit::view_of(rows_there), Direction::kApply)
            .to(at::kCPU)
            .equal(gram));
  rows[3][5] = std::nan("");
  const at::Tensor broken = rows.to(device);
  CHECK_THROWS_WITH(quantizers::rotated(rotation, kit::view_of(broken), "x"),
                    "x: row 3, column 5 is nan");
}

}  // namespace

TEST_CASE("rotation on a device: the kernel has the bits of the loops for processors",
          "[quantizers][rotated][on_device]") {
  check_bits_on(at::kCPU);
}

TEST_CASE("rotation on a device: rows stay there, and what is not finite is refused",
          "[quantizers][rotated][on_device]") {
  linked_item();
  CHECK(refuses_on(at::kCPU, std::nan("")));
  CHECK(refuses_on(at::kCPU, -HUGE_VAL));
  check_rotated_on(at::kCPU);
}

TEST_CASE("kernels: the library has those that rotate rows", "[quantizers][cuda]") {
  const auto kernels = binary_dir() / "lib/quench/cuda/kernels.so";
  skip_unless(std::filesystem::exists(kernels), "this build has no kernels for GPUs: no nvcc");
  for (const char* name : {quantizers::kMultiplyRowsFloat, quantizers::kMultiplyRowsDouble}) {
    CAPTURE(name);
    CHECK(cuda::kernel_function(kernels, name) != nullptr);
  }
}

TEST_CASE("kernels: on a GPU rotation of rows has the bits of the loops for processors",
          "[quantizers][rotated][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_bits_on(gpu);
  CHECK(refuses_on(gpu, std::nan("")));
  check_rotated_on(gpu);
}

}  // namespace quench::test::rotation_on_device
