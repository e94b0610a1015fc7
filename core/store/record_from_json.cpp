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
    out.index = narrow<uint32_t>("index");
    out.count = narrow<uint32_t>("count");
    out.job = narrow<uint64_t>("job");
    out.direction = narrow<int>("direction");
    out.value = number(take("value"));
    out.standard_error = number(take("stderr"));
    out.seconds = number(take("seconds")).get<double>();
    for (const json& item : json_.at("items")) {
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
    if (found == json_.end() || !is_count(*found)) {
      fail(QUENCH_DATA_LOSS, "{}: the record has no schema", where_);
    }
    if (const auto schema = found->get<uint64_t>(); schema > kRecordSchema) {
      fail(QUENCH_FAILED_PRECONDITION,
           "{}: a newer version wrote this record of schema {}; this one reads up to {}", where_,
           schema, kRecordSchema);
    } else if (schema < kRecordSchema) {
      fail(QUENCH_DATA_LOSS, "{}: got a record of schema {}, wanted {}", where_, schema,
           kRecordSchema);
    }
  }

  // Checks that the record has every field with its type, and no other.
  void check_names() const {
    for (const RecordField& field : record_fields()) {
      const auto found = json_.find(field.name);
      if (found == json_.end()) {
        fail(QUENCH_DATA_LOSS, "{}: the record has no {}", where_, field.name);
      }
      if (!fits(*found, field.type)) {
        fail(QUENCH_DATA_LOSS, "{}: {} is {}", where_, field.name, printable(found->dump(), 40));
      }
    }
    if (record_fields().size() < json_.size()) {
      for (const auto& [name, value] : json_.items()) {
        const auto same = [&name = name](const RecordField& field) { return field.name == name; };
        if (std::none_of(record_fields().begin(), record_fields().end(), same)) {
          fail(QUENCH_DATA_LOSS, "{}: schema {} has no field '{}'", where_, kRecordSchema,
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

  json take(const char* name) { return std::move(json_.at(name)); }

  std::string text(const char* name) {
    json value = take(name);
    return value.is_null() ? std::string() : std::move(value.get_ref<std::string&>());
  }

  template <typename Integer>
  Integer narrow(const char* name) const {
    const json& found = json_.at(name);
    const bool fits = is_count(found)
                          ? found.get<uint64_t>() <= uint64_t{std::numeric_limits<Integer>::max()}
                          : found.get<int64_t>() >= std::numeric_limits<int>::min();
    if (!fits) {
      fail(QUENCH_DATA_LOSS, "{}: {} is {}", where_, name, found.dump());
    }
    return found.get<Integer>();
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
};

}  // namespace

Record record_from_json(json value, const std::string& where) {
  return Reader(std::move(value), where).read();
}

}  // namespace quench
