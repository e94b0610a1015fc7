#include "core/pass/metric_instances.hpp"

#include <utility>

namespace quench {

MetricInstances::Made& MetricInstances::of(const MetricCell& cell, const HubEnvironment& hub) {
  const auto found = made_.find(&cell);
  if (found != made_.end()) {
    return found->second;
  }
  MetricHandle handle(catalog_, *cell.plugin, cell.parameters);
  WantedRecords wanted = wanted_records(catalog_, handle, hub);
  return made_.emplace(&cell, Made{std::move(handle), std::move(wanted)}).first->second;
}

const WantedRecords& MetricInstances::wanted(const MetricCell& cell, const HubEnvironment& hub) {
  return of(cell, hub).wanted;
}

bool MetricInstances::checks_fit(const MetricCell& cell, const HubEnvironment& hub) {
  return of(cell, hub).handle.checks_fit();
}

void MetricInstances::check_fit(const MetricCell& cell, const HubEnvironment& hub,
                                const ModelHandle& model) {
  of(cell, hub).handle.check_fit(model);
}

MetricHandle& MetricInstances::ready(const MetricCell& cell, Corpora& corpora) {
  Made& made = of(cell, corpora.hub());
  if (!made.has_records) {
    try {
      give_records(catalog_, made.handle, made.wanted, corpora);
    } catch (...) {
      drop(cell);
      throw;
    }
    made.has_records = true;
  }
  return made.handle;
}

}  // namespace quench
