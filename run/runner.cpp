#include "run/runner.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/json/canonical_json.hpp"
#include "core/pass/evaluate.hpp"
#include "core/pass/journal.hpp"
#include "core/pass/quantize_cell.hpp"
#include "core/pass/score.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/plugin_call.hpp"
#include "core/plugin/process_state.hpp"
#include "core/weights/float_source.hpp"
#include "core/weights/open_weights.hpp"
#include "run/check_experiment.hpp"
#include "run/export_row.hpp"
#include "run/grid/describe_cell.hpp"
#include "run/keep_row.hpp"
#include "run/manifest/module_rules.hpp"
#include "run/read_ahead.hpp"
#include "run/train_job.hpp"

namespace quench {

namespace {

constexpr size_t kMaxError = 16384;  // bytes of a message or a path in a record

// The journal of one evaluation, offered to plugins as long as this object lives.
class JournalOf {
 public:
  JournalOf(const RunnerOptions& options, const std::string& key) {
    if (options.home.empty() || key.empty()) {
      return;
    }
    journal_.emplace(options.home / "partial", key);
    if (options.fresh) {
      journal_->forget();
    }
    HostServices::instance().set_journal(&*journal_);
  }
  ~JournalOf() { HostServices::instance().set_journal(nullptr); }
  JournalOf(const JournalOf&) = delete;
  JournalOf& operator=(const JournalOf&) = delete;
  void forget() {
    if (journal_) {
      journal_->forget();
    }
  }

 private:
  std::optional<Journal> journal_;
};

// One experiment: a point of the sweep, or the only one.
class JobRunner {
 public:
  JobRunner(Catalog& catalog, const Experiment& experiment, const RunnerOptions& options,
            Corpora& corpora, uint64_t& done, uint64_t total)
      : catalog_(catalog),
        experiment_(experiment),
        options_(options),
        memory_(options.memory),
        corpora_(corpora),
        quantization_(catalog, corpora),
        done_(done),
        total_(total) {
    for (Cell& cell : cells_of({experiment_})) {
      by_weights_[cell.weights].push_back(std::move(cell));
    }
  }

  std::vector<Record> run() {
    train_first();
    HostServices::instance().set_seed(experiment_.seed);
    std::optional<ReadAhead> ahead;
    if (memory_.identities != nullptr) {
      ahead.emplace(*memory_.identities, options_.hub);
    }
    for (size_t w = 0; w < experiment_.weights.size(); ++w) {
      if (ahead && w + 1 < experiment_.weights.size() && may_need_work(w + 1)) {
        ahead->begin(files_of(experiment_.weights[w + 1]));
      }
      run_weights(w);
    }
    return std::move(records_);
  }

 private:
  // Makes the checkpoints that are not there.
  void train_first() {
    if (experiment_.training == nullptr) {
      return;
    }
    untrained_ = train_job(catalog_, experiment_, {options_.home, memory_.folder},
                           [this](const std::string& what) { say(what); });
    if (options_.fail_fast && !untrained_.empty()) {
      throw untrained_.begin()->second;
    }
    for (const CheckpointCell& cell : experiment_.checkpoints) {
      if (memory_.identities != nullptr && memory_.identities->absence(cell).empty()) {
        memory_.identities->forget_if_changed(cell);
      }
    }
  }

  // Why weights are not there that should have been trained; nullptr where they are.
  const Error* untrained(const WeightsCell& weights) const {
    const CheckpointCell& cell = files_cell(experiment_, weights);
    const auto found = untrained_.find(cell.branch);
    if (found == untrained_.end()) {
      return nullptr;
    }
    for (const CheckpointCell* file : files_of(weights)) {
      std::error_code unreadable;
      if (!std::filesystem::exists(file->location, unreadable)) {
        return &found->second;
      }
    }
    return nullptr;
  }

  std::vector<const CheckpointCell*> files_of(const WeightsCell& weights) const {
    std::vector<const CheckpointCell*> out;
    for (const size_t member : weights.members) {
      out.push_back(&experiment_.checkpoints[member]);
    }
    if (out.empty()) {
      out.push_back(&files_cell(experiment_, weights));
    }
    return out;
  }

