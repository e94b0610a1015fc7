#include "run/manifest/document_keys.hpp"

#include "core/error.hpp"
#include "run/manifest/cluster_keys.hpp"
#include "run/manifest/manifest_data.hpp"
#include "run/manifest/manifest_items.hpp"
#include "run/manifest/requirements.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kMaxName = 200;  // bytes of a run's name; file systems take 255

// The name is also the name of a folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' &&
         name.find('/') == std::string::npos && printable(name, name.size() + 1) == name;
}

void read_name(MappingReader& reader, Document& document) {
  Manifest& out = document.out;
  out.name = reader.text("name", out.file.stem().string());
  if (!is_plain_name(out.name)) {
    const YamlNode* name = document.root.find("name");
    out.problems.add(
        name != nullptr ? name->place : document.root.place,
        fmt::format("manifest: name = \"{}\", wanted a plain folder name", printable(out.name)));
  }
}

void read_metrics(MappingReader& reader, Document& document) {
  Manifest& out = document.out;
  const YamlNode* metrics = reader.require("metrics");
  if (metrics == nullptr) {
    return;
  }
  out.metrics = read_items(metrics, ItemKind::kMetric, out.problems);
  if (metrics->is_null() || (metrics->is_sequence() && metrics->items.empty())) {
    out.problems.add(metrics->place, "metrics: empty; wanted at least one");
  }
}

// The section `train` and `model: train` need each other.
void read_train(MappingReader& reader, Document& document) {
  Manifest& out = document.out;
  const YamlNode* train = reader.get("train");
  if (train != nullptr) {
    out.training = read_training(*train, out.problems);
  }
  const bool wanted = out.checkpoints.is_trained();
  if (wanted && train == nullptr) {
    out.problems.add(out.checkpoints.place,
                     "checkpoints: `model: train` without a section `train`");
  } else if (!wanted && train != nullptr && document.root.find("checkpoints") != nullptr) {
    out.problems.add(train->place,
                     "manifest: a section `train` needs `model: train` under `checkpoints`");
  }
}

void read_in_process(const YamlNode* list, Document& document) {
  constexpr const char* kWanted = "in_process: got {}, wanted {}";
  if (list == nullptr || list->is_null()) {
    return;
  }
  if (!list->is_sequence()) {
    document.out.problems.add(list->place,
                              fmt::format(kWanted, list->described(), "a list of plugins"));
    return;
  }
  for (const YamlNode& item : list->items) {
    if (item.is_scalar() && !item.scalar.empty()) {
      document.out.in_process.push_back({item.scalar, item.place});
    } else {
      document.out.problems.add(item.place,
                                fmt::format(kWanted, item.described(), "a plugin's id"));
    }
  }
}

