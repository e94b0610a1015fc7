// quench clean: frees the disk space that runs share. Everything it removes can be computed again;
// a run that has a file open keeps it. Removes trained checkpoints only on request.
#include <fmt/format.h>
#include <time.h>

#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "core/parse_number.hpp"
#include "core/store/home_inventory.hpp"
#include "train/clean_training.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kDay = 86400;

struct CleanOptions {
  bool dry_run = false;
  std::string older;
  std::string most;
  bool training = false;
  bool optimizer_states = false;
  std::vector<std::string> runs;
};

// Parses a number with one of `units`, each a letter and its factor.
uint64_t with_unit(const std::string& option, const std::string& text,
                   const std::vector<std::pair<char, uint64_t>>& units) {
  for (const auto& [letter, factor] : units) {
    const auto number =
        text.ends_with(letter)
            ? parse_number<uint64_t>(std::string_view(text).substr(0, text.size() - 1))
            : std::nullopt;
    if (number && *number <= UINT64_MAX / factor / 4) {
      return *number * factor;
    }
  }
  std::string letters;
  for (const auto& unit : units) {
    letters += letters.empty() ? "" : ", ";
    letters += unit.first;
  }
  throw UsageError(QUENCH_INVALID_ARGUMENT,
                   fmt::format("{}: got '{}', wanted a whole number and one of {}", option,
                               printable(text, 40), letters));
}

int64_t age_of(const std::string& older) {
  return static_cast<int64_t>(
      with_unit("--older", older, {{'d', kDay}, {'h', 3600}, {'w', 7 * kDay}}));
}

