#include "report/findings.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/contrast_sentence.hpp"
#include "report/dimension.hpp"
#include "report/item_sample.hpp"

namespace quench {

namespace {

constexpr size_t kMostMethods = 3;

// "In this run, at late step1200: rtn bits=3 loses 0.0300 nats per token [...]; gptq bits=3 ..."
std::string costs_at_the_end(const std::vector<Observation>& observations) {
  const Observation* last = nullptr;
  for (const Observation& it : observations) {
    const bool counts = !it.is_float() && it.floating != nullptr && it.is_base() && it.is_last &&
                        it.record->averaging.is_null() && is_loss(*it.record);
    if (counts && last == nullptr) {
      last = &it;
    }
  }
  if (last == nullptr) {
    return "";
  }
  std::string out;
  size_t methods = 0;
  for (const Observation& it : observations) {
    const bool same = !it.is_float() && it.floating != nullptr && it.is_base() &&
                      it.weights == last->weights && it.seed == last->seed &&
                      it.record->label == last->record->label && it.text == last->text &&
                      it.record->job == last->record->job && is_loss(*it.record);
    if (!same || ++methods > kMostMethods) {
      continue;
    }
    const std::string method = value_text(dimension_value(*it.record, "label"));
    const std::optional<Spread> spread = delta_spread(it);
    out += methods == 1
               ? fmt::format(
                     "In this run, at {}: quantized by {}, the model loses {:.2g} "
                     "nats per token",
                     value_text(dimension_value(*it.record, "checkpoint")), method, it.delta())
               : fmt::format("; by {}, {:.2g}", method, it.delta());
    if (spread) {
      out += fmt::format(" [{}, {} over {}]", signed_text(spread->interval->low),
                         signed_text(spread->interval->high), sample_text(*spread));
    }
  }
  return out + ".";
}

}  // namespace

std::vector<std::string> findings_of(const std::vector<Contrast>& contrasts,
                                     const std::vector<Observation>& observations) {
  std::vector<std::string> out;
  std::vector<std::string> counts;
  std::vector<std::string> alone;  // decided, but not with all comparisons at once
  std::vector<std::string> open;
  bool one_run = false;
  for (const Contrast& contrast : contrasts) {
    for (const ContrastRow& row : contrast.rows) {
      const Decision decision = decision_of(contrast.spec, row);
      (decision == Decision::kAtOnce  ? out
       : decision == Decision::kAlone ? alone
                                      : open)
          .push_back(finding_of(contrast.spec, row));
      one_run =
          one_run || std::none_of(row.spreads.begin(), row.spreads.end(), [](const Spread& spread) {
            return spread.kind == SpreadKind::kSeeds;
          });
    }
    if (!contrast.summary.empty()) {
      counts.push_back(contrast.summary);
    }
  }
  for (const std::vector<std::string>& more : {counts, alone, open}) {
    out.insert(out.end(), more.begin(), more.end());
  }
  if (out.empty()) {
    out.push_back(costs_at_the_end(observations));
    one_run = !out.front().empty();
    if (out.front().empty()) {
      out.clear();
    }
  }
  for (const Contrast& contrast : contrasts) {
    for (const std::string& problem : contrast.problems) {
      out.push_back("Not compared: " + problem + ".");
    }
  }
  if (one_run) {
    out.emplace_back(kOneTrainingRun);
  }
  return out;
}

}  // namespace quench
