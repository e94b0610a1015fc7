#include "core/train/training_leg.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"

namespace quench {

namespace {

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

TrainingModel LegTrainer::open(Catalog& catalog, const Training& training, const TrainingLeg& leg,
                               const TrainedStates& states, const StateKeys& keys) {
  if (leg.from == 0) {
    return TrainingModel(catalog, training.recipe);
  }
  const std::string key = keys.at(leg.from);
  if (!states.has_state(key)) {
    fail(QUENCH_FAILED_PRECONDITION, "branch {}: begins at step {}, which its parent did not reach",
         printable(training.branches[leg.branch].name), leg.from);
  }
  return TrainingModel(catalog, training.recipe, states, key);
}

LegTrainer::LegTrainer(Catalog& catalog, const Training& training, const TrainingLeg& leg,
                       TrainedStates& states, const TrainingBatches& batches,
                       const TrainingBatches* validation, double state_seconds)
    : training_(training),
      recipe_(training.recipe),
      branch_(training.branches[leg.branch]),
      leg_(leg),
      states_(states),
      batches_(batches),
      validation_(validation),
      state_seconds_(state_seconds),
      keys_(recipe_key(recipe_), branch_.schedule),
      model_(open(catalog, training, leg, states, keys_)),
      averages_(catalog, branch_.averages, leg.averages, model_.size(), recipe_.tokens_per_step()) {
  take_over();
}

// What the state that the leg begins from is kept for.
void LegTrainer::take_over() {
  last_written_ = Clock::now();
  last_.step = leg_.from;
  if (leg_.from == 0) {
    return;
  }
  last_.key = keys_.at(leg_.from);
  const nlohmann::json note = states_.note(last_.key);
  const bool wanted = contains(branch_.checkpoints, leg_.from) || leg_.from <= branch_.begin;
  last_.keeps_weights = wanted || note.value("keeps_weights", true);
  last_.keeps_optimizer = leg_.from <= branch_.begin || note.value("keeps_optimizer", true);
  if (last_.keeps_weights && !note.value("keeps_weights", true)) {
    nlohmann::json kept = note;
    kept["keeps_weights"] = true;
    states_.save_note(last_.key, kept);
  }
  log_.continue_from(states_, last_.key, last_.keeps_weights);
}

void LegTrainer::run() {
  HostServices& services = HostServices::instance();
  product_rate_ = model_.product_rate();
  flops_per_step_ = model_.flops_per_token() * static_cast<double>(recipe_.tokens_per_step());
  if (averages_.needs(leg_.from)) {
    averages_.take(leg_.from, model_.evaluated());
    write_averages(leg_.from);
  }
  for (int64_t step = leg_.from + 1; step <= leg_.to; ++step) {
    if (services.cancel_flag()) {
      stop(step - 1);
    }
    const TrainingRow row = make_step(step);
    log_.add(row);
    services.progress("", "training", static_cast<uint64_t>(step - leg_.from),
                      static_cast<uint64_t>(leg_.steps()));
    write(step);
    if (contains(leg_.checkpoints, step)) {
      say(row);
    }
  }
}

// Mean nll over the batch of a step in nats; its gradient is accumulated. A stop in the middle is
// one after the step before: no weight has changed yet.
double LegTrainer::train_on(int64_t step) {
  try {
    return batch_loss(step);
  } catch (const Error& error) {
    if (error.code() == QUENCH_CANCELLED || HostServices::instance().cancel_flag()) {
      stop(step - 1);
    }
    fail(error.code(), "{} at step {}: {}", where(), step, error.what());
  }
}

double LegTrainer::update(int64_t step, double lr) {
  try {
    return model_.step(step, lr);
  } catch (const Error& error) {
    fail(error.code(), "{} at step {}: {}", where(), step, error.what());
  }
}

std::string LegTrainer::where() const {
  return branch_.name.empty() ? "training" : "training of " + printable(branch_.name);
}

double LegTrainer::batch_loss(int64_t step) {
  const uint64_t first = static_cast<uint64_t>(step - 1) * recipe_.batch;
  const double weight = 1.0 / static_cast<double>(recipe_.tokens_per_step());
  double loss = 0;
  for (uint64_t done = 0; done < recipe_.batch; done += recipe_.micro_batch) {
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    loss += model_.accumulate(batches_.shuffled(first + done, recipe_.micro_batch), weight);
  }
  return loss * weight;
}

TrainingRow LegTrainer::make_step(int64_t step) {
  const Clock::time_point start = Clock::now();
  TrainingRow row;
  row.step = step;
  row.tokens = static_cast<uint64_t>(step) * recipe_.tokens_per_step();
  row.lr = rate_of_update(branch_.schedule, step);
  row.loss = train_on(step);
  if (!std::isfinite(row.loss)) {
    fail(QUENCH_NUMERICAL, "{} at step {}: the loss is {}", where(), step, row.loss);
  }
  row.gradient_norm = update(step, row.lr);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  row.tokens_per_second = static_cast<double>(recipe_.tokens_per_step()) / seconds;
  if (product_rate_) {
    row.mfu = flops_per_step_ / seconds / *product_rate_;
  }
  try {
    row.validation_loss = validation_loss(step);
  } catch (const Error& error) {
    if (error.code() != QUENCH_CANCELLED) {
      throw;
    }
    log_.add(row);
    stop(step);
  }
  return row;
}

std::optional<double> LegTrainer::validation_loss(int64_t step) {
  if (validation_ == nullptr) {
    return std::nullopt;
  }
  const int64_t every = training_.validation->every;
  if (!(every > 0 && step % every == 0) && !contains(leg_.checkpoints, step)) {
    return std::nullopt;
  }
  const uint64_t sequences = training_.validation->sequences;
  double loss = 0;
  for (uint64_t done = 0; done < sequences; done += recipe_.micro_batch) {
    loss += model_.evaluate(
        validation_->in_order(done, std::min(recipe_.micro_batch, sequences - done)));
  }
  return loss / static_cast<double>(sequences * recipe_.length);
}

// ---- what is written

void LegTrainer::write(int64_t step) {
  if (averages_.needs(step)) {
    averages_.take(step, model_.evaluated());
    write_averages(step);
  }
  const double waited = std::chrono::duration<double>(Clock::now() - last_written_).count();
  const bool is_checkpoint = contains(leg_.checkpoints, step);
  if (is_checkpoint || contains(leg_.states, step) || waited >= state_seconds_) {
    write_state(step, is_checkpoint);
  }
}

void LegTrainer::write_averages(int64_t step) {
  for (const LiveAverages::Finished& made : averages_.finished()) {
    const LiveAverage& average = branch_.averages[made.average];
    const nlohmann::json note = {{"average", average.plugin->id},
                                 {"params", average.parameters},
                                 {"steps", average.members},
                                 {"step", step}};
    states_.save_weights(live_average_key(average, keys_),
                         {recipe_.config, recipe_.tokenizer, note}, model_.parameters(),
                         made.weights);
  }
}

CheckpointFiles LegTrainer::files(const State& state) const {
  nlohmann::json note = log_.note();
  note["step"] = state.step;
  note["tokens"] = static_cast<uint64_t>(state.step) * recipe_.tokens_per_step();
  note["keeps_weights"] = state.keeps_weights;
  note["keeps_optimizer"] = state.keeps_optimizer;
  return {recipe_.config, recipe_.tokenizer, note};
}

// The optimizer first: weights that are there with it are a state. What the last state was kept for
// as long as it was the last one goes then.
void LegTrainer::write_state(int64_t step, bool is_checkpoint) {
  State state;
  state.step = step;
  state.key = keys_.at(step);
  state.keeps_optimizer = contains(leg_.states, step);
  state.keeps_weights = is_checkpoint || state.keeps_optimizer;
  model_.save_optimizer(states_, state.key);
  const bool there = states_.has_weights(state.key);
  states_.save_weights(state.key, files(state), model_.parameters(), model_.evaluated());
  if (there && state.keeps_weights) {
    nlohmann::json note = states_.note(state.key);
    note["keeps_weights"] = true;
    note["keeps_optimizer"] = state.keeps_optimizer || note.value("keeps_optimizer", false);
    states_.save_note(state.key, note);
  }
  if (!last_.key.empty() && !last_.keeps_optimizer) {
    states_.drop_optimizer(last_.key);
  }
  if (!last_.key.empty() && !last_.keeps_weights) {
    states_.drop_weights(last_.key);
  }
  if (state.keeps_weights) {
    log_.cut(state.key);
  }
  last_ = state;
  last_written_ = Clock::now();
}

void LegTrainer::stop(int64_t step) {
  if (step > last_.step) {
    write_state(step, false);
  }
  fail(QUENCH_CANCELLED, "stopped on request at step {} of {}", step, branch_.steps());
}

void LegTrainer::say(const TrainingRow& row) const {
  HostServices::instance().log(
      QUENCH_LOG_INFO, "",
      fmt::format("{}step {} of {}: loss {:.4f}{} nats/token, rate {:.3g}, {:.0f} tokens/s",
                  branch_.name.empty() ? "" : printable(branch_.name) + " ", row.step,
                  branch_.steps(), row.loss,
                  row.validation_loss ? fmt::format(", held out {:.4f}", *row.validation_loss) : "",
                  row.lr, row.tokens_per_second));
}

}  // namespace quench
