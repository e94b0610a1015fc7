#include "run/grid/run_knowledge.hpp"

#include "core/plugin/services/host_services.hpp"

namespace quench {

RunKnowledge::RunKnowledge(Catalog& catalog, const HubEnvironment& hub,
                           const std::filesystem::path& home, const std::filesystem::path& run,
                           bool fresh)
    : folder(std::filesystem::absolute(run).lexically_normal().string()),
      store(home,
            [](const std::string& line) {
              HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
            }),
      fingerprints(home, fresh),
      records(read_run(run)),
      finished(records, store),
      identities(catalog, fingerprints, hub) {
  learn_reads(records);
}

void RunKnowledge::learn_reads(const RunRecords& of) {
  for (const Record& record : of.records) {
    identities.reads().learn(record.parts);
  }
}

}  // namespace quench
