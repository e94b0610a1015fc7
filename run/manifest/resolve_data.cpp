#include "run/manifest/resolve_data.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/names.hpp"

namespace quench {

namespace {

template <typename Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace

NamedData::NamedData(const Manifest& manifest, PluginResolver& plugins, Problems& problems)
    : manifest_(manifest), plugins_(plugins), problems_(problems) {
  for (const ManifestCorpus& entry : manifest.corpora) {
    add_corpus(entry);
  }
  for (const ManifestCalibration& entry : manifest.calibrations) {
    add_calibration(entry);
  }
}

void NamedData::add_corpus(const ManifestCorpus& entry) {
  if (auto use = plugins_.resolve("corpus", entry)) {
    CorpusPart part;
    if (!entry.part.empty()) {
      part = {entry.part == "held_out" ? PartKind::kHeldOut : PartKind::kTraining, entry.held_out};
    }
    corpora_[entry.name] = {entry.name, use->plugin, std::move(use->parameters), part,
                            entry.place.text()};
  }
}

void NamedData::add_calibration(const ManifestCalibration& entry) {
  const CorpusUse* use =
      entry.corpus.value.empty() ? nullptr : corpus(entry.corpus.value, entry.corpus.place);
  if (use != nullptr) {
    calibrations_[entry.name] = {
        entry.name,        *use,
        entry.documents,   entry.sequences,
        entry.length,      entry.packing == "concat" ? Packing::kConcat : Packing::kNone,
        entry.pad_batch,   static_cast<int32_t>(entry.pad_id),
        entry.place.text()};
  }
}

void NamedData::report_missing(const std::string& what, const std::string& section,
                               const std::string& name, const std::vector<std::string>& names,
                               const Place& place) {
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return;  // it exists, and its own problem is reported
  }
  constexpr size_t kShown = 20;
  const std::string near = nearest(name, names);
  problems_.add(place,
                fmt::format("no {} \"{}\" in `{}`; {}", what, printable(name), section,
                            names.empty()  ? std::string("there are none")
                            : near.empty() ? "there are: " + first_of_names(names, kShown)
                                           : fmt::format("did you mean \"{}\"?", printable(near))));
}

const CorpusUse* NamedData::corpus(const std::string& name, const Place& place) {
  const auto found = corpora_.find(name);
  if (found != corpora_.end()) {
    return &found->second;
  }
  report_missing("corpus", "corpora", name, names_of(manifest_.corpora), place);
  return nullptr;
}

std::optional<Calibration> NamedData::calibration(const ManifestItem& item) {
  const auto& [name, place] = item.calibration;
  if (name.empty()) {
    return std::nullopt;
  }
  const auto found = calibrations_.find(name);
  if (found != calibrations_.end()) {
    return found->second;
  }
  report_missing("calibration", "calibration", name, names_of(manifest_.calibrations), place);
  return std::nullopt;
}

}  // namespace quench