  // False when all cells of these weights are known to be finished.
  bool may_need_work(size_t w) {
    for (const Cell& cell : by_weights_[w]) {
      std::string missing;
      const auto parts =
          evaluation_parts(*memory_.identities, parts_of(experiment_, cell), false, missing);
      if (!parts || options_.fresh ||
          state_of(*memory_.finished, content_key(*parts), cell_name(experiment_, cell),
                   options_.retry_failed) == CellState::kToDo) {
        return true;
      }
    }
    return false;
  }

  // Passes the failure of a cell on where it ends the run: a stop was requested (whatever a plugin
  // made of it), a record could not be kept, or the caller wants it so.
  void throw_if_final(const Error& error) const {
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    if (losing_records_ || options_.fail_fast) {
      throw error;
    }
  }

  // The process is as the plugins of a cell found it; else they are named and it is set back.
  static void check_process(const std::string& plugins) {
    if (const std::string disturbance = take_disturbance(); !disturbance.empty()) {
      fail(QUENCH_INTERNAL, "{}", disturbance);
    }
    if (const std::string changes = restore_whole_process_state(); !changes.empty()) {
      fail(QUENCH_INTERNAL, "one of {}: {}; it was set back", plugins, changes);
    }
  }

  // Fails a cell at which the process died before, so that a run that is started again goes on.
  void check_deaths(const Cell& cell) const {
    const auto death = memory_.deaths.find(cell.key);
    if (cell.state == CellState::kToDo && death != memory_.deaths.end() && !options_.fresh &&
        !options_.retry_failed) {
      fail(QUENCH_INTERNAL, "{}", death->second);
    }
  }

  // Whether nothing is to be expected of a variant: all its cells failed, or will.
  bool hopeless(std::span<const Cell> cells) const {
    return std::all_of(cells.begin(), cells.end(), [this](const Cell& cell) {
      const auto place = static_cast<size_t>(&cell - by_weights_.at(cell.weights).data());
      return cell.state == CellState::kFailed || state_.faults[place];
    });
  }

  // The content keys of the cells that are to be computed.
  static std::vector<std::string> keys_to_do(std::span<const Cell> cells) {
    std::vector<std::string> keys;
    for (const Cell& cell : cells) {
      if (cell.state == CellState::kToDo && !cell.key.empty()) {
        keys.push_back(cell.key);
      }
    }
    return keys;
  }

  void say(const std::string& what) const {
    set_work(what);
    if (options_.on_step) {
      options_.on_step(what, done_, total_);
    }
  }

  // ---- what is there already

  // Finds out key and state of a cell; all that its value depends on is read for it.
  void identify(Cell& cell, nlohmann::json& parts) {
    if (memory_.identities == nullptr) {
      return;
    }
    std::string missing;
    parts = *evaluation_parts(*memory_.identities, parts_of(experiment_, cell), true, missing);
    cell.key = content_key(parts);
    if (options_.fresh) {
      return;
    }
    cell.state =
        state_of(*memory_.finished, cell.key, cell_name(experiment_, cell), options_.retry_failed);
  }

  // Another process may have measured it since.
  void look_again(Cell& cell) const {
    if (cell.state == CellState::kToDo && !cell.key.empty() && !options_.fresh &&
        memory_.finished->failed(cell.key, cell_name(experiment_, cell)) == nullptr &&
        !memory_.finished->find(cell.key).empty()) {
      cell.state = CellState::kReused;
    }
  }

