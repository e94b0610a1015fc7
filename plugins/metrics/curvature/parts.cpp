#include "metrics/curvature/parts.hpp"

#include <algorithm>
#include <unordered_map>

#include "metrics/curvature/batch_loss.hpp"

namespace quench::curvature {

namespace {

// The name up to and including its first numeric component; the whole name if there is none.
std::string block_name(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string component = name.substr(begin, end - begin);
    if (!component.empty() && component.find_first_not_of("0123456789") == std::string::npos) {
      return name.substr(0, end);
    }
    begin = end + 1;
  }
  return name;
}

}  // namespace

uint64_t size_of(std::span<const Range> ranges) {
  uint64_t size = 0;
  for (const Range& range : ranges) {
    size += range.size();
  }
  return size;
}

std::vector<Part> layers_of(std::span<const quench_parameter_info> parameters) {
  std::vector<Part> parts;
  for (const quench_parameter_info& parameter : parameters) {
    parts.push_back(
        {parameter.name, {{parameter.offset, parameter.offset + elements_of(parameter)}}});
  }
  return parts;
}

std::vector<Part> blocks_of(std::span<const quench_parameter_info> parameters) {
  std::vector<Part> parts;
  std::unordered_map<std::string, size_t> places;  // by name
  for (Part& layer : layers_of(parameters)) {
    layer.name = block_name(layer.name);
    const auto [place, is_new] = places.emplace(layer.name, parts.size());
    if (is_new) {
      parts.push_back(std::move(layer));
      continue;
    }
    std::vector<Range>& ranges = parts[place->second].ranges;
    const Range added = layer.ranges.front();
    if (ranges.back().end == added.first) {
      ranges.back().end = added.end;
    } else {
      ranges.push_back(added);
    }
  }
  return parts;
}

}  // namespace quench::curvature
