#include <filesystem>
#include <map>
#include <string>

#include "core/error.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/check_experiment.hpp"
#include "run/checks.hpp"
#include "run/grid/identity.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kSmallText = uint64_t{64} << 20;
constexpr uint64_t kTinyText = uint64_t{1} << 20;  // tokenized faster than a person reads a plan

bool is_below(const CorpusUse& use, uint64_t limit) {
  uint64_t bytes = 0;
  for (const fs::path& file : corpus_files(use)) {
    std::error_code unreadable;
    const uint64_t size = fs::file_size(file, unreadable);
    bytes += unreadable ? limit : size;
  }
  return bytes < limit;
}

// The tokenizers of the experiment's checkpoints, as far as these are here; one for each model.
std::map<std::string, TokenizerChoice> tokenizers_of(Catalog& catalog, const Experiment& experiment,
                                                     const HubEnvironment& hub) {
  std::map<std::string, TokenizerChoice> out;
  for (const CheckpointCell& cell : experiment.checkpoints) {
    const std::string& named = tokenizer_named(experiment, cell);
    const std::string& name = named.empty() ? cell.model : named;
    if (out.contains(name)) {
      continue;
    }
    Checks::left_to_cells({}, [&] {
      out.emplace(name, named.empty()
                            ? TokenizerChoice::of(catalog, open_headers(catalog, cell, hub))
                            : TokenizerChoice(named, ""));
    });
  }
  return out;
}

// Refuses what `lack(calibration, tokenizer, draws)` says of each of these quantizers.
template <typename Lack>
void check_each_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                     const WantedQuantizers& wanted, const HubEnvironment& hub, Lack lack) {
  Checks checks;
  std::set<std::string> seen;  // points of a sweep mostly calibrate alike
  for (const auto& [job, index] : wanted) {
    const QuantizerCell& cell = experiments[job].quantizers[index];
    const Calibration& use = *cell.calibration;
    for (auto& [name, tokenizer] : tokenizers_of(catalog, experiments[job], hub)) {
      const std::string asked = fmt::format(
          "{} {} {} {} {} {} {} {} {} {}", name, use.name, use.corpus.plugin->id,
          use.corpus.parameters.dump(), use.corpus.part.key(), use.documents, use.sequences,
          use.length, use.packing == Packing::kConcat, cell.replicates.draws);
      if (seen.insert(asked).second) {
        std::string fault;
        Checks::left_to_cells(
            {}, [&, &chosen = tokenizer] { fault = lack(use, chosen, cell.replicates.draws); });
        if (!fault.empty()) {
          // Of several draws the quantizer says how many.
          checks.add(cell.replicates.draws > 1 ? cell.where : place_of(use, cell.where), fault);
        }
      }
    }
  }
  checks.throw_if_any();
}

}  // namespace

WantedQuantizers wanted_quantizers(const std::vector<Experiment>& experiments,
                                   const std::vector<Cell>& cells,
                                   const std::function<bool(const Cell&)>& to_do,
                                   const std::function<bool(const Calibration&)>& counts) {
  WantedQuantizers out;
  for (const Cell& cell : cells) {
    const auto& quantizer = cell.variant.quantizer;
    const auto* calibration =
        quantizer ? &experiments[cell.job].quantizers[*quantizer].calibration : nullptr;
    if (calibration != nullptr && *calibration && !out.contains({cell.job, *quantizer}) &&
        to_do(cell) && (!counts || counts(**calibration))) {
      out.emplace(cell.job, *quantizer);
    }
  }
  return out;
}

void check_calibration_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                            const WantedQuantizers& wanted, Corpora& corpora) {
  check_each_text(catalog, experiments, wanted, corpora.hub(),
                  [&](const Calibration& use, TokenizerChoice& tokenizer, uint32_t draws) {
                    return corpora.lack_of_text(use, tokenizer, draws);
                  });
}

void check_kept_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                     const std::vector<Cell>& cells, const fs::path& home,
                     const HubEnvironment& hub) {
  const WantedQuantizers wanted = wanted_quantizers(
      experiments, cells, [](const Cell& cell) { return cell.state == CellState::kToDo; },
      [](const Calibration& use) { return is_below(use.corpus, kSmallText); });
  Corpora corpora(catalog, TokenCache(home), hub);
  check_each_text(catalog, experiments, wanted, hub,
                  [&](const Calibration& use, TokenizerChoice& tokenizer, uint32_t draws) {
                    const bool quick = corpora.knows_text(use, tokenizer, draws) ||
                                       is_below(use.corpus, kTinyText);
                    return quick ? corpora.lack_of_text(use, tokenizer, draws) : std::string();
                  });
}

}  // namespace quench
