#include "core/plugin/catalog/choose.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/handles/format_handle.hpp"
#include "core/plugin/handles/instance.hpp"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/tokenizer.h"

namespace quench {

namespace fs = std::filesystem;

namespace {

// What a plugin's `probe` says.
struct Answer {
  int32_t score = 0;
  std::string message = {};  // why not, or what differs
  std::string fault = {};    // why there is no answer, or ""
};

template <typename Ask>
Answer answer_of(const Ask& ask) {
  try {
    return ask();
  } catch (const Error& failure) {
    return {0, {}, failure.what()};
  }
}

template <typename Table, typename... Arguments>
Answer ask(Catalog& catalog, const PluginDescription& plugin, Arguments... arguments) {
  return answer_of([&]() -> Answer {
    const auto* table = load_table<Table>(catalog, plugin);
    quench_error error{sizeof(quench_error), 0, {}};
    const int32_t score =
        guarded_call(plugin_label(plugin), "probe", {}, table->probe, arguments..., &error);
    error.message[sizeof error.message - 1] = '\0';
    return {score, printable(error.message, sizeof error.message)};
  });
}

// Asks the plugins of a kind that `wanted` is true of, in the order of ids: those that came with
// the program, then, unless one of them is `found`, the others.
void ask_in_turn(const Catalog& catalog, const char* kind,
                 const std::function<bool(const PluginDescription&)>& wanted,
                 const std::function<void(const PluginDescription&)>& ask_one,
                 const std::function<bool()>& found) {
  const std::vector<const PluginDescription*> plugins = catalog.of_kind(kind);
  for (const bool shipped : {true, false}) {
    for (const PluginDescription* plugin : plugins) {
      if (catalog.is_shipped(*plugin) == shipped && wanted(*plugin)) {
        ask_one(*plugin);
      }
    }
    if (found()) {
      return;
    }
  }
}

// ---- families

// `model_type` of a config, or "" where there is none that is text.
std::string model_type_of(std::string_view config_json, const std::string& where) {
  const nlohmann::json config = parse_json(config_json, where);
  const auto found = config.is_object() ? config.find("model_type") : config.end();
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

// Scores of families that do not fit.
constexpr int32_t kByName = -99;  // the family knows the architecture by name
constexpr int32_t kNear = -50;    // half of its and the config's keys agree; fewer say nothing

// What the families had to say to a config.
struct FamilyAnswers {
  const PluginDescription* best = nullptr;
  int32_t best_score = 0;
  std::vector<std::string> families;
  std::string claims;    // by those whose own type it is, what is wrong with it
  std::string failures;  // why others gave no answer
  std::string nearest;   // the family that came nearest of those that say how near they are
  std::string differs;   // and in what it differs
  int32_t score = 0;     // how near

  // In the order of ids: the first one counts on ties. `speaks`: what the family says against a
  // config is about the config; one from elsewhere that names no types may have died, too.
  void add(const PluginDescription& family, bool speaks, const Answer& answer) {
    families.push_back(family.id);
    if (!answer.fault.empty()) {
      failures += fmt::format("; {}", answer.fault);
    } else if (answer.score == 0 && !answer.message.empty()) {
      (speaks ? claims : failures) += fmt::format("; {}: {}", family.id, answer.message);
    } else if (answer.score < score) {
      score = answer.score;
      nearest = family.id;
      differs = answer.message;
    }
    if (answer.score > best_score) {
      best_score = answer.score;
      best = &family;
    }
  }
};

[[noreturn]] void refuse_family(const std::string& type, const FamilyAnswers& answers,
                                const std::string& where, const Catalog& catalog) {
  // What may pass is no fault of the config.
  const bool passing =
      std::any_of(catalog.rejected().begin(), catalog.rejected().end(),
                  [](const Catalog::Rejected& rejected) { return rejected.passing; });
  const quench_status code = passing ? QUENCH_UNAVAILABLE : QUENCH_UNSUPPORTED;
  const std::string rejected = catalog.rejected_of(QUENCH_KIND_MODEL, {type});
  if (answers.families.empty()) {
    fail(code, "{}: no model family is installed{}", where, rejected);
  }
  const std::string& failures = answers.failures;
  if (!answers.claims.empty()) {  // it is known whose the config is, and what is wrong with it
    fail(code, "{}: {}{}{}", where, answers.claims.substr(2), failures, rejected);
  }
  // A name that resembles a family's is probably a typo, unless a family knows whose it is.
  std::string near = answers.score > kByName ? nearest(type, answers.families) : std::string();
  if (!near.empty()) {
    near = fmt::format("the nearest is {}; ", near);
  } else if (!answers.nearest.empty() && answers.score <= kNear) {
    near = fmt::format("the nearest is {}, which differs: {}; ", answers.nearest, answers.differs);
  }
  fail(code, "{}: no model family fits {}; {}there are {}{}{}", where,
       type.empty() ? "a config without model_type" : "model_type \"" + printable(type, 60) + "\"",
       failures.empty() ? near : "", fmt::join(answers.families, ", "), failures, rejected);
}

// Whether the family's description leaves it open that it fits; only then is it loaded.
bool may_fit(const PluginDescription& family, const std::string& type) {
  const std::vector<std::string>& types = family.model_types;
  return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
}

// ---- formats

bool reads(const PluginDescription& format) {
  return !format.instance || (format.instance->needs & QUENCH_FORMAT_READS) != 0;
}

// ---- tokenizers

// More files than any checkpoint's folder has besides its weights.
constexpr size_t kMostFiles = 1000;
// A tokenizer's file is read completely; see quench_tokenizer_table::open.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// The best score for one file, and the plugin that gave it.
struct Best {
  const PluginDescription* plugin = nullptr;
  int32_t score = 0;
};

// The plugin that likes each file best. `enough` says of such a list whether other plugins than the
// shipped ones need not be asked; `said`, if given, gets the reasons of those that take no file.
std::vector<Best> ask_tokenizers(Catalog& catalog, const std::vector<FileHead>& files,
                                 const std::function<bool(const std::vector<Best>&)>& enough,
                                 std::string* said = nullptr) {
  std::vector<Best> best(files.size());
  const auto ask_one = [&](const PluginDescription& plugin) {
    for (size_t i = 0; i < files.size(); ++i) {
      const quench_file_head view = files[i].view();
      const Answer answer = ask<quench_tokenizer_table>(catalog, plugin, &view);
      if (answer.score > best[i].score) {
        best[i] = {&plugin, answer.score};
      } else if (said != nullptr) {
        const std::string& why = answer.fault.empty() ? answer.message : answer.fault;
        *said += fmt::format("; {}{}{}", plugin.id, why.empty() ? "" : ": ", why);
      }
    }
  };
  ask_in_turn(
      catalog, QUENCH_KIND_TOKENIZER, [](const auto&) { return true; }, ask_one,
      [&] { return enough(best); });
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
      continue;  // what reads it in earnest will report the error
    }
  }
  return files;
}

}  // namespace

