// Looks up the corpora and calibrations of a manifest by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "run/manifest/resolve_plugin.hpp"

namespace quench {

class NamedData {
 public:
  // Resolves all of them. All arguments must outlive this object.
  NamedData(const Manifest& manifest, PluginResolver& plugins, Problems& problems);

  // Returns nullptr after adding a problem with the nearest name.
  const CorpusUse* corpus(const std::string& name, const Place& place);
  // The calibration that `item` asks for, if any.
  std::optional<Calibration> calibration(const ManifestItem& item);

 private:
  void add_corpus(const ManifestCorpus& entry);
  void add_calibration(const ManifestCalibration& entry);
  void report_missing(const std::string& what, const std::string& section, const std::string& name,
                      const std::vector<std::string>& names, const Place& place);

  const Manifest& manifest_;
  PluginResolver& plugins_;
  Problems& problems_;
  std::map<std::string, CorpusUse> corpora_;
  std::map<std::string, Calibration> calibrations_;
};

}  // namespace quench
