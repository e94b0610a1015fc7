// quench.json/1: parsed documents whose values are fetched by JSON pointer (RFC 6901).
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json/parse_json.hpp"
#include "core/plugin/json_type.hpp"
#include "core/plugin/service_tables.hpp"

struct quench_json_document {
  nlohmann::json root;
};

namespace quench {

namespace {

using nlohmann::json;

quench_status report(quench_error* error, quench_status code, const std::string& message) noexcept {
  if (error != nullptr) {
    error->struct_size = sizeof(quench_error);
    error->code = code;
    const size_t kept = std::min(message.size(), sizeof error->message - 1);
    std::memcpy(error->message, message.data(), kept);
    error->message[kept] = '\0';
  }
  return code;
}

// One reference token with ~1 and ~0 undone, or nothing when it is malformed.
std::optional<std::string> unescape(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
    } else if (++i < token.size() && (token[i] == '0' || token[i] == '1')) {
      out += token[i] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return out;
}

const json* element(const json& array, std::string_view token) {
  if (token.empty() || token.size() > 18 || (token[0] == '0' && token.size() > 1) ||
      token.find_first_not_of("0123456789") != std::string_view::npos) {
    return nullptr;
  }
  const uint64_t index = std::stoull(std::string(token));
  return index < array.size() ? &array[index] : nullptr;
}

// The value that `pointer` names, nothing being copied, or nullptr.
const json* walk(const quench_json_document* document, const char* pointer) {
  const json* value = &document->root;
  std::string_view rest(pointer);
  while (value != nullptr && !rest.empty()) {
    if (rest[0] != '/') {
      return nullptr;
    }
    const size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string_view token = rest.substr(1, end - 1);
    rest = rest.substr(end);
    if (value->is_array()) {
      value = element(*value, token);
    } else if (value->is_object()) {
      const std::optional<std::string> key = unescape(token);
      const auto found = key ? value->find(*key) : value->end();
      value = found != value->end() ? &*found : nullptr;
    } else {
      value = nullptr;
    }
  }
  return value;
}

const char* type_name(int32_t type) {
  constexpr const char* kNames[] = {"nothing",  "null", "a boolean", "an integer",
                                    "a number", "text", "a list",    "an object"};
  return kNames[type];
}

// Runs `read(value)` on the value at `pointer` when its type is `wanted`.
template <typename Read>
quench_status get(const quench_json_document* document, const char* pointer, int32_t wanted,
                  quench_error* error, Read&& read) noexcept {
  try {
    const json* value = walk(document, pointer);
    const int32_t type = value == nullptr ? QUENCH_JSON_ABSENT : json_type(*value);
    if (type == QUENCH_JSON_ABSENT) {
      return report(error, QUENCH_NOT_FOUND, fmt::format("{}: missing", printable(pointer)));
    }
    const bool fits =
        type == wanted || (wanted == QUENCH_JSON_NUMBER && type == QUENCH_JSON_INTEGER);
    if (!fits) {
      return report(error, QUENCH_INVALID_ARGUMENT,
                    fmt::format("{}: wanted {}, got {}", printable(pointer), type_name(wanted),
                                type_name(type)));
    }
    read(*value);
    return QUENCH_OK;
  } catch (const std::bad_alloc&) {
    return report(error, QUENCH_RESOURCE_EXHAUSTED, {});
  }
}

quench_status parse(const quench_host*, const char* text, uint64_t bytes,
                    quench_json_document** document, quench_error* error) noexcept {
  *document = nullptr;
  try {
    *document = new quench_json_document{parse_json({text, bytes}, "JSON")};
    return QUENCH_OK;
  } catch (const Error& failure) {
    return report(error, failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return report(error, QUENCH_RESOURCE_EXHAUSTED, {});
  }
}

void release(quench_json_document* document) noexcept {
  delete document;
}

int32_t type(const quench_json_document* document, const char* pointer) noexcept {
  const json* value = walk(document, pointer);
  return value == nullptr ? QUENCH_JSON_ABSENT : json_type(*value);
}

quench_status boolean(const quench_json_document* document, const char* pointer, int32_t* value,
                      quench_error* error) noexcept {
  return get(document, pointer, QUENCH_JSON_BOOLEAN, error,
             [&](const json& found) { *value = found.get<bool>() ? 1 : 0; });
}

quench_status integer(const quench_json_document* document, const char* pointer, int64_t* value,
                      quench_error* error) noexcept {
  return get(document, pointer, QUENCH_JSON_INTEGER, error,
             [&](const json& found) { *value = found.get<int64_t>(); });
}

quench_status number(const quench_json_document* document, const char* pointer, double* value,
                     quench_error* error) noexcept {
  return get(document, pointer, QUENCH_JSON_NUMBER, error,
             [&](const json& found) { *value = found.get<double>(); });
}

quench_status string(const quench_json_document* document, const char* pointer, const char** text,
                     uint64_t* bytes, quench_error* error) noexcept {
  return get(document, pointer, QUENCH_JSON_STRING, error, [&](const json& found) {
    const auto& kept = found.get_ref<const std::string&>();
    *text = kept.c_str();
    *bytes = kept.size();
  });
}

uint64_t size(const quench_json_document* document, const char* pointer) noexcept {
  const json* value = walk(document, pointer);
  return value != nullptr && value->is_structured() ? value->size() : 0;
}

const char* key(const quench_json_document* document, const char* pointer,
                uint64_t index) noexcept {
  const json* value = walk(document, pointer);
  if (value == nullptr || !value->is_object() || index >= value->size()) {
    return nullptr;
  }
  return std::next(value->begin(), static_cast<std::ptrdiff_t>(index)).key().c_str();
}

}  // namespace

const quench_json* json_service() {
  static constexpr quench_json kTable = {
      sizeof(quench_json), parse, release, type, boolean, integer, number, string, size, key};
  return &kTable;
}

}  // namespace quench
