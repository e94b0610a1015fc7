#include "core/plugin/services/devices.hpp"

#include <array>
#include <boost/dll/shared_library.hpp>
#include <map>
#include <mutex>

#include "core/error.hpp"
#include "core/plugin/library/library.hpp"

namespace quench {

namespace {

// Attributes of a device in the driver's numbering.
constexpr int kMajor = 75;
constexpr int kMinor = 76;

// The functions of the CUDA driver that are asked here; all return 0 on success.
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int* cuda) = nullptr;
  int (*count)(int* devices) = nullptr;
  int (*get)(int* device, int ordinal) = nullptr;
  int (*name)(char* name, int bytes, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*memory)(size_t* bytes, int device) = nullptr;

  // False if the library is no CUDA driver.
  bool load(const boost::dll::shared_library& library) {
    const auto find = [&]<typename Function>(Function*& function, const char* symbol) {
      function = library.has(symbol) ? &library.get<Function>(symbol) : nullptr;
      return function != nullptr;
    };
    return find(init, "cuInit") && find(version, "cuDriverGetVersion") &&
           find(count, "cuDeviceGetCount") && find(get, "cuDeviceGet") &&
           find(name, "cuDeviceGetName") && find(attribute, "cuDeviceGetAttribute") &&
           find(memory, "cuDeviceTotalMem_v2");
  }
};

Gpu examine(const Driver& driver, int ordinal) {
  Gpu out;
  int device = 0;
  std::array<char, 256> name{};
  size_t bytes = 0;
  if (driver.get(&device, ordinal) == 0 &&
      driver.name(name.data(), static_cast<int>(name.size() - 1), device) == 0 &&
      driver.attribute(&out.major, kMajor, device) == 0 &&
      driver.attribute(&out.minor, kMinor, device) == 0 && driver.memory(&bytes, device) == 0) {
    out.name = printable(name.data());
    out.memory = bytes;
  }
  return out;
}

Gpus ask(const char* path) {
  Gpus out;
  const boost::dll::shared_library* library = load_object(path).object;
  Driver driver;
  if (library == nullptr) {
    out.absence = fmt::format("no NVIDIA driver is installed: {} is not there", path);
  } else if (!driver.load(*library)) {
    out.absence = fmt::format("{} is not a driver that we know how to ask", path);
  } else if (const int fault = driver.init(0); fault != 0) {
    // What the driver answers without a device is no fault of the installation.
    constexpr int kNoDevice = 100;
    out.absence = fault == kNoDevice ? "the NVIDIA driver finds no device"
                                     : fmt::format("the NVIDIA driver fails with error {}", fault);
  } else {
    int count = 0;
    driver.version(&out.cuda);
    driver.count(&count);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      out.devices.push_back(examine(driver, ordinal));
    }
    out.absence = count == 0 ? "the NVIDIA driver finds no device" : "";
  }
  return out;
}

}  // namespace

const Gpus& gpus(const char* driver) {
  static std::mutex mutex;
  static std::map<std::string, Gpus> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(driver);
  if (is_new) {
    entry->second = ask(driver);
  }
  return entry->second;
}

void require_device(quench_device device, const char* driver) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return;
  }
  const Gpus& found = gpus(driver);
  if (!found.absence.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "device cuda:{}: {}", device.index, found.absence);
  }
  if (static_cast<size_t>(device.index) >= found.devices.size()) {
    fail(QUENCH_INVALID_ARGUMENT, "device cuda:{}: this machine has {}", device.index,
         found.devices.size() == 1 ? std::string("one device, cuda:0")
                                   : fmt::format("{} devices, cuda:0 to cuda:{}",
                                                 found.devices.size(), found.devices.size() - 1));
  }
}

std::string device_model(quench_device device, const char* driver) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return "cpu";
  }
  const Gpus& found = gpus(driver);
  const auto index = static_cast<size_t>(device.index);
  if (index >= found.devices.size() || found.devices[index].name.empty()) {
    return "cuda";
  }
  const Gpu& gpu = found.devices[index];
  return fmt::format("{}, {}.{}", gpu.name, gpu.major, gpu.minor);
}

}  // namespace quench
