// Copies by families of models on devices, and the host memory that these pin for them.
#include "core/plugin/services/device_copies.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/io/pinnable_memory.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/extension/device_memory.h"
#include "tests/support/throws.hpp"

using quench::copy_on_device;
using quench::DeviceCopies;
using quench::PinnableMemory;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Range {
  const std::byte* data;
  uint64_t bytes;
  uint32_t flags;
  bool operator==(const Range&) const = default;
};

// A family whose device is host memory, and which pins by noting what it is asked to.
struct Family {
  explicit Family(quench_device device = {QUENCH_DEVICE_CUDA, 0}) {
    copies = DeviceCopies("model noted", &kTable, model(), device);
  }
  quench_model* model() { return reinterpret_cast<quench_model*>(this); }
  static Family& of(const quench_model* model) {
    return *reinterpret_cast<Family*>(const_cast<quench_model*>(model));
  }

  static quench_status copy(quench_model* self, const quench_tensor* from, const quench_tensor* to,
                            void*, quench_error*) noexcept {
    of(self).ranges_at_copy = of(self).ranges;
    std::memcpy(to->data, from->data, static_cast<size_t>(from->shape[0]));
    return QUENCH_OK;
  }
  static quench_status pin(quench_model* self, void* memory, uint64_t bytes, uint32_t flags,
                           quench_error* error) noexcept {
    ++of(self).asked;
    if (of(self).refuses) {
      std::snprintf(error->message, sizeof error->message, "no page is free");
      return QUENCH_RESOURCE_EXHAUSTED;
    }
    of(self).ranges.push_back({static_cast<std::byte*>(memory), bytes, flags});
    return QUENCH_OK;
  }
  static void unpin(quench_model* self, void* memory) noexcept {
    std::erase_if(of(self).ranges, [&](const Range& each) { return each.data == memory; });
  }

  static const quench_model_device_memory kMemory;
  static const quench_model_device_memory kShorter;  // without functions that pin
  static const quench_model_table kTable;
  inline static const quench_model_device_memory* table = &kMemory;
  static const void* extension(const quench_model*, const char* id) noexcept {
    return std::strcmp(id, QUENCH_MODEL_DEVICE_MEMORY) == 0 ? table : nullptr;
  }

  bool refuses = false;
  int asked = 0;
  std::vector<Range> ranges;
  std::vector<Range> ranges_at_copy;
  DeviceCopies copies;
};

const quench_model_device_memory Family::kMemory = {
    sizeof(quench_model_device_memory), nullptr, nullptr, nullptr, pin, unpin};
const quench_model_device_memory Family::kShorter = {
    offsetof(quench_model_device_memory, pin_host), nullptr, nullptr, nullptr, pin, unpin};
const quench_model_table Family::kTable = [] {
  quench_model_table out{};
  out.struct_size = sizeof out;
  out.copy = copy;
  out.extension = extension;
  return out;
}();

quench_tensor bytes_at(std::byte* data, const int64_t& count, quench_device device) {
  return {data, device, 1, {QUENCH_DTYPE_UINT, 8, 1}, &count, nullptr, 0};
}

constexpr quench_device kHost = {QUENCH_DEVICE_CPU, 0};
constexpr quench_device kFirst = {QUENCH_DEVICE_CUDA, 0};
constexpr quench_device kSecond = {QUENCH_DEVICE_CUDA, 1};

// Host memory that lasts, bytes that a device has, and a copy between them.
struct Scene {
  Scene() : host(4 * kMiB, std::byte{7}), device(4 * kMiB) {}
  void copy(int64_t offset, const int64_t& count, quench_device to = kFirst) {
    copy_on_device(bytes_at(host.data() + offset, count, kHost),
                   bytes_at(device.data(), count, to));
  }

  std::vector<std::byte> host;
  std::vector<std::byte> device;
  PinnableMemory lasting{host.data(), host.size(), true};
};

// What the log gets meanwhile.
struct Log {
  Log() {
    quench::HostServices::instance().set_log_sink(
        [this](int level, std::string_view, std::string_view line) {
          lines.push_back(std::to_string(level) + " " + std::string(line));
        });
  }
  ~Log() { quench::HostServices::instance().set_log_sink({}); }
  std::vector<std::string> lines;
};

}  // namespace

