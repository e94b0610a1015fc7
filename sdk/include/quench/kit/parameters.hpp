// Typed hyper-parameters. A plugin writes a struct with default values and one function `describe`.
// Both the schema, which the host shows and checks, and the parser of the JSON that the host passes
// follow from it:
//
//   struct Params {
//     int64_t bits = 4;
//     static void describe(kit::Fields<Params>& f) {
//       f.add("bits", &Params::bits, "bits per code").range(2, 8);
//     }
//   };
#pragma once

#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quench/abi/parameter.h"
#include "quench/kit/json.hpp"

namespace quench::kit {

// The name of a corpus that the host opens for the plugin; empty if it is not set.
struct CorpusName {
  std::string name;
};

// A file or folder.
struct Path {
  std::string path;
};

namespace detail {

inline std::string json_text(bool value) {
  return value ? "true" : "false";
}
inline std::string json_text(int64_t value) {
  return std::to_string(value);
}
inline std::string json_text(double value) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {  // the shortest text that reads back equal
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) {
      break;
    }
  }
  return text;
}
inline std::string json_text(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
    }
    text += c;
  }
  return text + "\"";
}
template <typename T>
std::string json_text(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ",") + json_text(values[i]);
  }
  return text + "]";
}

inline void read(const Json& json, const std::string& at, bool& value) {
  value = json.boolean(at);
}
inline void read(const Json& json, const std::string& at, int64_t& value) {
  value = json.integer(at);
}
inline void read(const Json& json, const std::string& at, double& value) {
  value = json.number(at);
}
inline void read(const Json& json, const std::string& at, std::string& value) {
  value = json.string(at);
}
inline void read(const Json& json, const std::string& at, CorpusName& value) {
  value.name = json.string(at);
}
inline void read(const Json& json, const std::string& at, Path& value) {
  value.path = json.string(at);
}
template <typename T>
void read(const Json& json, const std::string& at, std::vector<T>& values) {
  values.resize(json.size(at));
  for (size_t i = 0; i < values.size(); ++i) {
    read(json, at + "/" + std::to_string(i), values[i]);
  }
}
template <typename T>
void read(const Json& json, const std::string& at, std::optional<T>& value) {
  read(json, at, value.emplace());
}

template <typename T>
constexpr int32_t parameter_type() {
  if constexpr (std::is_same_v<T, bool>) {
    return QUENCH_PARAMETER_BOOLEAN;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return QUENCH_PARAMETER_INTEGER;
  } else if constexpr (std::is_same_v<T, double>) {
    return QUENCH_PARAMETER_NUMBER;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return QUENCH_PARAMETER_STRING;
  } else if constexpr (std::is_same_v<T, CorpusName>) {
    return QUENCH_PARAMETER_CORPUS;
  } else if constexpr (std::is_same_v<T, Path>) {
    return QUENCH_PARAMETER_PATH;
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return QUENCH_PARAMETER_INTEGER_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return QUENCH_PARAMETER_NUMBER_LIST;
  } else {
    static_assert(std::is_same_v<T, std::vector<std::string>>, "no parameter of this type");
    return QUENCH_PARAMETER_STRING_LIST;
  }
}

template <typename T>
struct value_type {
  using type = T;
};
template <typename T>
struct value_type<std::optional<T>> {
  using type = T;
};

}  // namespace detail

// The fields of a Params struct.
template <typename Params>
class Fields {
 public:
  // One field; its functions refine what `add` knows.
  class Field {
   public:
    Field& range(double minimum, double maximum) {
      schema_.minimum = minimum;
      schema_.maximum = maximum;
      return *this;
    }
    Field& at_least(double minimum) { return range(minimum, schema_.maximum); }
    // Restricts a string field to one of "a|b|c".
    Field& choices(const char* list) {
      schema_.type = QUENCH_PARAMETER_CHOICE;
      schema_.choices = list;
      return *this;
    }
    // The manifest must set this field.
    Field& required() {
      default_json_.clear();
      required_ = true;
      return *this;
    }

   private:
    friend class Fields;
    quench_parameter schema_{};
    std::string default_json_;
    bool required_ = false;
    std::function<void(const Json&, Params&)> read_;
  };

  // Adds the field `name`, whose default is the member's initializer. The default of an optional
  // member is null.
  template <typename T>
  Field& add(const char* name, T Params::*member, const char* meaning) {
    using Value = typename detail::value_type<T>::type;
    Field& field = fields_.emplace_back();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    field.schema_ = {sizeof(quench_parameter),
                     detail::parameter_type<Value>(),
                     name,
                     nullptr,
                     -kInfinity,
                     kInfinity,
                     nullptr,
                     meaning};
    const Params defaults{};
    if constexpr (!std::is_same_v<T, Value>) {
      field.default_json_ = "null";
    } else if constexpr (std::is_same_v<T, CorpusName>) {
      field.default_json_ = detail::json_text((defaults.*member).name);
    } else if constexpr (std::is_same_v<T, Path>) {
      field.default_json_ = detail::json_text((defaults.*member).path);
    } else {
      field.default_json_ = detail::json_text(defaults.*member);
    }
    field.read_ = [name, member](const Json& json, Params& params) {
      const std::string at = "/" + std::string(name);
      if (json.has(at)) {
        detail::read(json, at, params.*member);
      }
    };
    return field;
  }

  // The schema as ABI structs; valid as long as this object, which must not grow afterwards.
  const std::vector<quench_parameter>& schema() {
    if (schema_.empty()) {
      for (Field& field : fields_) {
        field.schema_.default_json = field.required_ ? nullptr : field.default_json_.c_str();
        schema_.push_back(field.schema_);
      }
    }
    return schema_;
  }

  Params parse(const char* text, uint64_t bytes) const {
    const Json json(text, bytes);
    Params params{};
    for (const Field& field : fields_) {
      field.read_(json, params);
    }
    return params;
  }

 private:
  std::deque<Field> fields_;  // a deque, so that `add` can return references
  std::vector<quench_parameter> schema_;
};

// The fields of Params, described once per process.
template <typename Params>
Fields<Params>& fields_of() {
  static Fields<Params> fields = [] {
    Fields<Params> described;
    Params::describe(described);
    return described;
  }();
  return fields;
}

}  // namespace quench::kit
