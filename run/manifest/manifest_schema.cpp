#include "run/manifest/manifest_schema.hpp"

#include <nlohmann/json.hpp>

#include "core/experiment/experiment.hpp"
#include "quench/abi/kind/format.h"
#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

namespace {

using nlohmann::json;

// An object with these properties and no others.
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
           {{"description", "A whole number, perhaps with one of k, M, B, T behind it"},
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

// `- id: {...}` for the plugins of a kind, with these keys of the host's beside the id.
json entries_schema(const Catalog& catalog, const std::string& kind, const json& host_keys) {
  json properties = host_keys;
  json one_id = json::array();
  json bare = json::array();  // ids that may stand alone
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    properties[plugin->id] = parameters_schema(*plugin);
    one_id.push_back({{"required", {plugin->id}}});
    if (!properties[plugin->id].contains("required")) {
      bare.push_back(plugin->id);
    }
  }
  json entry = closed(std::move(properties));
  json forms = json::array();
  if (!one_id.empty()) {
    entry["oneOf"] = one_id;
    forms.push_back(entry);
  }
  if (!bare.empty()) {
    forms.push_back({{"enum", bare}});
  }
  json out = {{"type", json::array({"array", "null"})}};
  out["items"] = forms.empty() ? json(false) : json{{"anyOf", forms}};
  return out;
}

json label_key() {
  return described(reference("name"), "What results and figures call it");
}

json averaging_schema(const Catalog& catalog) {
  const json flag = {{"type", "boolean"}};
  return entries_schema(
      catalog, "averaging",
      {{"label", label_key()},
       {"of", described({{"type", "array"}, {"items", reference("name")}, {"minItems", 1}},
                        "An explicit set, branch@last or branch@step600, instead of windows")},
       {"raw", described(flag, "false: unaveraged checkpoints leave the grid")},
       {"keep", described(flag, "true: write the averaged weights beside the results")}});
}

json written_formats(const Catalog& catalog) {
  json ids = json::array();
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    if (format->instance && (format->instance->needs & QUENCH_FORMAT_WRITES) != 0) {
      ids.push_back(format->id);
    }
  }
  return ids;
}

json quantizers_schema(const Catalog& catalog) {
  const json at = {{"type", "array"}, {"items", reference("name")}, {"minItems", 1}};
  const json replicates =
      closed({{"draws", described({{"type", "integer"}, {"minimum", 1}, {"maximum", 10000}},
                                  "Disjoint slices of the calibration corpus")},
              {"jitter", described({{"type", "integer"}, {"minimum", 0}, {"maximum", 10000}},
                                   "Permutations of the order of the same data")},
              {"at", described(at, "first, last, forks, or branch@revision")}});
  json with_parameters = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind("transform")) {
    with_parameters[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  json one = closed(with_parameters);
  one["minProperties"] = 1;
  one["maxProperties"] = 1;
  const json transform =
      ids.empty() ? json(false) : json{{"anyOf", json::array({{{"enum", ids}}, one})}};
  return entries_schema(
      catalog, "quantizer",
      {{"label", label_key()},
       {"transform", described(transform, "A change of the float model before it is quantized")},
       {"calibration", described(reference("name"), "A name in `calibration`")},
       {"replicates", described(replicates, "Repetitions that show the spread")},
       {"export", described({{"enum", written_formats(catalog)}},
                            "Also write the quantized weights, in a format of other tools")}});
}

json calibration_schema() {
  const json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", 2147483648}};
  json one =
      closed({{"corpus", described(reference("name"), "A name in `corpora`")},
              {"documents", described(count, "How many documents; without it all")},
              {"sequences", described(count, "With packing concat: how many sequences")},
              {"length", described({{"type", "integer"}, {"minimum", 2}, {"maximum", 2147483648}},
                                   "Ids per sequence")},
              {"packing", {{"enum", {"none", "concat"}}}},
              {"pads", described({{"enum", {"masked", "counted"}}},
                                 "Whether documents are padded, and the pads count")},
              {"pad_batch", described(count, "Documents that are padded to their longest")},
              {"pad_id", described({{"type", "integer"}, {"minimum", 0}, {"maximum", 2147483647}},
                                   "The token of a pad")}});
  one["required"] = json::array({"corpus"});
  return {{"type", json::array({"object", "null"})}, {"additionalProperties", one}};
}

json corpora_schema(const Catalog& catalog) {
  json kinds = json::object();
  for (const PluginDescription* plugin : catalog.of_kind("corpus")) {
    kinds[plugin->id] = parameters_schema(*plugin);
  }
  json one_id = json::array();
  for (const auto& [id, unused] : kinds.items()) {
    one_id.push_back({{"required", {id}}});
  }
  kinds["part"] = {{"enum", {"training", "held_out"}},
                   {"description", "Only this part of the documents"}};
  kinds["held_out"] = {{"type", "number"},
                       {"exclusiveMinimum", 0},
                       {"exclusiveMaximum", 1},
                       {"description", "The share of documents that is held out"}};
  json one = closed(kinds);
  one["dependencies"] = {{"part", {"held_out"}}, {"held_out", {"part"}}};
  if (!one_id.empty()) {
    one["oneOf"] = one_id;
  }
  return {{"type", json::array({"object", "null"})}, {"additionalProperties", one}};
}

json requires_schema() {
  const json plugin = closed({{"version", reference("version")},
                              {"sha256", {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}}});
  return closed({{"quench", reference("version")},
                 {"plugins", {{"type", "object"}, {"additionalProperties", plugin}}}});
}

json fork_schema() {
  const json positive = {{"type", "number"}, {"minimum", 0}};
  json out = closed({{"steps", described(reference("amount"), "Step at which the fork ends")},
                     {"decay_steps", described(reference("amount"), "Steps of its decay")},
                     {"decay", {{"enum", {"linear", "1-sqrt"}}}},
                     {"final", described(positive, "The learning rate at the end")},
                     {"every", described(reference("amount"), "Steps between its checkpoints")},
                     {"mark", {{"enum", branch_marks()}}}});
  out["required"] = {"steps", "decay_steps"};
  return out;
}

// The learning rate of a training: a schedule without its length, which the training tells.
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

json train_schema(const Catalog& catalog) {
  json optimizer = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind("optimizer")) {
    optimizer[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  json entry = closed(optimizer);
  entry["minProperties"] = 1;
  entry["maxProperties"] = 1;
  json forms = {entry};
  if (!ids.empty()) {
    forms.push_back({{"enum", ids}});
  }
  const json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1 << 24}};
  json validation = closed({{"corpus", reference("name")},
                            {"sequences", count},
                            {"every", described(reference("amount"), "Steps; 0: at checkpoints")}});
  validation["required"] = {"corpus"};
  json out = closed(
      {{"model", described({{"type", json::array({"string", "object"})}},
                           "config.json of the model: its path, or itself")},
       {"corpus", described(reference("name"), "A name in `corpora`")},
       {"tokenizer", described({{"type", "string"}}, "Folder, tokenizer.json or bytes")},
       {"document_end", described({{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}},
                                  "Id put behind every document")},
       {"validation", {{"anyOf", {{{"type", "null"}}, validation}}}},
       {"optimizer", {{"anyOf", forms}}},
       {"lr", training_rate_schema()},
       {"batch", described(count, "Sequences per step")},
       {"micro_batch", described(count, "Sequences per forward, a divisor of the batch")},
       {"length",
        described({{"type", "integer"}, {"minimum", 2}, {"maximum", 1 << 24}}, "Ids per sequence")},
       {"steps", described(reference("amount"), "Length of the run")},
       {"tokens", described(reference("amount"), "Its length in tokens, instead of steps")},
       {"every", described(reference("amount"), "Steps between checkpoints")},
       {"at",
        {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}, {"minItems", 1}}},
       {"snapshots", described(reference("amount"), "Steps between weights that enter averages")},
       {"clip", described({{"type", "number"}, {"minimum", 0}}, "Largest norm of the gradient")},
       {"precision", {{"enum", {"float32", "fp32", "bfloat16", "bf16"}}}},
       {"seed", {{"type", "integer"}, {"minimum", 0}, {"maximum", int64_t{1} << 62}}},
       {"branch", described(reference("name"), "Name of the branch of the whole run")},
       {"mark", {{"enum", branch_marks()}}},
       {"forks",
        {{"type", json::array({"object", "null"})}, {"additionalProperties", fork_schema()}}}});
  out["required"] = {"model", "corpus", "tokenizer", "optimizer", "lr", "batch", "length"};
  return out;
}

