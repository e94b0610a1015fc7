#include "tests/report/hostile_run.hpp"

#include "tests/report/loss_records.hpp"

namespace quench::test {

Report hostile_report() {
  RunRecords run;
  for (int64_t step = 1; step <= 3; ++step) {
    const Record f = float_loss(kHostile, kHostile + std::to_string(step), step,
                                {4.0 / static_cast<double>(step), 4.1});
    run.records.push_back(f);
    for (const char* method : {"", "other"}) {
      run.records.push_back(quantized_loss(f, method + kHostile, 3, {0.1, 0.2}));
    }
  }
  Record failed = run.records.back();
  failed.value = nullptr;
  failed.error = "line\nbreak " + kHostile;
  run.records.push_back(failed);
  RunDocuments documents;
  documents.name = kHostile;
  documents.manifest_text = "name: x # " + kHostile + "\n";
  documents.manifest = {{"name", kHostile}, {"report", {{"contrasts", nlohmann::json::array()}}}};
  documents.manifest["report"]["contrasts"].push_back({{"a", kHostile}, {"b", "other" + kHostile}});
  documents.run = {{"host", kHostile}};
  return make_report(std::move(documents), std::move(run));
}

}  // namespace quench::test
