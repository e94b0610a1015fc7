#include "core/pass/process_memory.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace quench {

namespace {

// A field of /proc/self/status in bytes; 0 if it is missing.
uint64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) {
      return std::strtoull(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
    }
  }
  return 0;
}

}  // namespace

uint64_t resident_memory_bytes() {
  return status_bytes("VmRSS");
}

uint64_t peak_memory_bytes() {
  return status_bytes("VmHWM");
}

void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace quench
