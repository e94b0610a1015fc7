#include "core/plugin/device_model.hpp"

#include <catch2/catch.hpp>

using quench::device_model;

TEST_CASE("device model: a processor is a processor", "[core][plugin]") {
  CHECK(device_model({QUENCH_DEVICE_CPU, 0}) == "cpu");
}

TEST_CASE("device model: GPUs go by their model, not by where they are", "[core][plugin]") {
  const auto named = [](int32_t index) {
    return device_model({QUENCH_DEVICE_CUDA, index}, QUENCH_FAKE_DRIVER);
  };
  CHECK(named(0) == "NVIDIA H200");
  CHECK(named(1) == named(0));
  CHECK(named(2) == "NVIDIA A100-SXM4-80GB");
}

TEST_CASE("device model: a device that no driver knows has none", "[core][plugin]") {
  CHECK(device_model({QUENCH_DEVICE_CUDA, 3}, QUENCH_FAKE_DRIVER) == "cuda");
  CHECK(device_model({QUENCH_DEVICE_CUDA, 0}, "/nowhere/libcuda.so.1") == "cuda");
}
