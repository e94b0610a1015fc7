#include "promises/served_candidate.hpp"

#include <boost/dll/shared_library.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/services/host_services.hpp"
#include "promises/candidate.hpp"
#include "promises/library.hpp"

namespace quench::promises {

namespace {

std::optional<ProcessSize> size_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::map<std::string, uint64_t> numbers;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (words >> name >> value) {
      numbers[name] = value;
    }
  }
  if (!numbers.contains("RssAnon:") || !numbers.contains("Threads:")) {
    return std::nullopt;
  }
  return ProcessSize{numbers["RssAnon:"] * 1024, numbers["Threads:"]};
}

class ServedCandidate final : public Candidate {
 public:
  ServedCandidate(const PluginDescription& description, const ServedOptions& options)
      : description_(description), options_(options) {
    for (const ParameterSchema& schema : description.parameters) {
      parameters_.push_back({schema.name, schema.type, schema.default_value});
    }
    HostServices::instance().set_threads(1);
    before_ =
        HostServices::instance().set_log_sink([this](int, std::string_view, std::string_view line) {
          constexpr std::string_view kPrinted = "printed: ";
          const std::lock_guard lock(printed_mutex_);
          if (printed_.empty() && line.starts_with(kPrinted)) {
            printed_ = line.substr(kPrinted.size());
          }
        });
  }
  ~ServedCandidate() override {
    served_.reset();
    HostServices::instance().set_log_sink(std::move(before_));
  }
  ServedCandidate(const ServedCandidate&) = delete;
  ServedCandidate& operator=(const ServedCandidate&) = delete;

  const quench_item& item() override {
    if (served_ == nullptr) {
      served_ = std::make_unique<ServedPlugins>(options_.worker);
    }
    return served_->load(description_);
  }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  void set_threads(uint32_t threads) override {  // a worker is told when it starts
    if (HostServices::instance().threads() != threads) {
      HostServices::instance().set_threads(threads);
      served_.reset();
    }
  }
  bool start_afresh() override {
    served_.reset();
    return true;
  }
  void request_cancel(bool requested) override {
    HostServices::instance().cancel_flag() = requested;
  }
  std::optional<ProcessSize> process_size() override {
    const std::optional<pid_t> process =
        served_ == nullptr ? std::nullopt : served_->process(description_);
    return process ? size_of(*process) : std::nullopt;
  }
  std::optional<std::string> printed() override {
    if (!description_.interpreter.empty()) {
      return std::nullopt;  // what it imports may warn
    }
    const std::lock_guard lock(printed_mutex_);
    return printed_;
  }
  std::filesystem::path sample() const override { return options_.sample; }

 private:
  const PluginDescription& description_;
  const ServedOptions& options_;
  std::vector<Parameter> parameters_;
  HostServices::LogSink before_;
  std::mutex printed_mutex_;
  std::string printed_;
  std::unique_ptr<ServedPlugins> served_;
};

const Library& library_beside(const std::filesystem::path& executable) {
  const LoadedObject loaded = load_object(own_plugins(executable) / "host" / "promises.so");
  if (loaded.object == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "what plugins promise: {}; `./dev build` makes it",
         loaded.fault);
  }
  return *loaded.object->get<GetLibrary>(kLibrarySymbol)();
}

}  // namespace

bool try_promises(const PluginDescription& description, const ServedOptions& options,
                  const OnVerdict& on_verdict) {
  const Library& library = library_beside(options.worker.self);
  ServedCandidate candidate(description, options);
  bool kept = true;
  bool usable = true;
  for (const Promise& promise : library.of(description.kind)) {
    Verdict verdict{Outcome::kSkipped, "it breaks the first promise"};
    if (usable) {
      verdict = library.try_one(promise, candidate);
      candidate.set_threads(1);
    }
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    on_verdict(promise, verdict);
    kept = kept && verdict.outcome != Outcome::kBroken;
    usable = usable && !(promise.first && verdict.outcome == Outcome::kBroken);
  }
  return kept;
}

}  // namespace quench::promises
