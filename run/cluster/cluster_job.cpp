#include "run/cluster/cluster_job.hpp"

#include <fmt/format.h>

#include "core/process/shell_word.hpp"

namespace quench {

std::string ranges_text(const std::vector<uint64_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    out += out.empty() ? "" : ",";
    out +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return out;
}

std::string preparation_of(const ClusterJob& job) {
  std::string out;
  for (const auto& [name, value] : job.environment) {
    out += fmt::format("export {}={}\n", name, shell_word(value));
  }
  for (const std::string& line : job.before) {
    out += line + "\n";
  }
  return out;
}

std::string command_of(const ClusterJob& job, const std::string& share) {
  std::string out = shell_word(job.program.string());
  for (const std::string& argument : job.arguments) {
    out += " " + shell_word(argument);
  }
  return out + fmt::format(" --share \"{}/{}\" --threads {}", share, job.of, job.cpus);
}

}  // namespace quench
