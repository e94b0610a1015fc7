#include "core/plugin/choose_format.hpp"

#include <map>
#include <mutex>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/format_handle.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/table_call.hpp"

namespace quench {

namespace {

// In the order of ids: on a tie the first one wins.
class Best {
 public:
  void add(const PluginDescription& format, int32_t score, const std::string& message) {
    if (score > score_) {
      score_ = score;
      choice_.format = &format;
    } else if (score == 0 && !message.empty()) {
      choice_.said += fmt::format("; {}: {}", format.id, message);
    }
  }
  void refuse(const std::string& message) { choice_.said += "; " + message; }
  const FormatChoice& choice() const { return choice_; }

 private:
  FormatChoice choice_;
  int32_t score_ = 0;
};

bool reads(const PluginDescription& format) {
  return !format.instance || (format.instance->needs & QUENCH_FORMAT_READS) != 0;
}

// Of formats that do not run here. A run opens the same place repeatedly: remembers the answers.
std::vector<ProbeAnswer> ask_children(const Catalog& catalog,
                                      const std::vector<const PluginDescription*>& formats,
                                      const CheckpointPlace& place) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<ProbeAnswer>> known;
  const std::filesystem::path path =
      place.file().empty() ? place.folder() : place.folder() / place.file();
  const bool with_config = place.get()->config_bytes > 0;
  std::string question = path.string() + (with_config ? "\n" : "\nno config\n") +
                         (with_config ? place.config_json() : "");
  for (const std::string& name : place.names()) {
    question += "\n" + name;
  }
  for (const PluginDescription* format : formats) {
    question += "\n" + format->sha256 + " " + format->id;
  }
  const std::lock_guard lock(mutex);
  const auto found = known.find(question);
  if (found != known.end()) {
    return found->second;
  }
  std::vector<ProbeAnswer> answers =
      ask_formats(formats, path, with_config, probe_options(catalog.options()));
  for (const ProbeAnswer& answer : answers) {
    if (answer.rejected.empty() && answer.score > 0) {
      known.emplace(question, answers);
      break;
    }
  }
  return answers;
}

}  // namespace

FormatChoice choose_format(Catalog& catalog, const CheckpointPlace& place) {
  Best best;
  const auto ask_apart = [&](const std::vector<const PluginDescription*>& formats) {
    const std::vector<ProbeAnswer> answers = ask_children(catalog, formats, place);
    for (size_t i = 0; i < formats.size(); ++i) {
      const PluginDescription& format = *formats[i];
      if (answers[i].rejected.empty()) {
        best.add(format, answers[i].score, answers[i].message);
      } else {
        best.refuse(fmt::format("{}: {}: {}", plugin_label(format), format.library.string(),
                                answers[i].rejected));
      }
    }
  };
  std::vector<const PluginDescription*> strangers;
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    if (!reads(*format)) {
      continue;
    }
    if (!catalog.is_shipped(*format)) {
      strangers.push_back(format);
      continue;
    }
    if (catalog.settle(*format).placement == Placement::kOwn) {
      ask_apart({format});
      continue;
    }
    try {
      const FormatAnswer answer = FormatHandle(catalog, *format).probe(place);
      best.add(*format, answer.score, answer.message);
    } catch (const Error& failure) {
      best.refuse(failure.what());
    }
  }
  if (best.choice().format == nullptr && !strangers.empty()) {
    ask_apart(strangers);
  }
  return best.choice();
}

}  // namespace quench