  // The records of a cell that need no computation; empty where it is to do. What comes from the
  // store, or from a cell of another name, is kept in this run under this cell's name.
  std::vector<Record> records_there(const Cell& cell, const nlohmann::json& parts) {
    switch (cell.state) {
      case CellState::kToDo:
      case CellState::kBlocked:
        return {};
      case CellState::kDone:
        return *memory_.finished->in_run(cell.key, cell_name(experiment_, cell));
      case CellState::kFailed:
        return {*memory_.finished->failed(cell.key, cell_name(experiment_, cell))};
      case CellState::kReused:
        break;
    }
    std::vector<Record> records = memory_.finished->find(cell.key);
    for (Record& record : records) {
      nlohmann::json quantizer = describe_quantizer(experiment_, cell.variant);
      if (quantizer.is_object() && record.quantizer.contains("bits_per_weight")) {
        quantizer["bits_per_weight"] = record.quantizer["bits_per_weight"];
      }
      // Where it was measured stays; which point of which sweep it is now is said by this run.
      nlohmann::json environment = std::exchange(record.environment, nlohmann::json::object());
      name(record, cell, parts, quantizer);
      if (environment.is_object()) {
        environment.erase("sweep");
        if (record.environment.contains("sweep")) {
          environment["sweep"] = record.environment["sweep"];
        }
      }
      record.environment = std::move(environment);
    }
    return keep(std::move(records));
  }

  // ---- one set of weights

  void run_weights(size_t w) {
    const WeightsCell& weights = experiment_.weights[w];
    std::vector<Cell>& cells = by_weights_[w];
    const std::string name = weights_name(experiment_, weights);
    say(name);
    state_ = {};
    state_.weights = &weights;
    state_.parts.resize(cells.size());
    state_.faults.resize(cells.size());
    std::optional<OpenWeights> open;
    bool to_do = false;
    std::optional<Error> not_open;
    try {
      state_.files = locate_checkpoint(checkpoint(), options_.hub);
      state_.stored = stored_quantization(catalog_, state_.files.path);
    } catch (...) {
      state_.files = {};  // every cell will say so
    }
    const Error* reason = untrained(weights);
    for (size_t i = 0; i < cells.size(); ++i) {
      if (reason != nullptr) {
        state_.faults[i] = *reason;
        continue;
      }
      try {
        identify(cells[i], state_.parts[i]);
        check_deaths(cells[i]);
        to_do = to_do || cells[i].state == CellState::kToDo;
      } catch (...) {
        const Error error = current_error();
        throw_if_final(error);
        state_.faults[i] = error;
      }
    }
    find_owed(w);
    to_do = to_do || std::any_of(state_.owed.begin(), state_.owed.end(),
                                 [](const OwedFolder& owed) { return owed.needs_model; });
    if (to_do) {
      const std::vector<std::string> keys = keys_to_do(cells);
      const CellsAtWork at_work(keys);
      try {
        open.emplace(open_weights(catalog_, experiment_, weights, options_.hub,
                                  [this](ModelHandle& model, const CheckpointFolder& folder) {
                                    return score(model, folder);
                                  }));
        check_unchanged(weights);
        state_.family = open->model.id();
        state_.tokenizer.emplace(
            choose_tokenizer(catalog_, experiment_, checkpoint(), open->folder));
        check_calibrations(*open);
        check_rules(open->model, cells);
      } catch (...) {
        const Error error = current_error();
        throw_if_final(error);
        open.reset();
        not_open = error;
        for (size_t i = 0; i < cells.size(); ++i) {
          if (cells[i].state == CellState::kToDo && !state_.faults[i]) {
            state_.faults[i] = error;
          }
        }
      }
    }
    quantization_.expect(quantizations_to_do(cells));
    for (size_t first = 0; first < cells.size();) {
      const std::span<Cell> same = variant_at(cells, first);
      auto results = run_variant(open, same, std::span(&state_.parts[first], same.size()), name);
      for (size_t m = 0; m < same.size(); ++m) {
        records_.insert(records_.end(), std::make_move_iterator(results[m].begin()),
                        std::make_move_iterator(results[m].end()));
      }
      first += same.size();
      done_ += same.size();
    }
    quantization_.expect({});
    for (const OwedFolder& owed : state_.owed) {
      if (owed.needs_model && not_open) {
        tell_unwritten(owed.row, *not_open);
      } else if (!owed.row.variant.quantizer) {
        write(owed, [&] {
          keep_row(catalog_, experiment_, owed, open ? open->found : std::vector<double>(),
                   options_.manifest, options_.hub);
        });
      }
    }
  }

