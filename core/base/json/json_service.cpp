#include "core/base/json/json_service.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

// A vocabulary of 2^24 entries with as many merges, pairs included, stays below these.
constexpr JsonLimits kLimits{size_t{1} << 30, 64, size_t{1} << 27};

// A quench_json_value is the library's own node.
const json& node(const quench_json_value* value) {
  return *reinterpret_cast<const json*>(value);
}

const quench_json_value* handed_out(const json& value) {
  return reinterpret_cast<const quench_json_value*>(&value);
}

// QUENCH_JSON_*. An integer beyond int64 is a number.
int32_t type_of(const nlohmann::json& value) {
  using Type = nlohmann::json::value_t;
  switch (value.type()) {
    case Type::null:
      return QUENCH_JSON_NULL;
    case Type::boolean:
      return QUENCH_JSON_BOOLEAN;
    case Type::string:
      return QUENCH_JSON_STRING;
    case Type::array:
      return QUENCH_JSON_ARRAY;
    case Type::object:
      return QUENCH_JSON_OBJECT;
    case Type::number_unsigned:
      return value.get<uint64_t>() <= INT64_MAX ? QUENCH_JSON_INTEGER : QUENCH_JSON_NUMBER;
    case Type::number_integer:
      return QUENCH_JSON_INTEGER;
    default:
      return QUENCH_JSON_NUMBER;
  }
}

quench_status parse(const quench_host*, const char* name, const char* text, uint64_t bytes,
                    quench_json_document** document, quench_error* error) noexcept {
  *document = nullptr;
  return guarded(error, [&] {
    *document =
        reinterpret_cast<quench_json_document*>(new json(parse_json({text, bytes}, name, kLimits)));
  });
}

void release(quench_json_document* document) noexcept {
  delete reinterpret_cast<json*>(document);
}

const quench_json_value* root(const quench_json_document* document) noexcept {
  return handed_out(*reinterpret_cast<const json*>(document));
}

int32_t type(const quench_json_value* value) noexcept {
  return type_of(node(value));
}

uint64_t size(const quench_json_value* value) noexcept {
  return node(value).is_structured() ? node(value).size() : 0;
}

const quench_json_value* member(const quench_json_value* value, const char* key,
                                uint64_t key_bytes) noexcept {
  if (!node(value).is_object()) {
    return nullptr;
  }
  const auto found = node(value).find(std::string_view(key, key_bytes));
  return found != node(value).end() ? handed_out(*found) : nullptr;
}

const quench_json_value* element(const quench_json_value* value, uint64_t index) noexcept {
  return node(value).is_array() && index < node(value).size() ? handed_out(node(value)[index])
                                                              : nullptr;
}

quench_status each_member(const quench_json_value* value,
                          quench_status (*take)(void*, const char*, uint64_t,
                                                const quench_json_value*) noexcept,
                          void* user) noexcept {
  if (!node(value).is_object()) {
    return QUENCH_OK;
  }
  for (auto at = node(value).begin(); at != node(value).end(); ++at) {
    const quench_status status = take(user, at.key().data(), at.key().size(), handed_out(*at));
    if (status != QUENCH_OK) {
      return status;
    }
  }
  return QUENCH_OK;
}

quench_status boolean(const quench_json_value* value, int32_t* out) noexcept {
  if (!node(value).is_boolean()) {
    return QUENCH_INVALID_ARGUMENT;
  }
  *out = node(value).get<bool>() ? 1 : 0;
  return QUENCH_OK;
}

quench_status integer(const quench_json_value* value, int64_t* out) noexcept {
  if (type_of(node(value)) != QUENCH_JSON_INTEGER) {
    return QUENCH_INVALID_ARGUMENT;
  }
  *out = node(value).get<int64_t>();
  return QUENCH_OK;
}

quench_status number(const quench_json_value* value, double* out) noexcept {
  if (!node(value).is_number()) {
    return QUENCH_INVALID_ARGUMENT;
  }
  *out = node(value).get<double>();
  return QUENCH_OK;
}

quench_status string(const quench_json_value* value, const char** text, uint64_t* bytes) noexcept {
  if (!node(value).is_string()) {
    return QUENCH_INVALID_ARGUMENT;
  }
  const auto& kept = node(value).get_ref<const std::string&>();
  *text = kept.c_str();
  *bytes = kept.size();
  return QUENCH_OK;
}

}  // namespace

const quench_json* json_service() {
  static constexpr quench_json kTable = {
      sizeof(quench_json), parse,   release, root,   type,  size, member, element,
      each_member,         boolean, integer, number, string};
  return &kTable;
}

}  // namespace quench