std::vector<HomeEntry> choose(const HomeInventory& inventory, const CleanOptions& options,
                              int64_t now) {
  std::vector<HomeEntry> out = inventory.leftover;
  uint64_t total = 0;
  for (const HomeEntry& entry : inventory.kept) {
    total += entry.bytes;
  }
  const int64_t age = options.older.empty() ? INT64_MAX : age_of(options.older);
  const uint64_t most =
      options.most.empty()
          ? UINT64_MAX
          : with_unit("--max", options.most,
                      {{'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}, {'T', uint64_t{1} << 40}});
  for (const HomeEntry& entry : inventory.kept) {
    if (now - entry.modified > age || total > most) {
      total -= entry.bytes;
      out.push_back(entry);
    }
  }
  return out;
}

// The folders of runs: each given folder is a run, or contains runs.
std::vector<fs::path> run_folders(const std::vector<std::string>& given) {
  std::vector<fs::path> out;
  for (const std::string& text : given) {
    std::error_code error;
    out.emplace_back(text);
    for (fs::directory_iterator it(text, error), end; !error && it != end; it.increment(error)) {
      out.push_back(it->path());
    }
    if (error) {
      throw UsageError(QUENCH_NOT_FOUND,
                       fmt::format("--runs {}: cannot be listed: {}", text, error.message()));
    }
  }
  return out;
}

CleanTraining training_request(const CleanOptions& options, int64_t now) {
  CleanTraining out;
  out.dry_run = options.dry_run;
  out.checkpoints = options.training;
  out.optimizer_states = options.optimizer_states;
  out.now = now;
  out.age = options.older.empty() ? kDay : age_of(options.older);
  std::error_code error;
  const bool usual = options.runs.empty() && fs::is_directory("runs", error);
  if (options.training && options.runs.empty() && !usual) {
    throw UsageError(
        QUENCH_INVALID_ARGUMENT,
        "--training: there is no folder runs here; name with --runs the runs whose checkpoints "
        "stay");
  }
  out.runs = run_folders(usual ? std::vector<std::string>{"runs"} : options.runs);
  return out;
}

// Refuses a folder that was named by mistake and holds other people's files.
void require_mark(const fs::path& home) {
  if (fs::exists(home) && !is_marked_home(home)) {
    throw UsageError(QUENCH_FAILED_PRECONDITION,
                     fmt::format("{}: holds foreign files and has no {}, so nothing is "
                                 "removed; if only quench uses it, create that file there",
                                 home.string(), kHomeMark));
  }
}

std::string tell(const nlohmann::json& tally, const char* what, const char* of_which) {
  return fmt::format("{} {}, {:.1f} MB, {} {}", tally.at("count").get<uint64_t>(), what,
                     static_cast<double>(tally.at("bytes").get<uint64_t>()) / 1e6,
                     tally.at("used").get<uint64_t>(), of_which);
}

// What clean_training() did, on one line.
std::string describe_clean_training(const nlohmann::json& outcome, bool dry_run) {
  const nlohmann::json& checkpoints = outcome.at("checkpoints");
  const nlohmann::json& optimizers = outcome.at("optimizer_states");
  std::string out = "training: " + tell(checkpoints, "checkpoints", "used by runs") + "; " +
                    tell(optimizers, "optimizer states", "of these");
  const auto number = [](const nlohmann::json& tally, const char* key) {
    return tally.at(key).get<uint64_t>();
  };
  const uint64_t removed = number(checkpoints, "removed") + number(optimizers, "removed");
  const uint64_t leftovers = outcome.at("leftovers").get<uint64_t>();
  if (removed + leftovers > 0) {
    out += fmt::format("; {} {} and {}, {:.1f} MB", dry_run ? "would remove" : "removed",
                       number(checkpoints, "removed"), number(optimizers, "removed"),
                       static_cast<double>(number(checkpoints, "removed_bytes") +
                                           number(optimizers, "removed_bytes")) /
                           1e6);
    out += leftovers == 0 ? "" : fmt::format(", and {} leftovers", leftovers);
  }
  return out;
}

int clean(const CleanOptions& options, const Context& context) {
  const int64_t now = ::time(nullptr);
  require_mark(context.home());
  const HomeInventory inventory = home_inventory(context.home(), now);
  const std::vector<HomeEntry> chosen = choose(inventory, options, now);
  const CleanTraining request = training_request(options, now);
  uint64_t bytes = 0;
  size_t removed = 0;
  for (const HomeEntry& entry : chosen) {
    if (!options.dry_run) {
      remove_home_entry(entry);
    }
    bytes += entry.bytes;
    ++removed;
  }
  const nlohmann::json training = clean_training(context.home(), request);
  if (answers()) {
    answer({{"dry_run", options.dry_run},
            {"files", removed},
            {"bytes", bytes},
            {"left", inventory.kept.size() + inventory.leftover.size() - removed},
            {"training", training}});
  } else {
    fmt::print("{} {} files, {:.1f} MB, from {}\n", options.dry_run ? "would remove" : "removed",
               removed, static_cast<double>(bytes) / 1e6, context.home().string());
    if (!training.is_null()) {
      fmt::print("{}\n", describe_clean_training(training, options.dry_run));
    }
  }
  return kExitOk;
}

}  // namespace

void add_clean(Verb& verb, Context& context) {
  auto options = std::make_shared<CleanOptions>();
  verb.examples({"quench clean --dry-run --older 30d"});
  verb.flag("--dry-run", options->dry_run, "Only show what would be removed");
  verb.option("--older", options->older, "Also files older than this: 30d, 12h, 8w")
      .placeholder("AGE");
  verb.option("--max", options->most, "Also the oldest, until this much is left: 2G, 500M")
      .placeholder("SIZE");
  verb.flag("--training", options->training,
            "Also trained checkpoints that no run uses and that are older than --older or "
            "a day");
  verb.flag("--optimizer-states", options->optimizer_states,
            "Also optimizer states of that age; the checkpoints stay");
  verb.option("--runs", options->runs,
              "Folder of a run or of runs whose checkpoints stay; repeatable "
              "(default: runs)")
      .placeholder("DIR");
  verb.json();
  verb.does([&context, options] { return clean(*options, context); });
}

}  // namespace quench
