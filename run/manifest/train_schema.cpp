#include <cstdint>

#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/schema_pieces.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

namespace {

using nlohmann::json;

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

}  // namespace

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

}  // namespace quench
