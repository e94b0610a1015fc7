#include "run/manifest/schema_pieces.hpp"

#include <string>
#include <utility>

namespace quench {

using nlohmann::json;

json closed(json properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

json described(json schema, const char* description) {
  schema["description"] = description;
  return schema;
}

json reference(const char* name) {
  return {{"$ref", std::string("#/definitions/") + name}};
}

json definitions() {
  const json open_end = {{"anyOf", {reference("amount"), {{"type", "null"}}}}};
  return {{"name", {{"type", json::array({"string", "number", "boolean"})}}},
          {"amount",
           {{"description", "A whole number, optionally with a unit: k, M, B or T"},
            {"anyOf",
             {{{"type", "integer"}, {"minimum", 0}},
              {{"type", "string"}, {"pattern", "^(0|[1-9][0-9]*|[0-9]+[.][0-9]+)[kKMBT]?$"}}}}}},
          {"range",
           {{"description", "[first, last], both included; null is an open end"},
            {"anyOf",
             {reference("amount"),
              {{"type", "array"}, {"items", open_end}, {"minItems", 2}, {"maxItems", 2}}}}}},
          {"ranges", {{"type", "object"}, {"additionalProperties", reference("range")}}},
          {"version",
           {{"type", json::array({"string", "number"})},
            {"pattern",
             "^ *(>=|<=|==|!=|>|<)? *[0-9]+([.][0-9]+){0,2} *"
             "(, *(>=|<=|==|!=|>|<)? *[0-9]+([.][0-9]+){0,2} *)*$"}}}};
}

}  // namespace quench
