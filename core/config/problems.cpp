#include "core/config/problems.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace quench {

void Problems::throw_if_any() const {
  if (!messages_.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages_, "\n"));
  }
}

MappingReader::MappingReader(const YamlNode& node, std::string where, Problems& problems)
    : node_(node), where_(std::move(where)), problems_(problems) {
  if (!node.is_mapping()) {
    problems.add(node.place, fmt::format("{}: got {}, wanted a mapping", where_, node.described()));
  }
}

const YamlNode* MappingReader::get(const std::string& key) {
  known_.push_back(key);
  return node_.find(key);
}

const YamlNode* MappingReader::require(const std::string& key) {
  const YamlNode* found = get(key);
  if (found == nullptr && node_.is_mapping()) {
    problems_.add(node_.place, fmt::format("{}: `{}` is missing", where_, key));
  }
  return found;
}

std::string MappingReader::text(const std::string& key, const std::string& otherwise) {
  const YamlNode* found = get(key);
  if (found == nullptr) {
    return otherwise;
  }
  if (!found->is_scalar()) {
    problems_.add(found->place,
                  fmt::format("{}: `{}`: got {}, wanted text", where_, key, found->described()));
    return otherwise;
  }
  return found->scalar;
}

long long MappingReader::integer(const std::string& key, long long otherwise, long long minimum,
                                 long long maximum) {
  const YamlNode* found = get(key);
  if (found == nullptr) {
    return otherwise;
  }
  const nlohmann::json value = yaml_to_json(*found);
  if (!value.is_number_integer()) {
    problems_.add(found->place, fmt::format("{}: `{}`: got {}, wanted a whole number", where_, key,
                                            found->described()));
    return otherwise;
  }
  const auto number = value.get<long long>();
  if (number < minimum || number > maximum) {
    problems_.add(found->place, fmt::format("{}: {} = {}, expected {}..{}", where_, key, number,
                                            minimum, maximum));
    return otherwise;
  }
  return number;
}

void MappingReader::finish() {
  for (const YamlNode::Member& member : node_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) {
      continue;
    }
    const std::string near = nearest(member.key, known_);
    problems_.add(member.key_place,
                  fmt::format("{}: unknown key `{}`; {}", where_, printable(member.key),
                              near.empty() ? fmt::format("known are {}", fmt::join(known_, ", "))
                                           : fmt::format("did you mean `{}`?", near)));
  }
}

}  // namespace quench
