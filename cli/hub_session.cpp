#include "cli/hub_session.hpp"

#include <exception>
#include <set>

#include "cli/amounts.hpp"
#include "cli/manifest_options.hpp"
#include "cli/report_in_python.hpp"
#include "core/base/io/look.hpp"
#include "core/hub/fetch/fetch_plan.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/resolve_items.hpp"

namespace quench {

namespace {

HubAccess access_of(const Context& context) {
  HubAccess access = as_usage([&] { return hub_access_from_process(context.hub_environment); });
  if (access.offline) {
    fail(QUENCH_FAILED_PRECONDITION,
         "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, so nothing can be fetched");
  }
  return access;
}

RetryPolicy usual_retries() {
  RetryPolicy out;
  out.cancel = &HostServices::instance().cancel_flag();
  out.on_wait = [](const std::string& line) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
  };
  return out;
}

}  // namespace

HubSession::HubSession(Context& context)
    : context_(context),
      access_(access_of(context)),
      retries_(usual_retries()),
      api_(access_, retries_) {}

std::vector<Experiment> HubSession::resolve(const Manifest& manifest) {
  std::exception_ptr failure;  // of the line, which is no fault of the manifest
  const auto list = [&](const std::string& model) {
    try {
      std::vector<std::string> names;
      for (const auto& [name, commit] : api_.references(parse_hub_spec(model))) {
        names.push_back(name);
      }
      return names;
    } catch (const Error& error) {
      if (error.code() != QUENCH_NOT_FOUND && error.code() != QUENCH_INVALID_ARGUMENT) {
        failure = std::current_exception();
      }
      throw;
    }
  };
  try {
    return resolve_manifest(manifest, context_.catalog(), context_.hub(), list,
                            report_in_python(context_));
  } catch (const Error&) {
    if (failure) {
      std::rethrow_exception(failure);
    }
    throw;
  }
}

FetchPlan HubSession::plan(const std::vector<FetchRequest>& wanted) {
  FetchPlan plan = as_usage([&] {
    return plan_fetch(wanted, api_, hub_cache_root(context_.hub_environment),
                      [](size_t done, size_t total) {
                        HostServices::instance().progress("", "listing revisions", done, total);
                      });
  });
  remember_listings(plan, Fingerprints(context_.home()));
  return plan;
}

FetchPlan HubSession::plan(const std::string& source, const std::vector<std::string>& sets,
                           int64_t job) {
  std::vector<FetchRequest> wanted = as_usage([&] {
    if (is_hub_spec(source)) {
      const HubSpec spec = parse_hub_spec(source);
      return std::vector<FetchRequest>{{spec, spec.dataset ? Purpose::kAll : Purpose::kModel}};
    }
    if (const std::string hint = path_hint(source); !hint.empty() && !exists_at(source)) {
      fail(QUENCH_NOT_FOUND, "{} does not exist{}", printable(source, 4096), hint);
    }
    const Manifest manifest = load_manifest(source, sets, study_reader(context_));
    std::vector<Experiment> experiments = resolve(manifest);
    if (job >= 0) {
      keep_job(manifest, experiments, job);
    }
    std::vector<FetchRequest> out = model_requests(experiments);
    for (FetchRequest& data : data_requests(experiments)) {
      out.push_back(std::move(data));
    }
    return out;
  });
  return plan(wanted);
}

void HubSession::fetch(const FetchPlan& plan, Progress& progress) {
  FetchOptions options;
  std::string shown;
  options.on_progress = [&](const FetchState& state) {
    if (shown != state.file) {
      shown = state.file;
      progress.step(
          fmt::format("[{}/{}] {}", state.files_done + 1, plan.missing_files, state.file));
    }
    HostServices::instance().progress("", "fetching bytes", state.bytes_done, plan.missing_bytes);
  };
  try {
    quench::fetch(plan, api_, options);
  } catch (const Error& error) {
    if (error.code() != QUENCH_CANCELLED) {
      throw;
    }
    fail(QUENCH_CANCELLED, "stopped on request; what has arrived is kept; continue with: {}",
         context_.command_line());
  }
}

std::vector<FetchRequest> model_requests(const std::vector<Experiment>& experiments) {
  std::vector<FetchRequest> out;
  for (const Experiment& experiment : experiments) {
    const std::set<size_t> read =
        experiment.is_share ? checkpoints_read(experiment) : std::set<size_t>();
    for (size_t i = 0; i < experiment.checkpoints.size(); ++i) {
      const std::string& location = experiment.checkpoints[i].location;
      if (is_hub_spec(location) && (!experiment.is_share || read.contains(i))) {
        out.push_back({parse_hub_spec(location), Purpose::kModel});
      }
    }
  }
  return out;
}

std::vector<FetchRequest> data_requests(const std::vector<Experiment>& experiments) {
  std::vector<FetchRequest> out;
  for (const Experiment& experiment : experiments) {
    for (const auto& [text, reason] : experiment.absent) {
      if (is_hub_spec(text)) {
        const HubSpec spec = parse_hub_spec(text);
        out.push_back({spec, spec.dataset ? Purpose::kAll : Purpose::kTokenizer});
      }
    }
  }
  return out;
}

}  // namespace quench
