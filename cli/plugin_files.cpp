#include "cli/plugin_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/answer.hpp"
#include "cli/python_verb.hpp"
#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/check.hpp"
#include "core/plugin/catalog/python_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct PluginFiles {
  std::string kind;
  std::string id;
  std::string folder;
  std::vector<std::string> files;
};

// Where a user's own plugins lie, of all folders that are searched.
fs::path own_folder(const Context& context) {
  const fs::path folder = user_plugins(context.plugin_environment);
  if (folder.empty()) {
    throw UsageError(QUENCH_FAILED_PRECONDITION,
                     "neither XDG_DATA_HOME nor HOME says where plugins are installed");
  }
  return folder;
}

std::vector<fs::path> libraries_of(const std::vector<std::string>& names) {
  std::vector<fs::path> out;
  for (const std::string& name : names) {
    const std::vector<fs::path> inside =
        fs::is_directory(name) ? libraries_in(name) : std::vector<fs::path>{name};
    if (inside.empty()) {
      throw UsageError(QUENCH_NOT_FOUND,
                       fmt::format("{}: no plugin files in it", printable(name, 4096)));
    }
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

// What is wrong with a file that is to be installed, or "".
std::string fault_of(Context& context, const fs::path& library, const PluginCheck& found) {
  if (!found.passed) {
    return fmt::format("is of no use; quench plugins check {} says why", library.string());
  }
  for (const PluginDescription& item : found.items) {
    const PluginDescription* other = context.catalog().find(item.kind, item.id);
    if (other != nullptr && context.catalog().is_shipped(*other)) {
      return fmt::format("{} is the name of one that came with quench: name yours otherwise",
                         plugin_label(item));
    }
  }
  return "";
}

int install(Context& context, const PluginFiles& options) {
  const fs::path folder = own_folder(context);
  const std::vector<fs::path> libraries = libraries_of(options.files);
  std::string faults;
  std::vector<std::string> names;
  for (const fs::path& library : libraries) {  // all before the first is copied
    const PluginCheck found = plugin_check(context.catalog(), library);
    if (const std::string fault = fault_of(context, library, found); !fault.empty()) {
      faults += fmt::format("{}{}: {}", faults.empty() ? "" : "; ", library.string(), fault);
    }
    for (const PluginDescription& item : found.items) {
      names.push_back(plugin_label(item));
    }
  }
  if (!faults.empty()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, faults);
  }
  constexpr uint64_t kMost = uint64_t{4} << 30;
  nlohmann::json written = nlohmann::json::array();
  fs::create_directories(folder);
  for (const fs::path& library : libraries) {
    const fs::path to = folder / library.filename();
    write_file_atomically(to, read_file(library, kMost));
    written.push_back(to.string());
    if (!answers()) {
      fmt::print("{}\n", to.string());
    }
  }
  answer({{"files", written}, {"plugins", names}});
  if (!answers()) {
    fmt::print("{} can be used by its name, in a process of its own\n", fmt::join(names, ", "));
  }
  return kExitOk;
}

int remove(Context& context, const PluginFiles& options) {
  const fs::path folder = own_folder(context);
  std::vector<fs::path> files;
  std::string elsewhere;
  const auto look_at = [&](const PluginDescription& item) {
    if (item.id != options.id && item.kind + "/" + item.id != options.id) {
      return;
    }
    std::error_code error;
    if (fs::equivalent(item.library.parent_path(), folder, error)) {
      files.push_back(item.library);
    } else {
      elsewhere = item.library.string();
    }
  };
  for (const PluginDescription& item : context.catalog().items()) {
    look_at(item);
  }
  for (const Catalog::Shadowed& shadowed : context.catalog().shadowed()) {
    look_at(shadowed.item);
  }
  if (files.empty()) {
    throw UsageError(
        QUENCH_NOT_FOUND,
        fmt::format("{}: not installed in {}{}", printable(options.id), folder.string(),
                    elsewhere.empty() ? "" : "; there is " + elsewhere));
  }
  nlohmann::json removed = nlohmann::json::array();
  for (const fs::path& file : files) {
    if (fs::remove(file)) {
      removed.push_back(file.string());
      if (!answers()) {
        fmt::print("removed {}\n", file.string());
      }
    }
  }
  answer({{"files", removed}});
  return kExitOk;
}

int start_new(Context& context, const PluginFiles& options) {
  PythonVerb verb{"new_plugin", {"--", options.kind, options.id}};
  if (!options.folder.empty()) {
    verb.arguments.push_back(options.folder);
  }
  return run_python(verb, context);
}

}  // namespace

void add_plugin_files(Verb& plugins, Context& context) {
  const auto options = std::make_shared<PluginFiles>();
  Verb made = plugins.verb("new", "Start a repository of a plugin: source, build, test, CI");
  made.option("kind", options->kind,
              "quantizer, quantizer_c, model, decoder, averaging, metric, corpus, tokenizer, "
              "transform, optimizer or format")
      .required();
  made.option("id", options->id, "What the plugin is called in manifests").required();
  made.option("folder", options->folder, "Folder to write, not there yet (default: ID)")
      .placeholder("DIR");
  made.does([&context, options] { return start_new(context, *options); });

  Verb installed = plugins.verb("install", "Copy plugin files to where they are found by name");
  installed.option("files", options->files, "Files, or folders of them")
      .placeholder("FILE")
      .required();
  installed.does([&context, options] { return install(context, *options); });

  Verb removed = plugins.verb("remove", "Remove a plugin that was installed so");
  removed.option("id", options->id, "id, or kind/id").required();
  removed.does([&context, options] { return remove(context, *options); });
}

}  // namespace quench