  // ---- folders of weights

  // What these weights are to be written as, and are not yet.
  void find_owed(size_t w) {
    if (memory_.identities == nullptr) {
      return;
    }
    for (const RowFolder& row : row_folders(experiment_, options_.places)) {
      if (row.weights != w) {
        continue;
      }
      try {
        if (auto owed = owed_folder(experiment_, row, *memory_.identities)) {
          state_.owed.push_back(std::move(*owed));
        }
      } catch (...) {
        const Error error = current_error();
        throw_if_final(error);
        tell_unwritten(row, error);
      }
    }
  }

  // The variant's folder, or nullptr where there is nothing to write.
  const OwedFolder* owed(const Variant& variant) const {
    const auto found = std::find_if(
        state_.owed.begin(), state_.owed.end(),
        [&](const OwedFolder& each) { return each.row.variant == variant && variant.quantizer; });
    return found != state_.owed.end() ? &*found : nullptr;
  }

  void tell_unwritten(const RowFolder& row, const Error& error) const {
    if (options_.on_unwritten) {
      options_.on_unwritten(fmt::format("{} is not written: {}",
                                        printable(folder_row_name(experiment_, row), 4096),
                                        error.what()));
    }
  }

  // What was measured stays measured, whether its weights can be written or not.
  template <typename Body>
  void write(const OwedFolder& owed, Body body) const {
    try {
      body();
    } catch (...) {
      const Error error = current_error();
      throw_if_final(error);
      tell_unwritten(owed.row, error);
    }
  }

  // The cells of one variant, from the first on.
  static std::span<Cell> variant_at(std::vector<Cell>& cells, size_t first) {
    size_t end = first;
    while (end < cells.size() && cells[end].variant == cells[first].variant) {
      ++end;
    }
    return {&cells[first], end - first};
  }

  // What is to be applied to one set of weights, in order.
  std::vector<Quantization> quantizations_to_do(std::vector<Cell>& cells) const {
    std::vector<Quantization> out;
    for (size_t first = 0; first < cells.size();) {
      const std::span<Cell> same = variant_at(cells, first);
      const bool to_do = std::any_of(same.begin(), same.end(), [](const Cell& cell) {
        return cell.state == CellState::kToDo;
      });
      if (const Variant& variant = same[0].variant;
          (to_do || owed(variant) != nullptr) && variant.quantizer && !hopeless(same)) {
        out.push_back(
            {&experiment_.quantizers[*variant.quantizer], draw_of(variant), keys_to_do(same)});
      }
      first += same.size();
    }
    return out;
  }

  CalibrationDraw draw_of(const Variant& variant) const {
    return {variant.draw, experiment_.quantizers[*variant.quantizer].replicates.draws,
            variant.jitter, experiment_.seed};
  }

  const CheckpointCell& checkpoint() const { return files_cell(experiment_, *state_.weights); }

  // How a searching scheme judges a candidate: by the manifest's first metric.
  double score(ModelHandle& model, const CheckpointFolder& folder) {
    TokenizerChoice tokenizer = choose_tokenizer(catalog_, experiment_, checkpoint(), folder);
    return lower_is_better(
        evaluate_metric(catalog_, corpora_, experiment_.metrics.front(), model, tokenizer).front());
  }

  // What was hashed must be what was opened.
  void check_unchanged(const WeightsCell& weights) {
    for (const CheckpointCell* cell : files_of(weights)) {
      if (memory_.identities != nullptr && !memory_.identities->unchanged(*cell)) {
        fail(QUENCH_DATA_LOSS, "{}: changed while it was read", cell->location);
      }
    }
  }

