#include "cli/plan_shapes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/answer.hpp"
#include "cli/standard_streams.hpp"

namespace quench {

namespace {

// Rates that are to be expected of a device, for forwards in bfloat16.
struct DeviceRate {
  const char* name;
  double flops_per_second;
};
constexpr DeviceRate kDeviceRates[] = {{"an H100", 4e14}, {"an A100", 1.25e14}, {"32 cores", 1e12}};

// "98.8 GB", "2.1 GB".
std::string gigabytes(uint64_t bytes) {
  const double value = static_cast<double>(bytes) / 1e9;
  return fmt::format(fmt::runtime(value < 10 ? "{:.1f} GB" : "{:.0f} GB"), value);
}

}  // namespace

void print_shape_costs(const ShapeCosts& costs) {
  std::vector<std::string> hours;
  for (const DeviceRate& device : kDeviceRates) {
    const double value = costs.flops / device.flops_per_second / 3600;
    hours.push_back(fmt::format(fmt::runtime(value < 10 ? "{:.1f} h on {}" : "{:.0f} h on {}"),
                                value, device.name));
  }
  fmt::print(
      results(),
      "Downloads: {} revisions, {} by their shapes, and the texts.\n"
      "Memory: about {}.\n"
      "Time: {:.0f} PFLOP{}: {}.\n",
      costs.revisions, gigabytes(costs.download_bytes), gigabytes(costs.memory_bytes),
      costs.flops / 1e15,
      costs.uncounted.empty() ? "" : fmt::format(" without {}", fmt::join(costs.uncounted, ", ")),
      fmt::join(hours, ", "));
}

void answer_shape_costs(const ShapeCosts& costs) {
  answer({{"revisions", costs.revisions},
          {"download_bytes", costs.download_bytes},
          {"memory_bytes", costs.memory_bytes},
          {"flops", costs.flops},
          {"uncounted", costs.uncounted}});
}

}  // namespace quench
