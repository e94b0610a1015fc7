#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/store/record_schema.hpp"

namespace quench {

namespace {

using nlohmann::json;

class Reader {
 public:
  Reader(json value, const std::string& where) : json_(std::move(value)), where_(where) {}

  Record read() {
    if (!json_.is_object()) {
      fail(QUENCH_DATA_LOSS, "{}: got {}, wanted a record", where_, json_.type_name());
    }
    check_schema();
    check_names();
    Record out;
    out.averaging = take("averaging");
    out.cached = text("cached");
    out.checkpoint = take("checkpoint");
    out.details = take("details");
    out.draw = take("draw");
    out.environment = take("environment");
    out.error = text("error");
    out.jitter = take("jitter");
    out.key = text("key");
    out.label = text("label");
    out.metric = text("metric");
    out.parts = take("parts");
    out.quantizer = take("quantizer");
    out.unit = text("unit");
    out.index = narrow<uint32_t>("index", 0);
    out.count = narrow<uint32_t>("count", 1);
    out.job = narrow<uint64_t>("job", 0);
    out.direction = narrow<int>("direction", 0);
    out.value = number(take("value"));
    out.standard_error = number(take("stderr"));
    const json seconds = number(take("seconds"));
    out.seconds = seconds.is_null() ? 0 : seconds.get<double>();
    for (const json& item : json_.value("items", json::array())) {
      out.items.push_back(number(item).get<double>());
    }
    if (out.index >= out.count) {
      fail(QUENCH_DATA_LOSS, "{}: index {} of {} values", where_, out.index, out.count);
    }
    return out;
  }

 private:
  void check_schema() {
    const auto found = json_.find("schema");
    if (found == json_.end() || !is_count(*found) || *found < 1) {
      fail(QUENCH_DATA_LOSS, "{}: the record has no schema", where_);
    }
    schema_ = found->get<uint64_t>();
    if (schema_ > kRecordSchema) {
      fail(QUENCH_FAILED_PRECONDITION,
           "{}: a newer version wrote this record of schema {}; this one reads up to {}", where_,
           schema_, kRecordSchema);
    }
  }

  // Checks that the record has every field of its schema with its type, and no other.
  void check_names() const {
    size_t known = 0;
    for (const RecordField& field : record_fields()) {
      const auto found = json_.find(field.name);
      if (field.since > static_cast<int>(schema_)) {
        continue;
      }
      if (found == json_.end()) {
        fail(QUENCH_DATA_LOSS, "{}: the record has no {}", where_, field.name);
      }
      if (!fits(*found, field.type)) {
        fail(QUENCH_DATA_LOSS, "{}: {} is {}", where_, field.name, printable(found->dump(), 40));
      }
      ++known;
    }
    if (known < json_.size()) {
      for (const auto& [name, value] : json_.items()) {
        const auto same = [&](const RecordField& field) {
          return field.name == name && field.since <= static_cast<int>(schema_);
        };
        if (std::none_of(record_fields().begin(), record_fields().end(), same)) {
          fail(QUENCH_DATA_LOSS, "{}: schema {} has no field '{}'", where_, schema_,
               printable(name, 40));
        }
      }
    }
  }

  // nlohmann does not tag a value built from a signed C++ integer as unsigned.
  static bool is_count(const json& value) {
    return value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  }

  static bool is_number(const json& value) {
    return value.is_number() || value == "NaN" || value == "Infinity" || value == "-Infinity";
  }

  static bool fits(const json& value, FieldType type) {
    switch (type) {
      case FieldType::kText:
        return value.is_string();
      case FieldType::kTextOrNull:
        return value.is_string() || value.is_null();
      case FieldType::kCount:
        return is_count(value);
      case FieldType::kCountOrNull:
        return is_count(value) || value.is_null();
      case FieldType::kInteger:
        return value.is_number_integer();
      case FieldType::kNumber:
        return is_number(value);
      case FieldType::kNumberOrNull:
        return is_number(value) || value.is_null();
      case FieldType::kNumbers:
        return value.is_array() && std::all_of(value.begin(), value.end(), is_number);
      case FieldType::kObject:
        return value.is_object();
      case FieldType::kObjectOrNull:
        return value.is_object() || value.is_null();
    }
    return false;
  }

  json take(const char* name) {
    const auto found = json_.find(name);
    return found == json_.end() ? json() : std::move(*found);
  }

  std::string text(const char* name) {
    json value = take(name);
    return value.is_null() ? std::string() : std::move(value.get_ref<std::string&>());
  }

  template <typename Integer>
  Integer narrow(const char* name, Integer otherwise) const {
    const auto found = json_.find(name);
    if (found == json_.end()) {
      return otherwise;
    }
    const bool fits = is_count(*found)
                          ? found->get<uint64_t>() <= uint64_t{std::numeric_limits<Integer>::max()}
                          : found->get<int64_t>() >= std::numeric_limits<int>::min();
    if (!fits) {
      fail(QUENCH_DATA_LOSS, "{}: {} is {}", where_, name, found->dump());
    }
    return found->get<Integer>();
  }

  static json number(json value) {
    if (!value.is_string()) {
      return value;
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto& text = value.get_ref<const std::string&>();
    return text == "NaN"        ? std::numeric_limits<double>::quiet_NaN()
           : text == "Infinity" ? kInfinity
                                : -kInfinity;
  }

  json json_;
  const std::string& where_;
  uint64_t schema_ = 0;
};

}  // namespace

Record record_from_json(json value, const std::string& where) {
  return Reader(std::move(value), where).read();
}

}  // namespace quench
