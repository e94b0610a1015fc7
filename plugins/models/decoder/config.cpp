#include "models/decoder/config.hpp"

#include <algorithm>
#include <string_view>

#include "models/decoder/known_keys.hpp"
#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

// A key from a file, shortened and cleaned for a message.
std::string printable(const std::string& key) {
  std::string text = key.substr(0, 60);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c == '\x7F'; }, '?');
  return text;
}

bool is_null_at(const kit::Json& config, const std::string& at, const std::string& key) {
  const std::optional<kit::JsonValue> value = config.find(at)->member(key);
  return !value || value->type() == QUENCH_JSON_NULL;
}

// Keys of the object at `at` that are neither understood nor, at the top level, known to have no
// effect.
std::vector<std::string> keys_not_in(const kit::Json& config, const std::string& at,
                                     std::span<const std::string_view> understood) {
  std::vector<std::string> unknown = config.keys(at);
  std::erase_if(unknown, [&](const std::string& key) {
    return std::find(understood.begin(), understood.end(), key) != understood.end() ||
           (at.empty() ? is_without_effect(config, key) : is_null_at(config, at, key));
  });
  return unknown;
}

std::vector<std::string> cleaned(std::vector<std::string> keys) {
  std::transform(keys.begin(), keys.end(), keys.begin(), printable);
  return keys;
}

// For a message; of very many the first.
std::string shown_keys(const std::vector<std::string>& keys) {
  constexpr size_t kShownBytes = 300;
  std::string text;
  for (const std::string& key : keys) {
    if (text.size() < kShownBytes) {
      text += (text.empty() ? "" : ", ") + printable(key);
    }
  }
  return text;
}

}  // namespace

int64_t required_size(const kit::Json& config, const std::string& key, int64_t minimum,
                      int64_t maximum) {
  if (!config.has("/" + key)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s is missing", key.c_str());
  }
  const int64_t value = config.integer("/" + key);
  if (value < minimum || value > maximum) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %lld, wanted %lld..%lld", key.c_str(),
              static_cast<long long>(value), static_cast<long long>(minimum),
              static_cast<long long>(maximum));
  }
  return value;
}

double initializer_range(const kit::Json& config) {
  const double range = config.number_or("/initializer_range", 0.02);
  if (!(range >= 0.0 && range <= 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: initializer_range = %g, wanted 0..1", range);
  }
  return range;
}

std::optional<double> agreed_number(const kit::Json& config, std::span<const char* const> places) {
  std::optional<double> agreed;
  const char* first = nullptr;
  for (const char* place : places) {
    if (!config.has(place)) {
      continue;
    }
    const double value = config.number(place);
    if (agreed && *agreed != value) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g contradicts %s = %g", place + 1, value,
                first + 1, *agreed);
    }
    if (!agreed) {
      agreed = value;
      first = place;
    }
  }
  return agreed;
}

std::vector<std::string> unknown_keys(const kit::Json& config, const std::string& at,
                                      std::span<const std::string_view> understood) {
  return cleaned(keys_not_in(config, at, understood));
}

void refuse_unknown_keys(const kit::Json& config, const std::string& at,
                         std::span<const std::string_view> understood) {
  std::vector<std::string> refused = keys_not_in(config, at, understood);
  if (at.empty()) {
    std::erase_if(refused,
                  [&](const std::string& key) { return !speaks_of_the_forward(config, key); });
  }
  if (!refused.empty()) {
    kit::fail(QUENCH_UNSUPPORTED,
              "config: %s%s%s: not understood, and might change what the model computes",
              at.empty() ? "" : at.c_str() + 1, at.empty() ? "" : ": ",
              shown_keys(refused).c_str());
  }
}

void tell_unknown_keys(const kit::Json& config, std::span<const std::string_view> understood) {
  if (const std::vector<std::string> unknown = keys_not_in(config, "", understood);
      !unknown.empty()) {
    kit::log(QUENCH_LOG_WARNING,
             "config.json: " + shown_keys(unknown) + ": not known, taken to change nothing");
  }
}

}  // namespace quench::decoder
