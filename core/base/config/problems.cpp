#include "core/base/config/problems.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// A person does not read more, and a large manifest can have as many problems as it has bytes.
constexpr size_t kMostProblems = 256;

}  // namespace

void Problems::add(const Place& place, const std::string& message) {
  if (found_.size() >= kMostProblems) {
    throw_if_any();
  }
  std::string text = place.text() + ": " + message;
  if (messages_.insert(text).second) {
    found_.emplace_back(place, std::move(text));
  }
}

void Problems::add(const Place& place, const Error& error, const std::string& before) {
  if (error.code() == QUENCH_CANCELLED) {
    throw;
  }
  if (error.code() == QUENCH_UNAVAILABLE) {
    fail(QUENCH_UNAVAILABLE, "{}: {}{}", place.text(), before, error.what());
  }
  add(place, before + error.what());
}

void Problems::add(const Problems& others) {
  for (const auto& [place, text] : others.found_) {
    if (found_.size() >= kMostProblems) {
      throw_if_any();
    }
    if (messages_.insert(text).second) {
      found_.emplace_back(place, text);
    }
  }
}

void Problems::throw_if_any() const {
  if (found_.empty()) {
    return;
  }
  auto sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.file, a.first.line, a.first.column) <
           std::tie(b.first.file, b.first.line, b.first.column);
  });
  std::vector<std::string> messages;
  messages.reserve(sorted.size() + 1);
  for (const auto& [place, message] : sorted) {
    messages.push_back(message);
  }
  if (found_.size() >= kMostProblems) {
    messages.push_back(
        fmt::format("these are the first {} problems; correct them "
                    "and try again",
                    kMostProblems));
  }
  fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages, "\n"));
}

MappingReader::MappingReader(const YamlNode& node, std::string where, Problems& problems)
    : node_(node), where_(std::move(where)), problems_(problems) {
  if (!node.is_mapping()) {
    problems.add(node.place, fmt::format("{}: got {}, wanted a mapping", where_, node.described()));
  }
}

const YamlNode* MappingReader::get(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  return node_.find(key);
}

const YamlNode* MappingReader::require(const std::string& key) {
  const YamlNode* found = get(key);
  if (found == nullptr && node_.is_mapping()) {
    problems_.add(node_.place, fmt::format("{}: `{}` is missing", where_, key));
  }
  return found;
}

void MappingReader::add(const Place& place, const std::string& message) {
  problems_.add(place, where_ + ": " + message);
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
    problems_.add(found->place, fmt::format("{}: `{}`: got {}, wanted {}..{}", where_, key, number,
                                            minimum, maximum));
    return otherwise;
  }
  return number;
}

std::optional<int64_t> MappingReader::amount(const std::string& key) {
  const YamlNode* found = get(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const auto value = found->is_scalar() ? parse_amount(found->scalar) : std::nullopt;
  if (!value) {
    problems_.add(found->place,
                  fmt::format("{}: `{}`: got {}, wanted a count like 600, 20k, 4000B or 1.5T",
                              where_, key, found->described()));
  }
  return value;
}

double MappingReader::number(const std::string& key, double otherwise, double minimum) {
  const YamlNode* found = get(key);
  if (found == nullptr) {
    return otherwise;
  }
  const nlohmann::json value = yaml_to_json(*found);
  if (!value.is_number()) {
    problems_.add(found->place, fmt::format("{}: `{}`: got {}, wanted a number", where_, key,
                                            found->described()));
    return otherwise;
  }
  if (value.get<double>() < minimum) {
    problems_.add(found->place, fmt::format("{}: `{}`: got {}, wanted at least {}", where_, key,
                                            found->scalar, minimum));
    return otherwise;
  }
  return value.get<double>();
}

bool MappingReader::flag(const std::string& key, bool otherwise) {
  const YamlNode* found = get(key);
  if (found == nullptr) {
    return otherwise;
  }
  const nlohmann::json value = yaml_to_json(*found);
  if (!value.is_boolean()) {
    problems_.add(found->place, fmt::format("{}: `{}`: got {}, wanted true or false", where_, key,
                                            found->described()));
    return otherwise;
  }
  return value.get<bool>();
}

void MappingReader::finish(const std::vector<std::pair<std::string, std::string>>& homes) {
  bool listed = false;  // what is known, once
  for (const YamlNode::Member& member : node_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) {
      continue;
    }
    const auto home = std::find_if(homes.begin(), homes.end(),
                                   [&](const auto& entry) { return entry.first == member.key; });
    const std::string near = nearest(member.key, known_);
    const std::string advice = home != homes.end() ? fmt::format("it belongs {}", home->second)
                               : !near.empty()     ? fmt::format("did you mean `{}`?", near)
                               : listed            ? ""
                                        : fmt::format("known are {}", fmt::join(known_, ", "));
    listed = listed || (home == homes.end() && near.empty());
    problems_.add(member.key_place,
                  fmt::format("{}: unknown key `{}`{}{}", where_, printable(member.key),
                              advice.empty() ? "" : "; ", advice));
  }
}

}  // namespace quench
