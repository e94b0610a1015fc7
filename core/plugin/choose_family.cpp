// Which model family opens a config.json.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/json/parse_json.hpp"
#include "core/plugin/instance.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/plugin/probe.hpp"

namespace quench {

namespace {

// `model_type` of a config, or "" where there is none that is text.
std::string model_type_of(std::string_view config_json, const std::string& where) {
  const nlohmann::json config = parse_json(config_json, where);
  const auto found = config.is_object() ? config.find("model_type") : config.end();
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

constexpr int32_t kByName = -99;  // a family's score for an architecture that it knows by name

// What the families had to say to a config.
struct Answers {
  const PluginDescription* best = nullptr;
  int32_t best_score = 0;
  std::vector<std::string> families;
  std::string said;     // by those whose own type it is, or that failed
  std::string nearest;  // the family that came nearest of those that say how near they are
  std::string differs;  // and in what it differs
  int32_t score = 0;    // how near

  // In the order of ids: the first one counts on ties.
  void add(const PluginDescription& family, const ProbeAnswer& answer) {
    families.push_back(family.id);
    if (!answer.rejected.empty()) {
      said += fmt::format("; {}", answer.rejected);
    } else if (answer.score == 0 && !answer.message.empty()) {
      said += fmt::format("; {}: {}", family.id, answer.message);
    } else if (answer.score < score) {
      score = answer.score;
      nearest = family.id;
      differs = answer.message;
    }
    if (answer.rejected.empty() && answer.score > best_score) {
      best_score = answer.score;
      best = &family;
    }
  }
};

[[noreturn]] void refuse_family(const std::string& type, const Answers& answers,
                                const std::string& where, const std::string& rejected) {
  // What may pass is no fault of the config.
  const quench_status code = rejected.empty() ? QUENCH_UNSUPPORTED : QUENCH_UNAVAILABLE;
  if (answers.families.empty()) {
    fail(code, "{}: no model family is installed{}", where, rejected);
  }
  // A name that resembles a family's is a slip of the pen, unless a family knows whose it is.
  std::string near = answers.score > kByName ? nearest(type, answers.families) : std::string();
  if (!near.empty()) {
    near = fmt::format("the nearest is {}; ", near);
  } else if (!answers.nearest.empty()) {
    near = fmt::format("the nearest is {}, which differs: {}; ", answers.nearest, answers.differs);
  }
  fail(code, "{}: no model family fits {}; {}there are {}{}{}", where,
       type.empty() ? "a config without model_type" : "model_type \"" + printable(type, 60) + "\"",
       answers.said.empty() ? near : "", fmt::join(answers.families, ", "), answers.said, rejected);
}

// Whether the family's description leaves it open that it fits; only then is it loaded.
bool may_fit(const PluginDescription& family, const std::string& type) {
  const std::vector<std::string>& types = family.model_types;
  return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
}

// Of a family that runs in this process.
ProbeAnswer ask_here(Catalog& catalog, const PluginDescription& family,
                     std::string_view config_json) {
  ProbeAnswer answer;
  try {
    const auto* table = load_table<quench_model_table>(catalog, family);
    quench_error error{sizeof(quench_error), 0, {}};
    answer.score = guarded_call(plugin_label(family), "probe", {}, table->probe, config_json.data(),
                                uint64_t{config_json.size()}, &error);
    error.message[sizeof error.message - 1] = '\0';
    answer.message = printable(error.message, sizeof error.message);
  } catch (const Error& failure) {
    answer.rejected = failure.what();
  }
  return answer;
}

// Of families that do not run here; remembered, since a run asks about the same config again and
// again.
const std::vector<ProbeAnswer>& ask_children(const Catalog& catalog,
                                             const std::vector<const PluginDescription*>& families,
                                             std::string_view config_json) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<ProbeAnswer>> known;
  std::string question(config_json);
  for (const PluginDescription* family : families) {
    question += "\n" + family->sha256 + " " + family->id;
  }
  const std::lock_guard lock(mutex);
  const auto [entry, added] = known.try_emplace(std::move(question));
  if (added) {
    try {
      entry->second = ask_families(families, config_json, probe_options(catalog.options()));
    } catch (const Error&) {
      known.erase(entry);
      throw;
    }
    for (size_t i = 0; i < families.size(); ++i) {
      if (std::string& rejected = entry->second[i].rejected; !rejected.empty()) {
        rejected = fmt::format("{}: {}: {}", plugin_label(*families[i]),
                               families[i]->library.string(), rejected);
      }
    }
  }
  return entry->second;
}

// Asks the families that `wanted` is true of, shipped ones first. Only a shipped one that shares
// this process is loaded for it.
void ask_all(Catalog& catalog, std::string_view config_json,
             const std::function<bool(const PluginDescription&)>& wanted, Answers& answers) {
  std::vector<const PluginDescription*> strangers;
  for (const PluginDescription* family : catalog.of_kind(QUENCH_KIND_MODEL)) {
    if (!wanted(*family)) {
      continue;
    }
    if (!catalog.is_shipped(*family)) {
      strangers.push_back(family);
    } else if (catalog.settle(*family).placement == Placement::kOwn) {
      answers.add(*family, ask_children(catalog, {family}, config_json).front());
    } else {
      answers.add(*family, ask_here(catalog, *family, config_json));
    }
  }
  if (answers.best == nullptr && !strangers.empty()) {
    const std::vector<ProbeAnswer>& said = ask_children(catalog, strangers, config_json);
    for (size_t i = 0; i < strangers.size(); ++i) {
      answers.add(*strangers[i], said[i]);
    }
  }
}

}  // namespace

void require_config(std::string_view config_json, const std::string& where) {
  if (config_json.empty()) {
    fail(QUENCH_NOT_FOUND, "{}: not there; a manifest can name one as `config` of `checkpoints`",
         where);
  }
}

const PluginDescription& choose_family(Catalog& catalog, std::string_view config_json,
                                       const std::string& where) {
  require_config(config_json, where);
  const std::string type = model_type_of(config_json, where);
  Answers answers;
  ask_all(
      catalog, config_json, [&](const auto& family) { return may_fit(family, type); }, answers);
  if (answers.best == nullptr) {  // for the message: how near the others are
    ask_all(
        catalog, config_json, [&](const auto& family) { return !may_fit(family, type); }, answers);
  }
  if (answers.best == nullptr) {
    std::sort(answers.families.begin(), answers.families.end());
    refuse_family(type, answers, where, catalog.rejected_for_now());
  }
  return *answers.best;
}

}  // namespace quench
