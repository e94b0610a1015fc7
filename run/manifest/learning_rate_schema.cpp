#include "run/manifest/schema_pieces.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

using nlohmann::json;

namespace {

json schedule_schema(const json& shapes, const json& more, const json& required) {
  json properties = {
      {"schedule", {{"enum", shapes}}},
      {"peak", described({{"type", "number"}, {"minimum", 0}}, "The highest learning rate")},
      {"warmup", described(reference("amount"), "Steps from 0 to the peak")},
      {"steps", described(reference("amount"), "Length of the run; the rate is unknown beyond")}};
  properties.update(more);
  json out = closed(std::move(properties));
  out["required"] = required;
  return out;
}

}  // namespace

json learning_rate_schema() {
  const json final =
      described({{"type", "number"}, {"minimum", 0}}, "The learning rate at the last step");
  const json file = {{"type", "string"}};
  json points = closed({{"points", described(file, "CSV file with columns step (or tokens), lr")}});
  points["required"] = json::array({"points"});
  const json wsd = {
      {"final", final},
      {"decay_steps", described(reference("amount"), "Steps of the decay, at the end")},
      {"decay", {{"enum", {"linear", "1-sqrt"}}}}};
  return {
      {"description", "The learning rate: a constant, points of a file, or a schedule"},
      {"anyOf",
       {{{"type", "null"}},
        {{"type", "number"}, {"minimum", 0}},
        points,
        schedule_schema(json::array({"constant"}), json::object(), {"schedule", "peak"}),
        schedule_schema({"linear", "cosine"}, {{"final", final}}, {"schedule", "peak", "steps"}),
        schedule_schema({"wsd"}, wsd, {"schedule", "peak", "steps", "decay_steps"})}}};
}

json training_rate_schema() {
  const json number = {{"type", "number"}, {"minimum", 0}};
  json out = closed({{"schedule", {{"enum", {"constant", "linear", "cosine", "wsd"}}}},
                     {"peak", described({{"type", "number"}, {"exclusiveMinimum", 0}},
                                        "The highest learning rate")},
                     {"warmup", described(reference("amount"), "Steps from 0 to the peak")},
                     {"final", described(number, "The learning rate at the end")},
                     {"decay_steps", described(reference("amount"), "Of wsd")},
                     {"decay", {{"enum", {"linear", "1-sqrt"}}}}});
  out["required"] = {"schedule", "peak"};
  return out;
}

}  // namespace quench