void require_config(std::string_view config_json, const std::string& where) {
  if (config_json.empty()) {
    fail(QUENCH_NOT_FOUND,
         "{}: not there, or empty; a manifest can name one as `config` of `checkpoints`", where);
  }
}

const PluginDescription& choose_family(Catalog& catalog, std::string_view config_json,
                                       const std::string& where) {
  require_config(config_json, where);
  const std::string type = model_type_of(config_json, where);
  FamilyAnswers answers;
  // Those that the type speaks for; where none fits, for the message, how near the others are.
  for (const bool likely : {true, false}) {
    ask_in_turn(
        catalog, QUENCH_KIND_MODEL,
        [&](const PluginDescription& family) { return may_fit(family, type) == likely; },
        [&](const PluginDescription& family) {
          const bool speaks = catalog.is_shipped(family) || (likely && !family.model_types.empty());
          answers.add(family, speaks,
                      ask<quench_model_table>(catalog, family, config_json.data(),
                                              uint64_t{config_json.size()}));
        },
        [&] { return answers.best != nullptr; });
    if (answers.best != nullptr) {
      return *answers.best;
    }
  }
  std::sort(answers.families.begin(), answers.families.end());
  refuse_family(type, answers, where, catalog);
}

FormatChoice choose_format(Catalog& catalog, const CheckpointPlace& place) {
  FormatChoice choice;
  int32_t best = 0;
  const auto ask_one = [&](const PluginDescription& format) {
    const Answer answer = answer_of([&]() -> Answer {
      const FormatAnswer said = FormatHandle(catalog, format).probe(place);
      return {said.score, said.message};
    });
    if (answer.score > best) {  // on a tie the first one wins
      best = answer.score;
      choice.format = &format;
    } else if (!answer.fault.empty()) {
      choice.said += "; " + answer.fault;
    } else if (answer.score == 0 && !answer.message.empty()) {
      choice.said += fmt::format("; {}: {}", format.id, answer.message);
    }
  };
  ask_in_turn(catalog, QUENCH_KIND_FORMAT, reads, ask_one,
              [&] { return choice.format != nullptr; });
  return choice;
}

const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const fs::path& file) {
  return choose_tokenizer_plugin(catalog, FileHead::read(file), file.string());
}

const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const FileHead& head,
                                                 const std::string& where) {
  if (const auto named = catalog.tokenizers().find(where);
      named != catalog.tokenizers().end() && named->second != nullptr) {
    return *named->second;
  }
  std::string said;
  const auto by_name = [](const std::vector<Best>& scores) {
    return scores[0].score >= QUENCH_TOKENIZER_BY_NAME;
  };
  const auto best = ask_tokenizers(catalog, {head}, by_name, &said);
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
    return scores.empty() || highest(scores)->score >= QUENCH_TOKENIZER_BY_NAME;
  };
  const auto best = ask_tokenizers(catalog, files, found);
  if (best.empty() || !found(best)) {
    return std::nullopt;
  }
  return folder / files[static_cast<size_t>(highest(best) - best.begin())].name;
}

}  // namespace quench