  // Where the first failure ends the run, it should not have to wait for the float model.
  void check_calibrations(OpenWeights& open) {
    for (const QuantizerCell& cell : experiment_.quantizers) {
      if (options_.fail_fast && cell.calibration) {
        quantization_.rows(cell, {0, cell.replicates.draws, 0, experiment_.seed}, open.model,
                           *state_.tokenizer);
      }
    }
  }

  // A rule that fits no module fails its quantizer's cells before any work, where this could not
  // be told before the model was open.
  void check_rules(ModelHandle& model, const std::vector<Cell>& cells) {
    for (size_t q = 0; q < experiment_.quantizers.size(); ++q) {
      const QuantizerCell& quantizer = experiment_.quantizers[q];
      if (!may_have_rules(quantizer)) {
        continue;
      }
      if (!modules_) {
        modules_ = known_modules(describe_models(catalog_, experiment_, options_.hub));
      }
      if (modules_->complete) {
        return;
      }
      add_names(model, modules_->names);
      try {
        require_modules(QuantizerHandle(catalog_, *quantizer.plugin, quantizer.parameters),
                        quantizer.parameters, modules_->names);
      } catch (...) {
        const Error error = current_error();
        throw_if_final(error);
        for (size_t i = 0; i < cells.size(); ++i) {
          if (cells[i].variant.quantizer == q && !state_.faults[i]) {
            state_.faults[i] = error;
          }
        }
      }
    }
  }

  // All metrics on one variant of the open weights: what is there is taken, the rest computed.
  std::vector<std::vector<Record>> run_variant(std::optional<OpenWeights>& open,
                                               std::span<Cell> cells,
                                               std::span<const nlohmann::json> parts,
                                               const std::string& name) {
    std::vector<std::vector<Record>> out(cells.size());
    bool to_do = false;
    state_.book.set_answers({});  // they were another variant's
    for (size_t m = 0; m < cells.size(); ++m) {
      if (const auto& fault =
              state_
                  .faults[static_cast<size_t>(&cells[m] - by_weights_[cells[m].weights].data())]) {
        out[m] = keep_failure(cells[m], parts[m], describe_quantizer(experiment_, cells[m].variant),
                              *fault);
        continue;
      }
      look_again(cells[m]);
      out[m] = records_there(cells[m], parts[m]);
      to_do = to_do || out[m].empty();
    }
    const Variant& variant = cells[0].variant;
    const OwedFolder* folder = open && !hopeless(cells) ? owed(variant) : nullptr;
    if (!to_do && folder == nullptr) {
      return out;
    }
    nlohmann::json description = describe_quantizer(experiment_, variant);
    nlohmann::json extra;
    const std::vector<std::string> keys = keys_to_do(cells);
    const CellsAtWork at_work(keys);
    if (variant.quantizer) {
      const QuantizerCell& quantizer = experiment_.quantizers[*variant.quantizer];
      say(name + ", " + quantizer.label);
      FloatWeights kept(open->model);
      try {
        QuantizedModel result =
            quantization_.apply(quantizer, draw_of(variant), open->model, *state_.tokenizer, kept,
                                to_do ? requests(cells) : std::span<const ScoreRequest>());
        check_process(fmt::format("model {}, quantizer {}", state_.family, quantizer.plugin->id));
        state_.book.set_answers(std::move(result.answers));
        description["bits_per_weight"] = result.bits_per_weight;
        extra = result.details;
        if (folder != nullptr) {
          write(*folder,
                [&] { export_row(*open, *result.stored, *folder, experiment_.tokenizer); });
        }
        measure(*open, &kept, cells, parts, description, &extra, out);
      } catch (...) {
        const Error error = current_error();
        kept.restore();
        throw_if_final(error);
        if (folder != nullptr) {
          tell_unwritten(folder->row, error);
        }
        for (size_t m = 0; m < cells.size(); ++m) {
          if (out[m].empty()) {
            out[m] = keep_failure(cells[m], parts[m], description, error);
          }
        }
        return out;
      }
      kept.restore();
    } else {
      measure(*open, nullptr, cells, parts, description, nullptr, out);
    }
    return out;
  }

