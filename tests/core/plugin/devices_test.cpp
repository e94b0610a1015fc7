#include "core/plugin/services/devices.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"

using quench::device_model;

TEST_CASE("device model: a processor is a processor", "[core][plugin]") {
  CHECK(device_model({QUENCH_DEVICE_CPU, 0}) == "cpu");
}

TEST_CASE("device model: GPUs go by their model, not by where they are", "[core][plugin]") {
  const auto named = [](int32_t index) {
    return device_model({QUENCH_DEVICE_CUDA, index}, QUENCH_FAKE_DRIVER);
  };
  CHECK(named(0) == "NVIDIA H200, 9.0");
  CHECK(named(1) == named(0));
  CHECK(named(2) == "NVIDIA A100-SXM4-80GB, 8.0");
}

TEST_CASE("device model: a device that no driver knows has none", "[core][plugin]") {
  CHECK(device_model({QUENCH_DEVICE_CUDA, 3}, QUENCH_FAKE_DRIVER) == "cuda");
  CHECK(device_model({QUENCH_DEVICE_CUDA, 0}, "/nowhere/libcuda.so.1") == "cuda");
}

TEST_CASE("devices: the driver's GPUs have model, capability and memory", "[core][plugin]") {
  const quench::Gpus& found = quench::gpus(QUENCH_FAKE_DRIVER);
  CHECK(found.absence.empty());
  CHECK(found.cuda == 13020);
  REQUIRE(found.devices.size() == 3);
  CHECK(found.devices[2].name == "NVIDIA A100-SXM4-80GB");
  CHECK(found.devices[2].major == 8);
  CHECK(found.devices[2].memory == 80'000'000'000);
}

TEST_CASE("devices: one that is not there is refused in one line", "[core][plugin]") {
  const auto refusal = [](quench_device device, const char* driver) -> std::string {
    try {
      quench::require_device(device, driver);
      return "";
    } catch (const quench::Error& error) {
      CHECK(error.code() == QUENCH_INVALID_ARGUMENT);
      return error.what();
    }
  };
  CHECK(refusal({QUENCH_DEVICE_CPU, 0}, "/nowhere/libcuda.so.1").empty());
  CHECK(refusal({QUENCH_DEVICE_CUDA, 2}, QUENCH_FAKE_DRIVER).empty());
  CHECK(refusal({QUENCH_DEVICE_CUDA, 3}, QUENCH_FAKE_DRIVER) ==
        "device cuda:3: this machine has 3 devices, cuda:0 to cuda:2");
  CHECK(refusal({QUENCH_DEVICE_CUDA, 0}, "/nowhere/libcuda.so.1") ==
        "device cuda:0: no NVIDIA driver is installed: /nowhere/libcuda.so.1 is not there");
  CHECK(refusal({QUENCH_DEVICE_CUDA, 0}, "libm.so.6") ==
        "device cuda:0: libm.so.6 is not a driver that we know how to ask");
}
