#include "metrics/curvature/parts.hpp"

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

std::vector<Part> layers_of(std::span<const quench_parameter_info> parameters) {
  std::vector<Part> parts;
  for (const quench_parameter_info& parameter : parameters) {
    parts.push_back({parameter.name, parameter.offset, parameter.offset + elements_of(parameter)});
  }
  return parts;
}

std::vector<Part> blocks_of(std::span<const quench_parameter_info> parameters) {
  std::vector<Part> parts;
  for (Part& layer : layers_of(parameters)) {
    layer.name = block_name(layer.name);
    if (!parts.empty() && parts.back().name == layer.name && parts.back().end == layer.first) {
      parts.back().end = layer.end;
    } else {
      parts.push_back(std::move(layer));
    }
  }
  return parts;
}

}  // namespace quench::curvature