json sweep_schema() {
  const json point = {{"type", "object"}, {"minProperties", 1}};
  const json axes = {{"type", "object"},
                     {"minProperties", 1},
                     {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}};
  return {{"anyOf",
           {{{"type", "null"}}, {{"type", "array"}, {"items", point}, {"minItems", 1}}, axes}}};
}

}  // namespace

json manifest_schema(const Catalog& catalog) {
  json metrics = entries_schema(
      catalog, "metric",
      {{"label", label_key()},
       {"of", described({{"enum", {"all", "float", "quantized"}}}, "Which weights it measures")},
       {"in_pass", described({{"type", "boolean"}},
                             "true: its rows go through each block as soon as it is quantized")}});
  metrics["type"] = "array";
  metrics["minItems"] = 1;
  json out = closed(
      {{"name",
        {{"type", json::array({"string", "number"})},
         {"pattern", "^[^./][^/]*$"},
         {"maxLength", 200},
         {"description", "Of the run, and of the folder of its results"}}},
       {"seed",
        {{"type", "integer"}, {"minimum", 0}, {"maximum", int64_t{1} << 62}, {"default", 0}}},
       {"dtype", {{"enum", dtype_names()}, {"default", "float32"}}},
       {"device", {{"type", "string"}, {"pattern", "^(cpu|cuda(:[0-9]+)?)$"}, {"default", "cpu"}}},
       {"requires", described(requires_schema(), "What must be there")},
       {"checkpoints", described(checkpoints_schema(), "The trajectory: a tree of branches")},
       {"train", described(train_schema(catalog), "What is trained, with `model: train`")},
       {"averaging", described(averaging_schema(catalog), "Averages of checkpoints")},
       {"calibration", described(calibration_schema(), "Named calibration data")},
       {"quantizers", described(quantizers_schema(catalog), "Methods; a list is an axis")},
       {"metrics", described(metrics, "What is measured")},
       {"corpora", described(corpora_schema(catalog), "Named texts or ids")},
       {"report", {{"type", json::array({"object", "null"})}, {"description", "The report"}}},
       {"sweep",
        described(sweep_schema(), "Points, or lists under dotted paths: runs of their own")}});
  out["$schema"] = "http://json-schema.org/draft-07/schema#";
  out["title"] = "quench manifest";
  out["definitions"] = definitions();
  // The points of a sweep may bring what the rest lacks.
  out["if"] = {{"not", {{"required", {"sweep"}}}}};
  out["then"] = {
      {"required", {"checkpoints", "metrics"}},
      {"properties",
       {{"checkpoints", {{"anyOf", {{{"required", {"model"}}}, {{"required", {"branches"}}}}}}}}}};
  return out;
}

}  // namespace quench
