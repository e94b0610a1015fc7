#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/schema_pieces.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

namespace {

using nlohmann::json;

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

// Keys that `checkpoints` has for all branches, and each branch for itself.
json shared_keys() {
  return {
      {"model", described({{"type", json::array({"string", "number"})}, {"minLength", 1}},
                          "Folder, relative to the manifest, or hf://org/name")},
      {"tokenizer",
       described({{"type", "string"}}, "Folder, tokenizer.json, hf://org/name or bytes")},
      {"config", described({{"type", json::array({"string", "object"})}},
                           "config.json for files that come without one: its path, or itself")},
      {"family", described({{"type", "string"}}, "Model plugin, instead of the config's choice")},
      {"tokens_per_step", described(reference("amount"), "Tokens of one training step")},
      {"lr", learning_rate_schema()},
      {"phases", described(reference("ranges"), "Parts of the schedule by step")}};
}

// Keys of one branch.
json branch_keys() {
  json name = reference("name");
  json single = {{"allOf", {name, {{"not", {{"type", "string"}, {"pattern", "[{]"}}}}}}};
  return {
      {"revisions",
       {{"description", "A pattern with captures, \"step{step}\", or a list of names"},
        {"anyOf",
         {{{"type", json::array({"string", "number"})}},
          {{"type", "array"}, {"items", single}, {"minItems", 1}}}}}},
      {"pattern", described(name, "How the names of a list tell step, tokens and other captures")},
      {"thin", described({{"type", "integer"}, {"minimum", 1}},
                         "Keep every n-th checkpoint, the first and the last always")},
      {"match", described(reference("ranges"), "Keep what has these captures in these ranges")},
      {"mark", {{"description", "How figures draw the checkpoints"}, {"enum", branch_marks()}}}};
}

json branch_schema() {
  json keys = shared_keys();
  keys.update(branch_keys());
  keys["parent"] = described(reference("name"), "The branch that this one forks from");
  keys["offset"] =
      described(closed({{"step", reference("amount")}, {"tokens", reference("amount")}}),
                "Where on the axes the branch begins; added to what its revisions tell");
  return closed(std::move(keys));
}

}  // namespace

json checkpoints_schema() {
  json keys = shared_keys();
  keys.update(branch_keys());
  keys["branches"] = {{"description", "The branches of the trajectory by their names"},
                      {"type", "object"},
                      {"minProperties", 1},
                      {"propertyNames", {{"pattern", "^[^@]+$"}}},
                      {"additionalProperties", branch_schema()}};
  json out = closed(std::move(keys));
  json apart = json::array();
  for (const char* key : {"revisions", "thin", "match", "mark"}) {
    apart.push_back({{"not", {{"required", {"branches", key}}}}});
  }
  out["allOf"] = apart;
  return out;
}

}  // namespace quench
