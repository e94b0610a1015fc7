#include "cli/fetched_weights.hpp"

#include "cli/storage.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// The plans of these revisions, in their order.
std::vector<PlannedRevision> plans_of(const StorageNeeds& needs, HubSession& session) {
  if (needs.revisions.empty()) {
    return {};
  }
  std::vector<FetchRequest> wanted;
  for (const std::string& text : needs.revisions) {
    wanted.push_back({parse_hub_spec(text), Purpose::kModel});
  }
  std::map<std::string, PlannedRevision> plans;  // two spellings of one revision have one
  for (PlannedRevision& plan : session.plan(wanted).revisions) {
    plans.emplace(to_text(plan.spec), std::move(plan));
  }
  std::vector<PlannedRevision> out;
  out.reserve(wanted.size());
  for (const FetchRequest& each : wanted) {
    out.push_back(plans.at(to_text(each.spec)));
  }
  return out;
}

}  // namespace

FetchedWeights::FetchedWeights(const LoadedRun& run, const ManifestStorage& storage,
                               StorageNeeds needs, HubSession& session, Identities& identities,
                               const std::filesystem::path& cache)
    : needs_(std::move(needs)), identities_(identities), ledger_(ledger_of_run(run.folder)) {
  std::vector<PlannedRevision> plans = plans_of(needs_, session);
  std::vector<SizedRevision> sizes;
  sizes.reserve(plans.size());
  for (const PlannedRevision& plan : plans) {
    sizes.push_back({plan, 0});
  }
  check_limit(forecast_storage(run, storage, needs_, sizes, cache));
  for (size_t step = 0; step < needs_.at.size(); ++step) {
    steps_[needs_.at[step]] = step;
  }
  for (const Experiment& experiment : run.experiments) {
    for (const CheckpointCell& cell : experiment.checkpoints) {
      cells_[cell.location].push_back(cell);
    }
  }
  store_ = std::make_unique<HubRevisions>(cache, std::move(plans), session.api(), ledger_);
  store_->on_progress = [this](const PlannedRevision& revision, const FetchState& state) {
    if (stop_) {
      fail(QUENCH_CANCELLED, "the run ends");
    }
    if (!in_background_) {
      HostServices::instance().progress("", "fetching bytes of " + to_text(revision.spec),
                                        state.bytes_done, revision.missing_bytes);
    }
  };
  window_ =
      std::make_unique<RevisionWindow>(needs_.steps, storage.limit.value, storage.evict, *store_);
}

FetchedWeights::~FetchedWeights() {
  if (!thread_.joinable()) {
    return;
  }
  stop_ = true;
  std::atomic<bool>& cancel = HostServices::instance().cancel_flag();
  const bool before = cancel.exchange(true);  // it may be waiting for a hub that is busy
  wait();
  cancel = before;
}

void FetchedWeights::begin(size_t job, size_t weights) {
  const auto found = steps_.find({job, weights});
  if (found == steps_.end() || needs_.steps[found->second].empty()) {
    return;
  }
  const size_t step = found->second;
  wait();
  window_->begin(step);
  for (const size_t revision : needs_.steps[step]) {
    for (const CheckpointCell& cell : cells_[needs_.revisions[revision]]) {
      identities_.forget_if_changed(cell);  // it may have been away
    }
  }
  if (const auto next = window_->next(step)) {
    fetch_in_background(*next);
  }
}

void FetchedWeights::end() {
  wait();
  window_->end();
}

void FetchedWeights::fetch_in_background(size_t revision) {
  in_background_ = true;
  thread_ = std::thread([this, revision] {
    try {
      store_->fetch(revision);
    } catch (const std::exception& failure) {
      HostServices::instance().log(QUENCH_LOG_DEBUG, "", failure.what());
    }
  });
}

void FetchedWeights::wait() {
  if (thread_.joinable()) {
    thread_.join();
  }
  in_background_ = false;
}

}  // namespace quench
