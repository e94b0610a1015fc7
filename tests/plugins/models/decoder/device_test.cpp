// What a GPU may do with numbers, and what a process without one says.
#include "models/decoder/device.hpp"

#include <ATen/Context.h>

#include <catch2/catch.hpp>

#include "quench/abi/extension/device_memory.h"

namespace quench::test {

TEST_CASE("device: products are made in the bits of their operands", "[models][cuda]") {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(true);
  context.setAllowBF16ReductionCuBLAS(true);
  context.setAllowFP16ReductionCuBLAS(true);
  CHECK(context.allowTF32CuDNN());  // libtorch's own choice
  decoder::keep_precision();
  CHECK_FALSE(context.allowTF32CuBLAS());
  CHECK_FALSE(context.allowTF32CuDNN());
  CHECK_FALSE(context.allowFP16AccumulationCuBLAS());
  constexpr auto kExact = at::CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK;
  CHECK(context.allowBF16ReductionCuBLAS() == kExact);
  CHECK(context.allowFP16ReductionCuBLAS() == kExact);
  CHECK(context.deterministicAlgorithms());
  CHECK_FALSE(context.deterministicFillUninitializedMemory());
}

TEST_CASE("device: one that libtorch does not find is refused by its number", "[models][cuda]") {
  if (!at::hasCUDA()) {
    CHECK_THROWS_WITH(decoder::usable_device({QUENCH_DEVICE_CUDA, 7}),
                      "device cuda:7: libtorch finds no CUDA device");
  }
  CHECK_THROWS_WITH(decoder::usable_device({5, 0}), "device type 5: wanted the CPU or CUDA");
  CHECK(decoder::usable_device({QUENCH_DEVICE_CPU, 0}) == at::Device(at::kCPU));
}

TEST_CASE("device: memory that cannot be pinned is refused with the reason", "[models][cuda]") {
  const decoder::DeviceMemory memory(at::Device(at::kCUDA, 0));
  CHECK_THROWS_WITH(memory.pin_host(nullptr, 4096, QUENCH_PIN_READ_ONLY),
                    Catch::StartsWith("device cuda:0: ") ||
                        Catch::Contains("this build has no kernels for GPUs"));
}

}  // namespace quench::test
