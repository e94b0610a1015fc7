// quench init [MODEL]: writes a first manifest for a folder of checkpoints.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/new_file.hpp"
#include "cli/standard_streams.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/guess_revisions.hpp"
#include "run/manifest/starter_manifest.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct InitOptions {
  std::string model;
  std::string from;
  std::string out;
};

// The last part of the model's path, as a valid file name.
std::string name_of(const std::string& model) {
  const fs::path path =
      is_hub_model(model) ? fs::path(model) : fs::absolute(model).lexically_normal();
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    c = plain ? c : '-';
  }
  return name.empty() || name[0] == '.' ? "experiment" : name;
}

bool has_files(const fs::path& folder) {
  const fs::directory_iterator all(folder);
  return std::any_of(begin(all), end(all),
                     [](const fs::directory_entry& entry) { return entry.is_regular_file(); });
}

int init(const InitOptions& options, Context& context) {
  if (!options.model.empty() && !options.from.empty()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, "quench init: got both MODEL and --from; wanted one");
  }
  const std::string model = !options.model.empty()  ? options.model
                            : !options.from.empty() ? options.from
                                                    : std::string(".");
  const std::string name = name_of(model);
  const fs::path out = options.out.empty() ? fs::path(name + ".yaml") : fs::path(options.out);
  return as_usage([&] {
    if (!is_hub_model(model) && !fs::is_directory(model)) {
      fail(QUENCH_NOT_FOUND, "{}: is not a folder of checkpoints", model);
    }
    RevisionNames revisions(context.catalog(), context.hub());
    const std::vector<std::string> names = revisions.of(model, model);
    if (!is_hub_model(model) && guess_revisions(names).pattern.empty() && !has_files(model)) {
      fail(QUENCH_NOT_FOUND,
           "{}: no checkpoints here: the folder has no files, and no folders with names such as "
           "step600; wanted a model's folder, or one that holds checkpoints",
           model);
    }
    std::string written = model;
    if (!is_hub_model(model)) {  // paths in a manifest are relative to its folder
      const fs::path folder = fs::absolute(out).parent_path();
      written = fs::absolute(model)
                    .lexically_normal()
                    .lexically_relative(folder.lexically_normal())
                    .string();
      written = written.empty() ? fs::absolute(model).string() : written;
    }
    write_new_file(out, starter_manifest(name, written, names, context.catalog()));
    fmt::print(results(), "wrote {}; fill in the two corpora, then: quench plan {}\n", out.string(),
               out.string());
    return kExitOk;
  });
}

}  // namespace

void add_init(CommandLine& line, Context& context) {
  auto options = std::make_shared<InitOptions>();
  Verb verb =
      line.verb("init", "Write a first manifest for a folder of checkpoints", "Experiments");
  verb.examples(
      {"quench init path/to/checkpoints", "quench init hf://EleutherAI/pythia-70m -o pythia.yaml"});
  verb.option("model", options->model,
              "Folder of checkpoints, or hf://org/name in the cache (default: this folder)");
  verb.option("--from", options->from, "Same as MODEL").placeholder("MODEL");
  verb.option("-o,--out", options->out, "File to write (default: NAME.yaml)").placeholder("FILE");
  add_plugin_options(verb, context);
  verb.does([&context, options] { return init(*options, context); });
}

}  // namespace quench