TEST_CASE("device copies: shared memory is pinned before the copy, until the model closes",
          "[core][plugin]") {
  Scene scene;
  Family family;
  scene.copy(100, 1000);
  const std::vector<Range> first = {{scene.host.data(), 2 * kMiB, QUENCH_PIN_READ_ONLY}};
  CHECK(family.ranges_at_copy == first);
  CHECK(scene.device[999] == std::byte{7});
  scene.copy(0, 1000);
  CHECK(family.asked == 1);
  scene.copy(kMiB, 3 * kMiB);
  CHECK(family.ranges_at_copy == std::vector<Range>{{scene.host.data(), 4 * kMiB, 1}});
  family.copies = {};
  CHECK(family.ranges.empty());
  CHECK(scene.lasting.pinned() == 0);
}

TEST_CASE("device copies: other memory is not pinned", "[core][plugin]") {
  Scene scene;
  Family family;
  std::vector<std::byte> own(1000);
  const int64_t count = 1000;
  copy_on_device(bytes_at(own.data(), count, kHost), bytes_at(scene.device.data(), count, kFirst));
  CHECK(family.asked == 0);
}

TEST_CASE("device copies: a tensor's first and last element are in what is pinned",
          "[core][plugin]") {
  Scene scene;
  Family family;
  const int64_t shape[] = {2, 3};
  const int64_t strides[] = {-300'000, 400'000};  // of float64: from -2.4 MB to 6.4 MB
  std::vector<std::byte> wide(12 * kMiB);
  const PinnableMemory lasting(wide.data(), wide.size(), false);
  family.copies.pin(
      {wide.data(), kHost, 2, {QUENCH_DTYPE_FLOAT, 64, 1}, shape, strides, 2'400'000});
  // 2.4 + 6.4 MB and 8 bytes: in steps of 4 MiB.
  CHECK(family.ranges == std::vector<Range>{{wide.data(), 12 * kMiB, 0}});
  const int64_t none[] = {0, 3};
  family.copies.pin({nullptr, kHost, 2, {QUENCH_DTYPE_FLOAT, 64, 1}, none, strides, 0});
  CHECK(family.asked == 1);
  family.copies = {};
}

TEST_CASE("device copies: models one after another and on two devices pin in turn",
          "[core][plugin]") {
  Scene scene;
  {
    Family left;
    scene.copy(0, 100);
    CHECK(left.ranges.size() == 1);
    Family right(kSecond);
    scene.copy(0, 100, kSecond);
    CHECK(right.asked == 0);  // it is pinned for both
    right.copies = {};
    CHECK(left.ranges.size() == 1);
    left.copies = {};
    CHECK(left.ranges.empty());
  }
  Family next;
  scene.copy(0, 100);
  CHECK(next.ranges.size() == 1);
  next.copies = {};
  CHECK(next.ranges.empty());
}

TEST_CASE("device copies: a family that cannot pin copies all the same", "[core][plugin]") {
  Scene scene;
  Log log;
  const auto* table =
      GENERATE(static_cast<const quench_model_device_memory*>(nullptr), &Family::kShorter);
  Family::table = table;
  Family family;
  Family::table = &Family::kMemory;
  scene.copy(0, 1000);
  CHECK(family.asked == 0);
  CHECK(scene.device[999] == std::byte{7});
  CHECK(log.lines.empty());
}

TEST_CASE("device copies: a refusal is said once, and is no error", "[core][plugin]") {
  Scene scene;
  Scene other;
  Log log;
  Family family;
  family.refuses = true;
  scene.copy(0, 1000);
  scene.copy(0, 2000);
  CHECK(family.asked == 1);
  other.copy(0, 1000);
  CHECK(family.asked == 2);
  CHECK(scene.device[1999] == std::byte{7});
  CHECK(scene.lasting.pinned() == 0);
  CHECK(log.lines == std::vector<std::string>{
                         std::to_string(QUENCH_LOG_WARNING) +
                         " model noted: no page is free; copies for plugins in processes of their "
                         "own take longer without it"});
}
