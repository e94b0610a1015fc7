#include "run/grid/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "run/grid/watched_files.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxRatesBytes = 16u << 20;
constexpr uint64_t kLibraryBytes = 200u << 20;  // resident libraries and buffers besides the model
constexpr uint64_t kProgramBytes = 140u << 20;  // of these, what is there when a pass begins
constexpr double kNewSampleWeight = 0.3;        // weight of a new rate against the earlier ones
constexpr double kExactCounts = 0x1p53;         // doubles below are exact whole numbers
constexpr uint64_t kTokensPerDocument = 512;    // unless they were counted
constexpr uint64_t kBytesPerToken = 4;

std::string hash_of(const nlohmann::json& work) {
  return sha256_hex(canonical_json(work));
}

double blend(double before, double now) {
  return before == 0 ? now : before * (1 - kNewSampleWeight) + now * kNewSampleWeight;
}

}  // namespace

const char* to_text(Basis basis) {
  return basis == Basis::kMeasured ? "measured before"
         : basis == Basis::kScaled ? "scaled from other work"
                                   : "rough estimate";
}

uint64_t calibration_tokens(const Calibration& calibration) {
  if (calibration.packing == Packing::kConcat) {
    return calibration.sequences * calibration.length;
  }
  const uint64_t tokens = calibration.documents *
                          (calibration.length > 0 ? std::min(calibration.length, kTokensPerDocument)
                                                  : kTokensPerDocument);
  const double longest = calibration.pad_batch > 1
                             ? 1 + 1.2 * std::log(static_cast<double>(calibration.pad_batch))
                             : 1;
  return static_cast<uint64_t>(static_cast<double>(tokens) * longest);
}

uint64_t model_memory(uint64_t parameters, uint64_t element_bytes, bool quantized) {
  return parameters * element_bytes * (quantized ? 2 : 1) + kLibraryBytes;
}

namespace {

// The work of measuring and of quantizing, for Rates: the parts of the key that do not name the
// weights.
nlohmann::json metric_work(const nlohmann::json& parts) {
  return {{"metric", parts.at("metric").at("id")},
          {"params", parts.at("metric").at("params")},
          {"corpora", parts.at("metric").at("corpora")},
          {"tokenizer", parts.at("tokenizer")},
          {"dtype", parts.at("environment").at("dtype")}};
}

nlohmann::json quantizer_work(const nlohmann::json& parts) {
  nlohmann::json out = {{"quantizer", parts.at("quantizer").at("id")},
                        {"params", parts.at("quantizer").at("params")},
                        {"tokenizer", parts.at("tokenizer")},
                        {"dtype", parts.at("environment").at("dtype")}};
  if (parts.contains("calibration")) {
    out["calibration"] = parts.at("calibration");
    for (const char* name : {"draw", "jitter", "judge"}) {
      out["calibration"].erase(name);
    }
  }
  return out;
}

// Throws where one of them is no rate: asked before they are written and after they were read, for
// a reader takes all of them or none.
void check_rates(const nlohmann::json& json, const fs::path& file) {
  const auto check = [&](const nlohmann::json& value) {
    const auto rate = value.get<double>();
    if (!std::isfinite(rate) || rate <= 0) {
      fail(QUENCH_DATA_LOSS, "{}: {} is no rate", file.string(), rate);
    }
  };
  for (const nlohmann::json& known : json.at("work")) {
    check(known.at(0));
  }
  for (const nlohmann::json& rate : json.at("plugins")) {
    check(rate);
  }
}

}  // namespace

Rates::Rates(const fs::path& home) : file_(home / "rates.json") {
  try {
    if (!fs::exists(file_)) {
      return;
    }
    const nlohmann::json json = parse_json(read_file(file_, kMaxRatesBytes), file_.string());
    check_rates(json, file_);
    for (const auto& [hash, value] : json.at("work").items()) {
      known_[hash] = {value.at(0).get<double>(), value.at(1).get<uint64_t>()};
    }
    for (const auto& [plugin, rate] : json.at("plugins").items()) {
      rates_[plugin] = rate.get<double>();
    }
  } catch (const std::exception&) {
    known_.clear();
    rates_.clear();
  }
}

void Rates::observe(const nlohmann::json& work, const std::string& plugin, uint64_t parameters,
                    uint64_t tokens, double seconds) {
  if (parameters == 0 || seconds <= 0 || !std::isfinite(seconds)) {
    return;
  }
  Known& known = known_[hash_of(work)];
  known.seconds_per_parameter =
      blend(known.seconds_per_parameter, seconds / static_cast<double>(parameters));
  known.tokens = tokens;
  if (tokens > 0) {
    const double flops =
        kForwardFlops * static_cast<double>(parameters) * static_cast<double>(tokens);
    rates_[plugin] = blend(rates_[plugin], flops / seconds);
  }
}

