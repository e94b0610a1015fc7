#include "run/manifest/document_keys.hpp"

#include "core/base/config/amount.hpp"
#include "run/manifest/cluster_keys.hpp"
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
               fmt::format("`name`: got \"{}\", wanted a plain folder name", printable(out.name)));
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

std::string take_plugin_name(const YamlNode& item, std::vector<PlacedText>& names) {
  if (!item.is_scalar() || item.scalar.empty()) {
    return unlike(item, "a plugin's id");
  }
  names.push_back({item.scalar, item.place});
  return "";
}

std::optional<uint64_t> some_bytes(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

std::optional<bool> whether_evicted(std::string_view text) {
  return text == "done" || text == "never" ? std::optional(text == "done") : std::nullopt;
}

const Fields<ManifestStorage> kStorage([](Fields<ManifestStorage>& f) {
  f.parsed("limit", &ManifestStorage::limit, some_bytes, "bytes such as 200GB",
           {{"anyOf",
             {{{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)?( ?[kKMGT]i?)?B?$"}},
              {{"type", "integer"}, {"minimum", 1}}}}},
           "Bytes that the run's downloads may take in the cache: 200GB, 512MiB");
  f.parsed("evict", &ManifestStorage::evict, whether_evicted, "done or never",
           {{"enum", {"done", "never"}}, {"default", "never"}},
           "done: weights go as soon as no cell needs them");
});

template <auto Section, ItemKind kind>
Fields<Manifest>::Field& add_items(Fields<Manifest>& f, const char* name, const char* meaning) {
  return f.own(
      name, [](const Catalog& catalog) { return entries_schema(catalog, kind); },
      [name](MappingReader& reader, Manifest& out) {
        out.*Section = read_items(reader.get(name), kind, out.problems);
      },
      meaning);
}

// In the order of reading.
const Fields<Manifest> kDocument([](Fields<Manifest>& f) {
  f.own("name",
        {{"type", json::array({"string", "number"})},
         {"pattern", "^[^./][^/]*$"},
         {"maxLength", kMaxName}},
        read_name, "Name of the run and of its results folder");
  f.seed(&Manifest::seed, "seed").schema({{"default", 0}});
  f.text("dtype", &Manifest::dtype).schema([](const Catalog&) {
    return json{{"enum", dtype_names()}, {"default", "float32"}};
  });
  f.text("device", &Manifest::device)
      .schema({{"pattern", "^(cpu|cuda(:[0-9]+)?)$"}, {"default", "cpu"}});
  f.section("requires", &Manifest::requirements, requires_keys(), "What must be installed")
      .or_null();
  f.list("in_process", &Manifest::in_process, "a list of plugins", {{"type", "string"}},
         take_plugin_name,
         "Plugins that did not come with quench and run in its process all the same", /*least=*/0)
      .or_null();
  f.own(
      "checkpoints", checkpoints_schema(),
      [](MappingReader& reader, Manifest& out) {
        if (const YamlNode* checkpoints = reader.require("checkpoints")) {
          out.checkpoints = read_checkpoints(*checkpoints, out.problems);
        }
      },
      "The trajectory: a tree of branches");
  f.own("train", train_schema, read_train, "What to train, with `model: train`");
  add_items<&Manifest::averagings, ItemKind::kAveraging>(f, "averaging", "Averages of checkpoints");
  add_items<&Manifest::quantizers, ItemKind::kQuantizer>(f, "quantizers",
                                                         "Methods; a list is an axis");
  add_items<&Manifest::metrics, ItemKind::kMetric>(f, "metrics", "What to measure")
      .then(check_metrics);
  f.named("calibration", &Manifest::calibrations, calibration_keys(), "calibration ",
          "Named calibration data")
      .or_null();
  f.each("corpora", nullptr, read_corpus, "Named texts or ids").schema(corpora_schema).or_null();
  f.own(
      "report", {{"type", json::array({"object", "null"})}},
      [](MappingReader& reader, Manifest& out) {
        if (const YamlNode* report = reader.get("report")) {
          out.report = *report;
        }
      },
      "The report");
  f.own(
      "sweep", sweep_schema(), [](MappingReader& reader, Manifest&) { reader.get("sweep"); },
      "Points, or lists under dotted paths; each point is a run");
  f.section("storage", &Manifest::storage, kStorage,
            "What `run --fetch` may keep of the hub's weights")
      .or_null();
  f.section("cluster", &Manifest::cluster, cluster_keys(), "What quench submit asks a cluster for")
      .or_null();
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
      {"seeds", home_of_seeds("seed")},
      {"documents", "under a name in `calibration`"},
      {"sequences", "under a name in `calibration`"},
      {"length", "under a name in `calibration`"},
      {"packing", "under a name in `calibration`"}};
  return kSections;
}

}  // namespace quench
