#include "core/plugin/device_model.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.hpp"

namespace quench {

namespace {

// Three functions of the CUDA driver; all return 0 on success.
using Init = int (*)(unsigned flags);
using DeviceGet = int (*)(int* device, int ordinal);
using DeviceGetName = int (*)(char* name, int bytes, int device);

std::optional<std::string> ask(const char* driver, int ordinal) {
  void* library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);  // never closed, as drivers require
  if (library == nullptr) {
    return std::nullopt;
  }
  const auto init = reinterpret_cast<Init>(dlsym(library, "cuInit"));
  const auto get = reinterpret_cast<DeviceGet>(dlsym(library, "cuDeviceGet"));
  const auto get_name = reinterpret_cast<DeviceGetName>(dlsym(library, "cuDeviceGetName"));
  std::array<char, 256> name{};
  int device = 0;
  const bool known = init != nullptr && get != nullptr && get_name != nullptr && init(0) == 0 &&
                     get(&device, ordinal) == 0 &&
                     get_name(name.data(), static_cast<int>(name.size() - 1), device) == 0;
  return known ? std::optional(printable(name.data())) : std::nullopt;
}

}  // namespace

std::string device_model(quench_device device, const char* driver) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return "cpu";
  }
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace({driver, device.index}, "");
  if (is_new) {
    entry->second = ask(driver, device.index).value_or("cuda");
  }
  return entry->second;
}

}  // namespace quench