namespace {

// The ids that a metric read, 0 where it does not say: a plugin's details are doubles until they
// are read back from a file.
uint64_t tokens_of(const nlohmann::json& details) {
  const auto found = details.find("tokens");
  const double count = found != details.end() && found->is_number() ? found->get<double>() : 0;
  return count >= 1 && count < kExactCounts ? static_cast<uint64_t>(count) : 0;
}

}  // namespace

void Rates::observe(const std::vector<Record>& records,
                    const std::map<std::string, uint64_t>& sizes) {
  std::set<std::string> quantized;  // a quantization counts once, however many metrics use it
  for (const Record& record : records) {
    if (!record.error.empty() || !record.cached.empty() || record.index > 0 ||
        !record.parts.contains("metric")) {
      continue;
    }
    const auto size = sizes.find(record.parts.value("weights", ""));
    if (size == sizes.end()) {
      continue;
    }
    const nlohmann::json& details = record.details;
    observe(metric_work(record.parts), "metric " + record.metric, size->second, tokens_of(details),
            record.seconds);
    if (record.parts.contains("quantizer") && details.contains("quantize_seconds")) {
      nlohmann::json once = record.parts;
      once.erase("metric");
      if (quantized.insert(canonical_json(once)).second) {
        const bool calibrated = details.contains("calibration");
        observe(quantizer_work(record.parts),
                "quantizer " + record.parts["quantizer"]["id"].get<std::string>(), size->second,
                calibrated ? details["calibration"]["tokens"].get<uint64_t>() : 0,
                details["quantize_seconds"].get<double>());
      }
    }
  }
}

const Rates::Known* Rates::find(const nlohmann::json& work) const {
  const auto found = known_.find(hash_of(work));
  return found != known_.end() ? &found->second : nullptr;
}

double Rates::rate_of(const std::string& plugin) const {
  const auto found = rates_.find(plugin);
  return found != rates_.end() ? found->second : 0;
}

void Rates::save() const {
  nlohmann::json work = nlohmann::json::object();
  for (const auto& [hash, known] : known_) {
    work[hash] = {known.seconds_per_parameter, known.tokens};
  }
  nlohmann::json all = {{"work", work}, {"plugins", rates_}};
  check_rates(all, file_);
  std::string text = all.dump() + "\n";
  if (text.size() > kMaxRatesBytes) {  // rates of plugins are few
    all["work"] = nlohmann::json::object();
    text = all.dump() + "\n";
  }
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  write_file_atomically(file_, text);
}

namespace {

class Estimator {
 public:
  Estimator(const std::vector<Experiment>& experiments, Identities& identities, const Rates& rates,
            uint32_t threads, const std::vector<MetricMemory>& memory,
            const std::vector<std::vector<PassPeak>>& peaks)
      : experiments_(experiments),
        identities_(identities),
        rates_(rates),
        threads_(threads),
        memory_(memory),
        peaks_(peaks) {}

  Cost cost(const Cell& cell) {
    const Experiment& experiment = experiments_[cell.job];
    const WeightsCell& weights = experiment.weights[cell.weights];
    size_of(experiment, weights);
    Cost out;
    if (open_.insert({cell.job, cell.weights}).second) {
      out.bytes = bytes_ * std::max<size_t>(1, weights.members.size());
    }
    const uint64_t element = dtype_size(experiment.dtype);
    const uint64_t described = memory_.empty() ? 0 : memory_[cell.job].parameters;
    const PassPeak* peak = peak_of(cell);
    const uint64_t parameters = parameters_ > 0   ? parameters_
                                : described > 0   ? described
                                : peak != nullptr ? peak->parameters
                                                  : 0;
    const MetricPeak measuring =
        memory_.empty() ? MetricPeak() : memory_[cell.job].peaks[cell.metric];
    out.memory =
        model_memory(parameters, element, cell.variant.quantizer.has_value()) + measuring.host;
    const bool on_gpu = experiment.device.type != QUENCH_DEVICE_CPU;
    if (peak != nullptr) {
      add_peak(out, *peak, parameters * element, measuring, on_gpu);
    } else if (on_gpu && measuring.device > 0) {
      out.device = parameters * element + measuring.device;
      out.device_by_block =
          std::min(parameters * element, memory_[cell.job].visiting) + measuring.device_by_block;
    }
    std::string missing;
    const auto parts = evaluation_parts(identities_, parts_of(experiment, cell), false, missing);
    const MetricCell& metric = experiment.metrics[cell.metric];
    uint64_t guess = 0;
    for (const auto& [name, use] : metric.corpora) {
      guess += static_cast<uint64_t>(static_cast<double>(bytes_of(corpus_files(use))) *
                                     use.part.share() / kBytesPerToken);
    }
    add(out, parts ? metric_work(*parts) : nlohmann::json(), "metric " + metric.plugin->id,
        parameters, guess, kForwardFlops);
    const auto variant = std::tuple(cell.job, cell.weights, cell.variant.quantizer.value_or(0),
                                    cell.variant.draw, cell.variant.jitter);
    if (cell.variant.quantizer && quantized_.insert(variant).second) {
      const QuantizerCell& quantizer = experiment.quantizers[*cell.variant.quantizer];
      add(out, parts ? quantizer_work(*parts) : nlohmann::json(),
          "quantizer " + quantizer.plugin->id, parameters,
          quantizer.calibration ? calibration_tokens(*quantizer.calibration) : 0,
          kForwardFlops + kGramFlops);
    }
    if (parameters > 0 && out.basis != Basis::kMeasured) {
      out.seconds += kCellSeconds;
    }
    return out;
  }

