#include "cli/changed_interpreters.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "cli/run_folder.hpp"
#include "core/error.hpp"
#include "core/names.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kMostPlugins = 4;

std::string text_at(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

// The ids of plugins that have made values.
std::set<std::string> plugins_with_values(const std::vector<Record>& records) {
  std::set<std::string> out;
  for (const Record& record : records) {
    out.insert(record.metric.substr(0, record.metric.find('/')));
    out.insert(text_at(record.quantizer, "id"));
    out.insert(text_at(record.averaging, "id"));
    out.insert(text_at(record.environment, "family"));
    if (record.quantizer.is_object() && record.quantizer.contains("transform")) {
      out.insert(text_at(record.quantizer.at("transform"), "id"));
    }
  }
  return out;
}

// "/usr/bin/python3 (3.11.2)"
std::string shown(const std::string& interpreter, const json& code) {
  const std::string version = text_at(code, "interpreter");
  return printable(interpreter, 400) +
         (version.empty() ? "" : fmt::format(" ({})", printable(version)));
}

// What tells two changes apart.
struct Change {
  std::string before;
  std::string now;
  std::string path_before;
  bool same_file = false;  // else its first line may have changed
  bool same_code = false;  // and with it the keys
  auto operator<=>(const Change&) const = default;
};

}  // namespace

std::vector<std::string> changed_interpreters(const std::filesystem::path& folder,
                                              const std::vector<PluginDescription>& plugins,
                                              const std::vector<Record>& records) {
  std::map<std::pair<std::string, std::string>, json> known;  // by kind and id
  const json description = last_description(folder);
  if (const auto listed = description.find("plugins");
      listed != description.end() && listed->is_array()) {
    for (const json& each : *listed) {
      known[{text_at(each, "kind"), text_at(each, "id")}] = each;
    }
  }
  const std::set<std::string> with_values = plugins_with_values(records);
  std::map<Change, std::vector<std::string>> changes;
  for (const PluginDescription& plugin : plugins) {
    const auto found = known.find({plugin.kind, plugin.id});
    if (found == known.end() || plugin.interpreter.empty() || !with_values.contains(plugin.id)) {
      continue;
    }
    const std::string before = text_at(found->second, "interpreter");
    const json code = found->second.value("code", json());
    const Change change{shown(before, code), shown(plugin.interpreter.string(), plugin.code),
                        before, text_at(found->second, "sha256") == plugin.sha256,
                        code == plugin.code};
    if (!before.empty() && change.before != change.now) {
      changes[change].push_back(plugin.id);
    }
  }
  std::vector<std::string> out;
  for (const auto& [change, names] : changes) {
    out.push_back(fmt::format(
        "{}: another Python runs {}: {}, before {}; {}{}", folder.string(),
        first_of_names(names, kMostPlugins), change.now, change.before,
        change.same_code ? "earlier values count, since version and packages are the same"
                         : "what it computed before is measured again",
        change.same_file
            ? fmt::format("; QUENCH_PYTHON={} goes back", printable(change.path_before, 400))
            : ""));
  }
  return out;
}

}  // namespace quench
