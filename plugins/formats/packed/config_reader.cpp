#include "formats/packed/config_reader.hpp"

#include <utility>

#include "formats/packed/scheme.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/parse_json.hpp"

namespace quench::formats {

using nlohmann::json;

namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;
constexpr const char* kOlderConfig = "quantize_config.json";

FoundConfig found(json object, std::string where) {
  FoundConfig out{std::move(object), std::move(where), ""};
  const ConfigReader reader(out.object, out.where);
  if (out.object.contains("quant_method") && out.object.at("quant_method").is_null()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: quant_method is null, wanted a text", out.where);
  }
  out.method = reader.text("quant_method",
                           reader.text("method", reader.find("bits") != nullptr ? "gptq" : ""));
  return out;
}

}  // namespace

ConfigReader::ConfigReader(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}, wanted an object", where_, object.type_name());
  }
}

const json* ConfigReader::find(const char* key) const {
  const auto at = object_.find(key);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::string ConfigReader::text(const char* key, const std::string& otherwise) const {
  const json* value = find(key);
  if (value == nullptr) {
    return otherwise;
  }
  if (!value->is_string()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {}, wanted a text", where_, key, value->type_name());
  }
  return value->get<std::string>();
}

bool ConfigReader::flag(const char* key, bool otherwise) const {
  const json* value = find(key);
  if (value == nullptr) {
    return otherwise;
  }
  if (!value->is_boolean()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {}, wanted true or false", where_, key,
         value->type_name());
  }
  return value->get<bool>();
}

int64_t ConfigReader::integer(const char* key, std::optional<int64_t> otherwise) const {
  const json* value = find(key);
  if (value == nullptr && otherwise) {
    return *otherwise;
  }
  if (value == nullptr) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no {}", where_, key);
  }
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX});
  if (!fits) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}: {}, wanted an integer", where_, key,
         printable(value->dump(), 40));
  }
  return value->get<int64_t>();
}

bool ConfigReader::empty(const char* key) const {
  const json* value = find(key);
  return value == nullptr || (value->is_structured() && value->empty());
}

int64_t ConfigReader::group_size(const char* key, std::optional<int64_t> otherwise) const {
  const int64_t size = integer(key, otherwise);
  if (size != -1 && (size < 1 || size > kMaxPackedSide)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} = {}, wanted -1 or 1 to {}", where_, key, size,
         kMaxPackedSide);
  }
  return size;
}

std::string ConfigReader::writer() const {
  const json* meta = find("meta");
  const json* quantizer = meta != nullptr && meta->is_object() && meta->contains("quantizer")
                              ? &meta->at("quantizer")
                              : nullptr;
  if (quantizer != nullptr && quantizer->is_array() && !quantizer->empty()) {
    quantizer = &quantizer->front();
  }
  return quantizer != nullptr && quantizer->is_string()
             ? printable(quantizer->get<std::string>(), 80)
             : "";
}

void ConfigReader::check_words() const {
  if (const std::string words = text("pack_dtype", "int32"); words != "int32") {
    fail(QUENCH_UNSUPPORTED, "{}: pack_dtype = {}, read is int32", where_, printable(words));
  }
}

std::optional<FoundConfig> find_quantization(const kit::Place& place) {
  if (!place.config().empty()) {
    const std::string where = place.where("config.json");
    const json config = parse_json(place.config(), where);
    const auto at = config.is_object() ? config.find("quantization_config") : config.end();
    if (at != config.end() && !at->is_null()) {
      return found(*at, where + ": quantization_config");
    }
  }
  if (place.has(kOlderConfig)) {
    const std::string where = place.where(kOlderConfig);
    return found(parse_json(place.text(kOlderConfig, kMaxConfigBytes), where), where);
  }
  return std::nullopt;
}

}  // namespace quench::formats