 private:
  // Parameters and bytes of a checkpoint; of one not read yet, those of the last one known.
  void size_of(const Experiment& experiment, const WeightsCell& weights) {
    if (const auto known = identities_.remembered(files_cell(experiment, weights))) {
      parameters_ = known->parameters;
      bytes_ = known->bytes;
    }
  }

  void add(Cost& out, const nlohmann::json& work, const std::string& plugin, uint64_t parameters,
           uint64_t tokens, double flops_per_token) const {
    const Rates::Known* known = work.is_null() ? nullptr : rates_.find(work);
    if (known != nullptr && known->tokens > 0) {
      tokens = known->tokens;
    }
    const double flops =
        flops_per_token * static_cast<double>(parameters) * static_cast<double>(tokens);
    out.flops += flops;
    const double rate = rates_.rate_of(plugin);
    if (parameters == 0) {
      out.basis = Basis::kNominal;  // a model of unknown size
    } else if (known != nullptr) {
      out.seconds += known->seconds_per_parameter * static_cast<double>(parameters);
    } else if (rate > 0) {
      out.seconds +=
          kForwardFlops * static_cast<double>(parameters) * static_cast<double>(tokens) / rate;
      out.basis = std::max(out.basis, Basis::kScaled);
    } else {
      out.seconds += flops / (kNominalRate * threads_);
      out.basis = Basis::kNominal;
    }
  }

  // nullptr where nothing was predicted.
  const PassPeak* peak_of(const Cell& cell) const {
    const bool known = cell.variant.quantizer && !peaks_.empty() && !peaks_[cell.job].empty();
    return known ? &peaks_[cell.job][*cell.variant.quantizer] : nullptr;
  }

  // The pass beside a model of `model` bytes; it is over when a metric takes what it takes.
  static void add_peak(Cost& out, const PassPeak& peak, uint64_t model, const MetricPeak& measuring,
                       bool on_gpu) {
    out.memory = std::max(out.memory, kProgramBytes + model + peak.host);
    if (on_gpu) {
      out.device = model + std::max(peak.device, measuring.device);
      out.device_by_block = std::min(model, peak.visiting) +
                            std::max(peak.device_by_block, measuring.device_by_block);
    }
  }

  const std::vector<Experiment>& experiments_;
  Identities& identities_;
  const Rates& rates_;
  uint32_t threads_;
  const std::vector<MetricMemory>& memory_;
  const std::vector<std::vector<PassPeak>>& peaks_;
  uint64_t parameters_ = 0;
  uint64_t bytes_ = 0;
  std::set<std::pair<size_t, size_t>> open_;
  std::set<std::tuple<size_t, size_t, size_t, uint32_t, uint32_t>> quantized_;
};

}  // namespace

PlanCost estimate(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                  Identities& identities, const Rates& rates, uint32_t threads,
                  const std::vector<MetricMemory>& memory,
                  const std::vector<std::vector<PassPeak>>& peaks) {
  Estimator estimator(experiments, identities, rates, threads, memory, peaks);
  PlanCost out;
  for (const Cell& cell : cells) {
    out.cells.push_back(cell.state == CellState::kToDo ? estimator.cost(cell) : Cost());
    const Cost& cost = out.cells.back();
    out.total.flops += cost.flops;
    out.total.bytes += cost.bytes;
    out.total.memory = std::max(out.total.memory, cost.memory);
    out.total.device = std::max(out.total.device, cost.device);
    out.total.device_by_block = std::max(out.total.device_by_block, cost.device_by_block);
    out.total.seconds += cost.seconds;
    out.total.basis = std::max(out.total.basis, cost.basis);
  }
  out.total.seconds += out.total.seconds > 0 ? kStartSeconds : 0;
  return out;
}

}  // namespace quench
