#include "run/manifest/document_keys.hpp"

#include "run/manifest/cluster_keys.hpp"
#include "run/manifest/manifest_data.hpp"
#include "run/manifest/manifest_items.hpp"
#include "run/manifest/requirements.hpp"
#include "run/manifest/sweep.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kMaxName = 200;  // bytes of a run's name; file systems take 255

// The name is also the name of a folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' &&
         name.find('/') == std::string::npos && printable(name, name.size() + 1) == name;
}

void read_name(MappingReader& reader, Manifest& out) {
  out.name = reader.text("name", out.file.stem().string());
  if (!is_plain_name(out.name)) {
    const YamlNode* name = reader.get("name");
    reader.add(name != nullptr ? name->place : reader.node().place,
               fmt::format("name = \"{}\", wanted a plain folder name", printable(out.name)));
  }
}

void check_metrics(MappingReader& reader, Manifest& out) {
  const YamlNode* metrics = reader.require("metrics");
  if (metrics != nullptr &&
      (metrics->is_null() || (metrics->is_sequence() && metrics->items.empty()))) {
    out.problems.add(metrics->place, "metrics: empty; wanted at least one");
  }
}

// The section `train` and `model: train` need each other.
void read_train(MappingReader& reader, Manifest& out) {
  const YamlNode* train = reader.get("train");
  if (train != nullptr) {
    out.training = read_training(*train, out.problems);
  }
  const bool wanted = out.checkpoints.is_trained();
  if (wanted && train == nullptr) {
    out.problems.add(out.checkpoints.place,
                     "checkpoints: `model: train` without a section `train`");
  } else if (!wanted && train != nullptr && reader.get("checkpoints") != nullptr) {
    reader.add(train->place, "a section `train` needs `model: train` under `checkpoints`");
  }
}

std::vector<PlacedText> read_in_process(const YamlNode* list, Problems& problems) {
  constexpr const char* kWanted = "in_process: got {}, wanted {}";
  std::vector<PlacedText> out;
  if (list == nullptr || list->is_null()) {
    return out;
  }
  if (!list->is_sequence()) {
    problems.add(list->place, fmt::format(kWanted, list->described(), "a list of plugins"));
    return out;
  }
  for (const YamlNode& item : list->items) {
    if (item.is_scalar() && !item.scalar.empty()) {
      out.push_back({item.scalar, item.place});
    } else {
      problems.add(item.place, fmt::format(kWanted, item.described(), "a plugin's id"));
    }
  }
  return out;
}

// A section that a function of its own reads; it may be nullptr, or null.
template <auto Section, auto Read, typename Schema>
void add_section(Fields<Manifest>& f, const char* name, Schema schema) {
  f.own(name, schema, [name](MappingReader& reader, Manifest& out) {
    out.*Section = Read(reader.get(name), out.problems);
  });
}

template <auto Section, ItemKind kind>
Fields<Manifest>::Field& add_items(Fields<Manifest>& f, const char* name,
                                   Fields<Manifest>::SchemaOf schema) {
  return f.own(name, schema, [name](MappingReader& reader, Manifest& out) {
    out.*Section = read_items(reader.get(name), kind, out.problems);
  });
}

json metrics_schema(const Catalog& catalog) {
  json metrics = entries_schema(catalog, ItemKind::kMetric);
  metrics["type"] = "array";
  metrics["minItems"] = 1;
  return described(std::move(metrics), "What to measure");
}

// In the order of reading.
const Fields<Manifest> kDocument([](Fields<Manifest>& f) {
  f.own("name",
        {{"type", json::array({"string", "number"})},
         {"pattern", "^[^./][^/]*$"},
         {"maxLength", kMaxName},
         {"description", "Name of the run and of its results folder"}},
        read_name);
  f.integer("seed", &Manifest::seed, 0, kMaxSeed).schema({{"default", 0}});
  f.text("dtype", &Manifest::dtype).schema([](const Catalog&) {
    return json{{"enum", dtype_names()}, {"default", "float32"}};
  });
  f.text("device", &Manifest::device)
      .schema({{"pattern", "^(cpu|cuda(:[0-9]+)?)$"}, {"default", "cpu"}});
  add_section<&Manifest::requirements, read_requirements>(
      f, "requires", described(requires_schema(), "What must be installed"));
  add_section<&Manifest::in_process, read_in_process>(
      f, "in_process",
      described({{"type", json::array({"array", "null"})}, {"items", {{"type", "string"}}}},
                "Plugins that did not come with quench and run in its process all the same"));
  f.own("checkpoints", described(checkpoints_schema(), "The trajectory: a tree of branches"),
        [](MappingReader& reader, Manifest& out) {
          if (const YamlNode* checkpoints = reader.require("checkpoints")) {
            out.checkpoints = read_checkpoints(*checkpoints, out.problems);
          }
        });
  f.own(
      "train",
      [](const Catalog& catalog) {
        return described(train_schema(catalog), "What to train, with `model: train`");
      },
      read_train);
  add_items<&Manifest::averagings, ItemKind::kAveraging>(
      f, "averaging", [](const Catalog& catalog) {
        return described(entries_schema(catalog, ItemKind::kAveraging), "Averages of checkpoints");
      });
  add_items<&Manifest::quantizers, ItemKind::kQuantizer>(
      f, "quantizers", [](const Catalog& catalog) {
        return described(entries_schema(catalog, ItemKind::kQuantizer),
                         "Methods; a list is an axis");
      });
  add_items<&Manifest::metrics, ItemKind::kMetric>(f, "metrics", metrics_schema)
      .then(check_metrics);
  add_section<&Manifest::calibrations, read_calibrations>(
      f, "calibration", described(calibration_schema(), "Named calibration data"));
  f.own(
      "corpora",
      [](const Catalog& catalog) {
        return described(corpora_schema(catalog), "Named texts or ids");
      },
      [](MappingReader& reader, Manifest& out) {
        out.corpora = read_corpora(reader.get("corpora"), out.problems);
      });
  f.own("report", {{"type", json::array({"object", "null"})}, {"description", "The report"}},
        [](MappingReader& reader, Manifest& out) {
          if (const YamlNode* report = reader.get("report")) {
            out.report = *report;
          }
        });
  f.own("sweep",
        described(sweep_schema(), "Points, or lists under dotted paths; each point is a run"),
        [](MappingReader& reader, Manifest&) { reader.get("sweep"); });
  add_section<&Manifest::storage, read_storage>(
      f, "storage",
      described(storage_schema(), "What `run --fetch` may keep of the hub's weights"));
  add_section<&Manifest::cluster, read_cluster>(
      f, "cluster", described(cluster_schema(), "What quench submit asks a cluster for"));
});

}  // namespace

const Fields<Manifest>& document_keys() {
  return kDocument;
}

const std::vector<std::pair<std::string, std::string>>& sections_of_keys() {
  static const std::vector<std::pair<std::string, std::string>> kSections = {
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
  return kSections;
}

}  // namespace quench
