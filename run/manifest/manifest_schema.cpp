#include "run/manifest/manifest_schema.hpp"

#include <nlohmann/json.hpp>

#include "run/manifest/document_keys.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

using nlohmann::json;

json manifest_schema(const Catalog& catalog) {
  json out = document_keys().schema(catalog);
  out["$schema"] = "http://json-schema.org/draft-07/schema#";
  out["title"] = "quench manifest";
  out["definitions"] = definitions();
  // The points of a sweep may add what the rest lacks.
  out["if"] = {{"not", {{"required", {"sweep"}}}}};
  out["then"] = {
      {"required", {"checkpoints", "metrics"}},
      {"properties",
       {{"checkpoints", {{"anyOf", {{{"required", {"model"}}}, {{"required", {"branches"}}}}}}}}}};
  return out;
}

}  // namespace quench