// In the order of reading.
const std::vector<SectionKey<Document>> kKeys = {
    {"name",
     [](const Catalog&) {
       return json{{"type", json::array({"string", "number"})},
                   {"pattern", "^[^./][^/]*$"},
                   {"maxLength", kMaxName},
                   {"description", "Name of the run and of its results folder"}};
     },
     read_name},
    {"seed",
     [](const Catalog&) {
       return json{{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxSeed}, {"default", 0}};
     },
     [](MappingReader& reader, Document& document) {
       document.out.seed = static_cast<uint64_t>(reader.integer("seed", 0, 0, kMaxSeed));
     }},
    {"dtype",
     [](const Catalog&) {
       return json{{"enum", dtype_names()}, {"default", "float32"}};
     },
     [](MappingReader& reader, Document& document) {
       if (const YamlNode* dtype = reader.get("dtype")) {
         document.out.dtype = reader.text("dtype", "float32");
         document.out.dtype_place = dtype->place;
       }
     }},
    {"device",
     [](const Catalog&) {
       return json{{"type", "string"}, {"pattern", "^(cpu|cuda(:[0-9]+)?)$"}, {"default", "cpu"}};
     },
     [](MappingReader& reader, Document& document) {
       if (const YamlNode* device = reader.get("device")) {
         document.out.device = reader.text("device", "cpu");
         document.out.device_place = device->place;
       }
     }},
    {"requires",
     [](const Catalog& catalog) {
       return described(requires_schema(catalog), "What must be installed");
     },
     [](MappingReader& reader, Document& document) {
       document.out.requirements = read_requirements(reader.get("requires"), document.out.problems);
     }},
    {"in_process",
     [](const Catalog&) {
       return described(
           {{"type", json::array({"array", "null"})}, {"items", {{"type", "string"}}}},
           "Plugins that did not come with quench and run in its process all the same");
     },
     [](MappingReader& reader, Document& document) {
       read_in_process(reader.get("in_process"), document);
     }},
    {"checkpoints",
     [](const Catalog& catalog) {
       return described(checkpoints_schema(catalog), "The trajectory: a tree of branches");
     },
     [](MappingReader& reader, Document& document) {
       if (const YamlNode* checkpoints = reader.require("checkpoints")) {
         document.out.checkpoints = read_checkpoints(*checkpoints, document.out.problems);
       }
     }},
    {"train",
     [](const Catalog& catalog) {
       return described(train_schema(catalog), "What to train, with `model: train`");
     },
     read_train},
    {"averaging",
     [](const Catalog& catalog) {
       return described(entries_schema(catalog, ItemKind::kAveraging), "Averages of checkpoints");
     },
     [](MappingReader& reader, Document& document) {
       document.out.averagings =
           read_items(reader.get("averaging"), ItemKind::kAveraging, document.out.problems);
     }},
    {"quantizers",
     [](const Catalog& catalog) {
       return described(entries_schema(catalog, ItemKind::kQuantizer),
                        "Methods; a list is an axis");
     },
     [](MappingReader& reader, Document& document) {
       document.out.quantizers =
           read_items(reader.get("quantizers"), ItemKind::kQuantizer, document.out.problems);
     }},
    {"metrics",
     [](const Catalog& catalog) {
       json metrics = entries_schema(catalog, ItemKind::kMetric);
       metrics["type"] = "array";
       metrics["minItems"] = 1;
       return described(metrics, "What to measure");
     },
     read_metrics},
    {"calibration",
     [](const Catalog& catalog) {
       return described(calibration_schema(catalog), "Named calibration data");
     },
     [](MappingReader& reader, Document& document) {
       document.out.calibrations =
           read_calibrations(reader.get("calibration"), document.out.problems);
     }},
    {"corpora",
     [](const Catalog& catalog) {
       return described(corpora_schema(catalog), "Named texts or ids");
     },
     [](MappingReader& reader, Document& document) {
       document.out.corpora = read_corpora(reader.get("corpora"), document.out.problems);
     }},
    {"report",
     [](const Catalog&) {
       return json{{"type", json::array({"object", "null"})}, {"description", "The report"}};
     },
     [](MappingReader& reader, Document& document) {
       if (const YamlNode* report = reader.get("report")) {
         document.out.report = *report;
       }
     }},
    {"sweep",
     [](const Catalog&) {
       return described(sweep_schema(), "Points, or lists under dotted paths; each point is a run");
     },
     [](MappingReader& reader, Document&) { reader.get("sweep"); }},
    {"storage",
     [](const Catalog& catalog) {
       return described(storage_schema(catalog),
                        "What `run --fetch` may keep of the hub's weights");
     },
     [](MappingReader& reader, Document& document) {
       document.out.storage = read_storage(reader.get("storage"), document.out.problems);
     }},
    {"cluster",
     [](const Catalog& catalog) {
       return described(cluster_schema(catalog), "What quench submit asks a cluster for");
     },
     [](MappingReader& reader, Document& document) {
       if (const YamlNode* cluster = reader.get("cluster")) {
         document.out.cluster = read_cluster(*cluster, document.out.problems);
       }
     }}};

}  // namespace

std::span<const SectionKey<Document>> document_keys() {
  return kKeys;
}

const std::vector<std::pair<std::string, std::string>>& homes_of_keys() {
  static const std::vector<std::pair<std::string, std::string>> kHomes = {
      {"model", "under `checkpoints`"},
      {"tokenizer", "under `checkpoints`"},
      {"revisions", "under `checkpoints`"},
      {"branches", "under `checkpoints`"},
      {"lr", "under `checkpoints`"},
      {"phases", "under `checkpoints`"},
      {"contrasts", "under `report`"},
      {"figures", "under `report`"},
      {"replicates", "beside the id of a quantizer"},
      {"export", "beside the id of a quantizer"},
      {"partition", "under `cluster`"},
      {"shares", "under `cluster`"},
      {"corpus", "under a name in `calibration`, or in a metric's parameters"},
      {"optimizer", "under `train`"},
      {"forks", "under `train`"},
      {"steps", "under `train`"},
      {"documents", "under a name in `calibration`"},
      {"sequences", "under a name in `calibration`"},
      {"length", "under a name in `calibration`"},
      {"packing", "under a name in `calibration`"}};
  return kHomes;
}

}  // namespace quench