  // Whether rows of the cell's metric are to ride along with passes of these weights.
  bool rides(const Cell& cell) const {
    const std::vector<Cell>& all = by_weights_.at(cell.weights);
    return experiment_.metrics[cell.metric].in_pass &&
           std::any_of(all.begin(), all.end(), [&](const Cell& each) {
             return each.metric == cell.metric && each.variant.quantizer &&
                    each.state == CellState::kToDo;
           });
  }

  // What is known to be scored on a variant.
  std::span<const ScoreRequest> requests(std::span<const Cell> cells) const {
    if (state_.book.requests().empty() &&
        std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return rides(cell); })) {
      HostServices::instance().log(
          QUENCH_LOG_INFO, "",
          "in_pass: no rows ride along, because none were scored on these weights in this run yet");
    }
    return state_.book.requests();
  }

  // What else a metric asked for.
  std::vector<MetricWeights> further_weights(const MetricCell& metric, OpenWeights& open,
                                             const FloatWeights* kept) const {
    const uint32_t needs = metric.needs;
    std::vector<MetricWeights> out;
    const CheckpointCell& here = checkpoint();
    if ((needs & QUENCH_METRIC_NEEDS_FLOAT) != 0 && kept != nullptr) {
      if (kept->has_ops()) {
        fail(QUENCH_UNSUPPORTED,
             "metric {}: compares weights, and the quantizer replaces linears by operations of its "
             "own",
             metric.plugin->id);
      }
      out.push_back({"float", here.branch, here.step, here.tokens,
                     std::make_shared<FloatSource>(open.model, *kept)});
    }
    if ((needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
      for (const size_t place : branch_until(experiment_, state_.weights->checkpoint)) {
        const CheckpointCell& cell = experiment_.checkpoints[place];
        out.push_back({cell.revision.empty() ? cell.model : cell.revision, cell.branch, cell.step,
                       cell.tokens, open_files(catalog_, cell, options_.hub).source});
      }
    }
    return out;
  }

  // The weights as they are now in the dtype of one metric: those of the files where nothing
  // changed them, without the rounding of this run's own dtype.
  ModelHandle in_dtype(quench_dtype dtype, OpenWeights& open, const FloatWeights* kept) {
    if (kept != nullptr && kept->has_ops()) {
      fail(QUENCH_UNSUPPORTED,
           "a metric in a dtype of its own, and the quantizer replaces linears");
    }
    const FloatWeights nothing(open.model);
    std::shared_ptr<const TensorSource> source = open.folder.source;
    if (kept != nullptr || state_.weights->averaging) {
      source = std::make_shared<FloatSource>(open.model, nothing);
    }
    return open_model(catalog_, source, open.folder.config_json,
                      (open.folder.path / "config.json").string(), checkpoint().family, dtype,
                      experiment_.device);
  }

  // Computes the metrics that have no records yet on the model as it is; `kept`: its float weights
  // where it is quantized.
  void measure(OpenWeights& open, const FloatWeights* kept, std::span<Cell> cells,
               std::span<const nlohmann::json> parts, const nlohmann::json& quantizer,
               const nlohmann::json* extra, std::vector<std::vector<Record>>& out) {
    for (size_t m = 0; m < cells.size(); ++m) {
      if (!out[m].empty()) {
        continue;
      }
      try {
        const MetricCell& metric = experiment_.metrics[cells[m].metric];
        const CellsAtWork at_work({&cells[m].key, cells[m].key.empty() ? size_t{0} : size_t{1}});
        JournalOf journal(options_, cells[m].key);
        std::optional<ModelHandle> own;
        if (metric.dtype && !same_dtype(*metric.dtype, experiment_.dtype)) {
          own.emplace(in_dtype(*metric.dtype, open, kept));
        }
        std::vector<Record> values = evaluate_metric(
            catalog_, corpora_, metric, own ? *own : open.model, *state_.tokenizer,
            further_weights(metric, open, kept), rides(cells[m]) && !own ? &state_.book : nullptr);
        check_process(fmt::format("model {}, metric {}", state_.family, metric.plugin->id));
        for (Record& value : values) {
          name(value, cells[m], parts[m], quantizer);
        }
        if (extra != nullptr) {
          values.front().details.update(*extra);
        }
        check_form(values);
        out[m] = keep(std::move(values));
        journal.forget();
      } catch (...) {
        const Error error = current_error();
        throw_if_final(error);
        out[m] = keep_failure(cells[m], parts[m], quantizer, error);
      }
    }
  }

  // ---- records

  // Says of a value what it is the value of.
  void name(Record& record, const Cell& cell, const nlohmann::json& parts,
            const nlohmann::json& quantizer) const {
    describe(
        {experiment_, cell, parts, quantizer, state_.files.commit, state_.family, state_.stored},
        record);
  }

  // What a plugin told may have no form in JSON. That is a failed cell; in a file it would end the
  // run.
  static void check_form(const std::vector<Record>& values) {
    for (const Record& value : values) {
      canonical_json(to_json(value));
    }
  }

  void hand_over(const std::vector<Record>& records) {
    losing_records_ = true;
    if (options_.on_records) {
      options_.on_records(records);
    }
    losing_records_ = false;
  }

  // The values of one evaluation: the run has them, and they are safe, before anything else
  // happens.
  std::vector<Record> keep(std::vector<Record> records) {
    hand_over(records);
    const Record& first = records.front();
    if (memory_.store != nullptr && first.error.empty() && !first.key.empty() &&
        first.cached.empty()) {
      std::vector<Record> shared = records;
      for (Record& record : shared) {
        record.cached = printable(memory_.folder, kMaxError);
      }
      losing_records_ = true;
      memory_.store->publish(shared);
      losing_records_ = false;
    }
    return records;
  }

  std::vector<Record> keep_failure(const Cell& cell, const nlohmann::json& parts,
                                   const nlohmann::json& quantizer, const Error& error) {
    const MetricCell& metric = experiment_.metrics[cell.metric];
    Record record;
    record.metric = metric.plugin->id;
    name(record, cell, parts, quantizer);
    record.error = printable(error.what(), kMaxError);
    return keep({record});
  }

  struct State {
    const WeightsCell* weights = nullptr;
    LocatedCheckpoint files;
    nlohmann::json stored;  // how the files hold codes, or null
    std::string family;
    std::optional<TokenizerChoice> tokenizer;
    std::vector<nlohmann::json> parts;         // of the cells of these weights
    std::vector<std::optional<Error>> faults;  // likewise: why they cannot be measured
    ScoreBook book;                            // of the metrics whose rows ride along
    std::vector<OwedFolder> owed;              // to be written
  };

  Catalog& catalog_;
  const Experiment& experiment_;
  const RunnerOptions& options_;
  const RunMemory& memory_;
  Corpora& corpora_;
  QuantizeCell quantization_;
  uint64_t& done_;
  uint64_t total_;
  std::optional<KnownModules> modules_;     // for check_rules
  std::map<std::string, Error> untrained_;  // by branch: why it is not complete
  bool losing_records_ = false;             // on_records threw
  State state_;
  std::map<size_t, std::vector<Cell>> by_weights_;
  std::vector<Record> records_;
};

}  // namespace

std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options) {
  for (const Experiment& experiment : experiments) {
    check_experiment(catalog, experiment, options.hub);
  }
  check_row_folders(experiments, options.places);
  if (options.on_start) {
    options.on_start();
  }
  remove_row_leftovers(experiments, options.places);
  Corpora corpora(catalog, TokenCache(options.home), options.hub);
  std::vector<Record> records;
  uint64_t done = 0;
  const uint64_t total = cells_of(experiments).size();
  for (size_t job = 0; job < experiments.size(); ++job) {
    std::vector<Record> of_job =
        JobRunner(catalog, experiments[job], options, corpora, done, total).run();
    std::move(of_job.begin(), of_job.end(), std::back_inserter(records));
  }
  return records;
}

}  // namespace quench
