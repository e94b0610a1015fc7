#include "core/plugin/choose_tokenizer.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "core/plugin/file_head.hpp"
#include "core/plugin/instance.hpp"
#include "core/plugin/probe.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// More files than any checkpoint's folder has besides its weights.
constexpr size_t kMostFiles = 1000;
// A tokenizer's file is read completely; see quench_tokenizer_table::open.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// The best score for one file, and the plugin that gave it.
struct Best {
  const PluginDescription* plugin = nullptr;
  int32_t score = 0;
};

ProbeAnswer ask_here(Catalog& catalog, const PluginDescription& plugin, const FileHead& head) {
  ProbeAnswer answer;
  try {
    const auto* table = load_table<quench_tokenizer_table>(catalog, plugin);
    const quench_file_head view = head.view();
    quench_error error{sizeof(quench_error), 0, {}};
    answer.score = guarded_call(plugin_label(plugin), "probe", {}, table->probe, &view, &error);
    error.message[sizeof error.message - 1] = '\0';
    answer.message = printable(error.message, sizeof error.message);
  } catch (const Error& failure) {
    answer.rejected = failure.what();
  }
  return answer;
}

// What plugins that do not run here answer about files; remembered, because many checkpoints share
// files.
std::vector<std::vector<ProbeAnswer>> ask_children(
    const Catalog& catalog, const std::vector<const PluginDescription*>& plugins,
    const std::vector<FileHead>& files) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::vector<ProbeAnswer>>> known;
  std::string question;
  for (const PluginDescription* plugin : plugins) {
    question += plugin->sha256 + " " + plugin->id + "\n";
  }
  for (const FileHead& file : files) {
    question += fmt::format("{}\n{}\n{}\n", file.name, file.size, file.bytes);
  }
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(question); found != known.end()) {
    return found->second;
  }
  auto answers = ask_tokenizers(plugins, files, probe_options(catalog.options()));
  for (size_t i = 0; i < plugins.size(); ++i) {
    for (ProbeAnswer& answer : answers[i]) {
      if (!answer.rejected.empty()) {
        answer.rejected = fmt::format("{}: {}", plugins[i]->library.string(), answer.rejected);
      }
    }
  }
  return known[question] = std::move(answers);
}

// Asks every plugin about every file: the shipped ones, then others unless `satisfied(best scores)`
// holds. Sets `said`, if given, to the reasons of those that do not take a file.
template <typename Satisfied>
std::vector<Best> ask_about(Catalog& catalog, const std::vector<FileHead>& files,
                            Satisfied satisfied, std::string* said = nullptr) {
  std::vector<Best> best(files.size());
  const auto add = [&](const PluginDescription& plugin, size_t file, const ProbeAnswer& answer) {
    const std::string& why = answer.rejected.empty() ? answer.message : answer.rejected;
    if (answer.rejected.empty() && answer.score > best[file].score) {
      best[file] = {&plugin, answer.score};
    } else if (said != nullptr) {
      *said += fmt::format("; {}{}{}", plugin.id, why.empty() ? "" : ": ", why);
    }
  };
  const auto ask_apart = [&](const std::vector<const PluginDescription*>& plugins) {
    if (files.empty()) {
      return;
    }
    const auto answers = ask_children(catalog, plugins, files);
    for (size_t p = 0; p < plugins.size(); ++p) {
      for (size_t i = 0; i < files.size(); ++i) {
        add(*plugins[p], i, answers[p][i]);
      }
    }
  };
  std::vector<const PluginDescription*> strangers;
  for (const PluginDescription* plugin : catalog.of_kind(QUENCH_KIND_TOKENIZER)) {
    if (!catalog.is_shipped(*plugin)) {
      strangers.push_back(plugin);
      continue;
    }
    if (catalog.settle(*plugin).placement == Placement::kOwn) {
      ask_apart({plugin});
      continue;
    }
    for (size_t i = 0; i < files.size(); ++i) {
      add(*plugin, i, ask_here(catalog, *plugin, files[i]));
    }
  }
  if (!satisfied(best) && !strangers.empty()) {
    ask_apart(strangers);
  }
  return best;
}

std::vector<FileHead> small_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown) && entry->file_size(unknown) <= kMostBytes) {
      paths.push_back(entry->path());
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.resize(std::min(paths.size(), kMostFiles));
  std::vector<FileHead> files;
  for (const fs::path& path : paths) {
    try {
      files.push_back(FileHead::read(path));
    } catch (const Error&) {
      continue;  // whoever needs it will report the error
    }
  }
  return files;
}

}  // namespace

const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const fs::path& file) {
  return choose_tokenizer_plugin(catalog, FileHead::read(file), file.string());
}

const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const FileHead& head,
                                                 const std::string& where) {
  std::string said;
  const auto best = ask_about(
      catalog, {head}, [](const std::vector<Best>& scores) { return scores[0].score > 0; }, &said);
  if (best[0].plugin == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: no tokenizer reads this file{}", where,
         said.empty() ? "; none is installed" : said);
  }
  return *best[0].plugin;
}

std::optional<fs::path> find_tokenizer_file(Catalog& catalog, const fs::path& folder) {
  const std::vector<FileHead> files = small_files(folder);
  const auto highest = [](const std::vector<Best>& scores) {
    return std::max_element(scores.begin(), scores.end(),
                            [](const Best& a, const Best& b) { return a.score < b.score; });
  };
  const auto found = [&](const std::vector<Best>& scores) {
    return !scores.empty() && highest(scores)->score >= QUENCH_TOKENIZER_BY_NAME;
  };
  const auto best = ask_about(catalog, files, found);
  if (!found(best)) {
    return std::nullopt;
  }
  return folder / files[static_cast<size_t>(highest(best) - best.begin())].name;
}

}  // namespace quench
