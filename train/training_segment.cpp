#include "train/training_segment.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "train/update_rate.hpp"

namespace quench {

namespace {

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void check(const TrainedStates& states, const std::filesystem::path& folder) {
  if (const std::string fault = states.fault(folder, Depth::kContents); !fault.empty()) {
    throw DamagedState(folder, fault);
  }
}

// Another process at the same training removes states that it has passed.
void check_is_there(const TrainedStates& states, const std::string& key, int64_t step) {
  if (!states.has_state(key)) {
    const std::filesystem::path folder = states.weights_path(key);
    throw DamagedState(
        folder, fmt::format("{}: the state at step {} does not exist", folder.string(), step));
  }
}

}  // namespace

TrainingModel SegmentTrainer::open(Catalog& catalog, const TrainingRecipe& recipe, int64_t from,
                                   const TrainedStates& states, const StateKeys& keys) {
  if (from == 0) {
    return TrainingModel(catalog, recipe);
  }
  const std::string key = keys.at(from);
  check(states, states.optimizer_path(key));
  check(states, states.weights_path(key));
  try {
    return TrainingModel(catalog, recipe, states, key);
  } catch (const Error&) {
    check_is_there(states, key, from);
    throw;
  }
}

SegmentTrainer::SegmentTrainer(Catalog& catalog, const Training& training,
                               const TrainingSegment& segment, TrainedStates& states,
                               const TrainingBatches& batches, const TrainingBatches* validation,
                               double state_seconds)
    : training_(training),
      recipe_(training.recipe_of(training.branches[segment.branch])),
      branch_(training.branches[segment.branch]),
      segment_(segment),
      states_(states),
      batches_(batches),
      validation_(validation),
      state_seconds_(state_seconds),
      keys_(state_keys(training)[segment.branch]),
      model_(open(catalog, recipe_, segment.from, states, keys_)),
      averages_(catalog, branch_.averages, segment.averages, model_.size(),
                recipe_.tokens_per_step()) {
  announce();
  try {
    take_over();
    continue_log();
  } catch (const DamagedState&) {
    throw;
  } catch (const Error&) {
    if (segment_.from > 0) {
      check_is_there(states_, keys_.at(segment_.from), segment_.from);
    }
    throw;
  }
}

// Which states of the branch exist and why they are kept. A later state is from an attempt that got
// further than this one could begin; it is removed once the segment has passed it.
void SegmentTrainer::take_over() {
  last_written_ = Clock::now();
  last_ = segment_.from;
  for (int64_t step = branch_.begin + 1; step <= branch_.steps(); ++step) {
    if (states_.has_state(keys_.at(step))) {
      stand_on(step);
    }
  }
  for (const size_t index : segment_.averages) {
    check_sums(branch_.averages[index]);
  }
  averages_.resume(segment_.from, states_, keys_);
}

void SegmentTrainer::stand_on(int64_t step) {
  State state;
  state.key = keys_.at(step);
  try {
    nlohmann::json note = states_.note(state.key);
    const bool kept = note.value("keeps_weights", true);
    state.keeps_weights = kept || contains(branch_.checkpoints, step);
    state.keeps_optimizer = note.value("keeps_optimizer", true);
    if (state.keeps_weights && !kept) {
      note["keeps_weights"] = true;
      states_.save_note(state.key, note);
    }
  } catch (const Error& error) {
    if (error.code() == QUENCH_DATA_LOSS) {
      throw DamagedState(states_.weights_path(state.key), error.what());
    }
    if (step == segment_.from || states_.has_state(state.key)) {
      throw;
    }
    return;  // removed meanwhile
  }
  standing_[step] = std::move(state);
}

// Checks the sums of an average that is unfinished in the state where the segment begins.
void SegmentTrainer::check_sums(const LiveAverage& average) const {
  const size_t members = members_until(average, segment_.from);
  const bool begins_here = members == 1 && average.members.front() == segment_.from;
  const std::string key = live_average_key(average, keys_);
  const std::filesystem::path folder = states_.sums_path(key, members);
  check(states_, folder);
  if (members > 0 && !begins_here && !states_.has_sums(key, members)) {
    throw DamagedState(folder, folder.string() + ": does not exist");
  }
}

void SegmentTrainer::announce() const {
  const bool begins = segment_.from <= branch_.begin;
  if (begins && segment_.passed_over == 0) {
    return;
  }
  std::string line =
      fmt::format("{}: {} step {} of {}", where(), begins ? "starting again at" : "continuing from",
                  segment_.from, branch_.steps());
  if (segment_.passed_over > 0) {
    line += fmt::format("; the state at step {} cannot be used: {}", segment_.passed_over,
                        segment_.reason);
  }
  HostServices::instance().log(QUENCH_LOG_INFO, "", line);
}

// Continues the log after the state where the segment begins. If a stop during that step's
// validation left out its loss, computes it now.
void SegmentTrainer::continue_log() {
  if (segment_.from == 0) {
    return;
  }
  const std::string key = keys_.at(segment_.from);
  if (segment_.from <= branch_.begin) {
    log_.continue_from(states_, key, true);
    return;
  }
  nlohmann::json note = states_.note(key);
  nlohmann::json& rows = note["rows"];
  const bool lacks = !rows.empty() && rows.back().value("step", int64_t{0}) == segment_.from &&
                     rows.back()["validation_loss"].is_null();
  const std::optional<double> loss = lacks ? validation_loss(segment_.from) : std::nullopt;
  if (loss && std::isfinite(*loss)) {
    rows.back()["validation_loss"] = *loss;
    states_.save_note(key, note);
  }
  log_.continue_from(states_, key, standing_.at(segment_.from).keeps_weights);
}

void SegmentTrainer::run() {
  HostServices& services = HostServices::instance();
  product_rate_ = model_.product_rate();
  flops_per_step_ = model_.flops_per_token() * static_cast<double>(recipe_.tokens_per_step());
  take_averages(segment_.from);
  for (int64_t step = segment_.from + 1; step <= segment_.to; ++step) {
    if (services.cancel_flag()) {
      stop(step - 1);
    }
    const TrainingRow row = make_step(step);
    log_.add(row);
    services.progress("", "training steps", static_cast<uint64_t>(step - segment_.from),
                      static_cast<uint64_t>(segment_.steps()));
    write(step);
    if (contains(segment_.checkpoints, step)) {
      say(row);
    }
  }
  if (!standing_.empty()) {
    drop_before(standing_.rbegin()->first);
  }
}

// Mean nll in nats over the batch of a step, where the gradient is taken first. A stop in the
// middle counts as one after the step before, because no weight has changed yet.
double SegmentTrainer::train_on(int64_t step) {
  try {
    return model_.gradient(step, [&] { return batch_loss(step); });
  } catch (const DamagedTokens&) {
    keep_progress(step - 1);
    throw;
  } catch (const Error& error) {
    if (error.code() == QUENCH_CANCELLED || HostServices::instance().cancel_flag()) {
      stop(step - 1);
    }
    fail(error.code(), "{} at step {}: {}", where(), step, error.what());
  }
}

double SegmentTrainer::update(int64_t step, double lr) {
  try {
    return model_.step(step, lr);
  } catch (const Error& error) {
    fail(error.code(), "{} at step {}: {}", where(), step, error.what());
  }
}

std::string SegmentTrainer::where() const {
  return branch_.name.empty() ? "training" : "training of " + printable(branch_.name);
}

// Accumulates the gradient of a batch.
double SegmentTrainer::batch_loss(int64_t step) {
  const uint64_t first = static_cast<uint64_t>(step - 1) * recipe_.batch;
  const double weight = 1.0 / static_cast<double>(recipe_.tokens_per_step());
  const uint64_t order = step > branch_.begin ? branch_.order.value_or(recipe_.seed) : recipe_.seed;
  double loss = 0;
  for (uint64_t done = 0; done < recipe_.batch; done += recipe_.micro_batch) {
    stop_if_asked();
    loss += model_.accumulate(batches_.shuffled(order, first + done, recipe_.micro_batch), weight);
  }
  return loss * weight;
}

TrainingRow SegmentTrainer::make_step(int64_t step) {
  const Clock::time_point start = Clock::now();
  TrainingRow row;
  row.step = step;
  row.tokens = static_cast<uint64_t>(step) * recipe_.tokens_per_step();
  row.lr = update_rate(branch_.schedule, step);
  row.loss = train_on(step);
  if (!std::isfinite(row.loss)) {
    fail(QUENCH_NUMERICAL, "{} at step {}: the loss is {}", where(), step, row.loss);
  }
  row.gradient_norm = update(step, row.lr);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  row.tokens_per_second = static_cast<double>(recipe_.tokens_per_step()) / seconds;
  if (product_rate_) {
    const auto evaluations = static_cast<double>(model_.evaluations());
    row.mfu = evaluations * flops_per_step_ / seconds / *product_rate_;
  }
  try {
    row.validation_loss = validation_loss(step);
  } catch (const DamagedTokens&) {
    log_.add(row);
    keep_progress(step);
    throw;
  } catch (const Error& error) {
    if (error.code() != QUENCH_CANCELLED) {
      throw;
    }
    log_.add(row);
    stop(step);
  }
  return row;
}

bool SegmentTrainer::wants_validation(int64_t step) const {
  if (validation_ == nullptr) {
    return false;
  }
  const int64_t every = training_.validation->every;
  return (every > 0 && step % every == 0) || contains(branch_.checkpoints, step);
}

std::optional<double> SegmentTrainer::validation_loss(int64_t step) {
  if (!wants_validation(step)) {
    return std::nullopt;
  }
  const uint64_t sequences = training_.validation->sequences;
  double loss = 0;
  for (uint64_t done = 0; done < sequences; done += recipe_.micro_batch) {
    stop_if_asked();
    loss += model_.evaluate(
        validation_->in_order(done, std::min(recipe_.micro_batch, sequences - done)));
  }
  return loss / static_cast<double>(sequences * recipe_.length);
}

// ---- writing

void SegmentTrainer::write(int64_t step) {
  take_averages(step);
  const double waited = std::chrono::duration<double>(Clock::now() - last_written_).count();
  if (contains(segment_.checkpoints, step) || contains(segment_.states, step) ||
      waited >= state_seconds_) {
    write_state(step);
  }
}

void SegmentTrainer::take_averages(int64_t step) {
  if (!averages_.needs(step)) {
    return;
  }
  check_running_code();
  averages_.take(step, model_.evaluated());
  for (const LiveAverages::Finished& made : averages_.finished()) {
    const LiveAverage& average = branch_.averages[made.average];
    const nlohmann::json note = {{"average", average.plugin->id},
                                 {"params", average.parameters},
                                 {"steps", average.members},
                                 {"step", step}};
    const std::string key = live_average_key(average, keys_);
    states_.save_weights(key, {recipe_.config, recipe_.tokenizer, note, recipe_.tokenizer_key},
                         model_.parameters(), made.weights);
    states_.drop_sums(key);
  }
}

CheckpointFiles SegmentTrainer::files(int64_t step, const State& state) const {
  nlohmann::json note = log_.note();
  note["step"] = step;
  note["tokens"] = static_cast<uint64_t>(step) * recipe_.tokens_per_step();
  note["keeps_weights"] = state.keeps_weights;
  note["keeps_optimizer"] = state.keeps_optimizer;
  if (branch_.optimizer) {
    note["optimizer"] = {{"id", branch_.optimizer->plugin->id},
                         {"params", branch_.optimizer->parameters}};
  }
  return {recipe_.config, recipe_.tokenizer, note, recipe_.tokenizer_key};
}

// Writes the weights last: weights and optimizer folder together are a state, and then the sums of
// its unfinished averages exist too.
void SegmentTrainer::write_state(int64_t step) {
  check_running_code();
  State state;
  state.key = keys_.at(step);
  state.keeps_optimizer = contains(segment_.states, step);
  state.keeps_weights = state.keeps_optimizer || contains(segment_.checkpoints, step);
  averages_.save(states_, keys_);
  model_.save_optimizer(states_, state.key);
  const bool there = states_.has_weights(state.key);
  states_.save_weights(state.key, files(step, state), model_.parameters(), model_.evaluated());
  if (there && state.keeps_weights) {
    nlohmann::json note = states_.note(state.key);
    note["keeps_weights"] = true;
    note["keeps_optimizer"] = state.keeps_optimizer || note.value("keeps_optimizer", false);
    states_.save_note(state.key, note);
  }
  if (state.keeps_weights) {
    log_.cut(state.key);
  }
  standing_[step] = state;
  drop_before(step);
  last_ = step;
  last_written_ = Clock::now();
}

// Removes from earlier states what was kept only while they were the last one. If the sums of an
// unfinished average cannot be saved, keeps the last state before its first member.
void SegmentTrainer::drop_before(int64_t step) {
  std::set<int64_t> needed = {step};
  for (const int64_t begun : averages_.begun_unsaved()) {
    const auto after = standing_.upper_bound(begun);
    if (after != standing_.begin()) {
      needed.insert(std::prev(after)->first);
    }
  }
  for (auto state = standing_.begin(); state != standing_.end() && state->first < step;) {
    if (needed.contains(state->first)) {
      ++state;
      continue;
    }
    if (!state->second.keeps_optimizer) {
      states_.drop_optimizer(state->second.key);
    }
    if (!state->second.keeps_weights) {
      states_.drop_weights(state->second.key);
    }
    state = state->second.keeps_optimizer ? std::next(state) : standing_.erase(state);
  }
  for (const size_t index : averages_.unfinished()) {
    std::set<size_t> kept;
    for (const int64_t state : needed) {
      kept.insert(members_until(branch_.averages[index], state));
    }
    states_.drop_sums(live_average_key(branch_.averages[index], keys_), kept);
  }
}

// Writes a state of the last step, so that no progress is lost.
void SegmentTrainer::keep_progress(int64_t step) {
  take_averages(step);
  if (step > last_) {
    write_state(step);
  }
}

void SegmentTrainer::stop(int64_t step) {
  keep_progress(step);
  fail(QUENCH_CANCELLED, "stopped on request at step {} of {}", step, branch_.steps());
}

void SegmentTrainer::say(const TrainingRow& row) const {
  HostServices::instance().log(
      QUENCH_LOG_INFO, "",
      fmt::format(
          "{}step {} of {}: loss {:.4f}{} nats/token, learning rate {:.3g}, {:.0f} tokens/s",
          branch_.name.empty() ? "" : printable(branch_.name) + " ", row.step, branch_.steps(),
          row.loss,
          row.validation_loss ? fmt::format(", held out {:.4f}", *row.validation_loss) : "", row.lr,
          row.tokens_per_second));
}

}  // namespace quench
