// quench init [MODEL]: writes a first manifest for a folder of checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/eval_defaults.hpp"
#include "cli/guess_revisions.hpp"
#include "cli/standard_streams.hpp"
#include "cli/starter_manifest.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/hub/hub_spec.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/described_model.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct InitOptions {
  std::string model;
  std::string text;
  std::vector<std::string> quantizers;
  std::string from;
  std::string out;
};

// The last part of the model's path, as a valid file name.
std::string name_of(const std::string& model) {
  const fs::path path =
      is_hub_spec(model) ? fs::path(model) : fs::absolute(model).lexically_normal();
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

// A path as it is written into the manifest `out`: relative to its folder.
std::string written_path(const std::string& path, const fs::path& out) {
  const fs::path folder = fs::absolute(out).parent_path();
  const std::string written =
      fs::absolute(path).lexically_normal().lexically_relative(folder.lexically_normal()).string();
  return written.empty() ? fs::absolute(path).string() : written;
}

// Positions of the model, from the config of a checkpoint; 0 if it cannot be told.
int64_t context_of(const std::string& model, const std::vector<std::string>& names,
                   Context& context) {
  const std::vector<std::string> found = guess_revisions(names).matching;
  const std::string last = found.empty() ? "" : found.back();
  const std::string checkpoint = last.empty()         ? model
                                 : is_hub_spec(model) ? model + "@" + last
                                                      : (fs::path(model) / last).string();
  Experiment one;
  one.dtype = kFloat32;
  try {
    one.checkpoints.push_back(single_checkpoint(checkpoint));
  } catch (const Error&) {  // the manifest's reader will say so, with the place
    return 0;
  }
  const DescribedModels described = describe_models(context.catalog(), one, context.hub());
  return described.models.empty() ? 0 : described.models.front().model.info().max_positions;
}

// Writes a file that is never replaced, because it may have been edited by hand.
void write_new_file(const std::filesystem::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr && errno == EEXIST) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: already exists; name another file with -o", path.string());
  }
  if (file == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be written: {}", path.string(),
         std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    const std::string why = std::strerror(errno);
    std::filesystem::remove(path);
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be written: {}", path.string(), why);
  }
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
    if (!is_hub_spec(model) && !fs::is_directory(model)) {
      fail(QUENCH_NOT_FOUND, "{}: is not a folder of checkpoints", model);
    }
    RevisionNames revisions(context.catalog(), context.hub());
    const std::vector<std::string> names = revisions.of(model, model);
    if (!is_hub_spec(model) && guess_revisions(names).pattern.empty() && !has_files(model)) {
      fail(QUENCH_NOT_FOUND,
           "{}: no checkpoints here: the folder has no files, and no folders with names such as "
           "step600; wanted a model's folder, or one that holds checkpoints",
           model);
    }
    if (!options.text.empty() && !fs::is_regular_file(options.text)) {
      fail(QUENCH_NOT_FOUND, "--text {}: is not a file", printable(options.text, 400));
    }
    StarterChoices choices;
    choices.name = name;
    choices.model = is_hub_spec(model) ? model : written_path(model, out);
    choices.revisions = names;
    choices.quantizers =
        options.quantizers.empty() ? default_quantizers(context) : options.quantizers;
    choices.text = options.text.empty() ? "" : written_path(options.text, out);
    choices.context = context_of(model, names, context);
    write_new_file(out, starter_manifest(choices, context.catalog()));
    const char* first = options.text.empty() ? "fill in the two corpora, then: " : "next: ";
    if (answers()) {
      answer({{"file", out.string()}, {"model", choices.model}, {"checkpoints", names}});
    } else {
      fmt::print(results(), "wrote {}; {}quench plan {}\n", out.string(), first, out.string());
    }
    return kExitOk;
  });
}

}  // namespace

void add_init(Verb& verb, Context& context) {
  auto options = std::make_shared<InitOptions>();
  verb.examples(
      {"quench init path/to/checkpoints",
       "quench init path/to/checkpoints --text heldout.txt --quantizer rtn --quantizer gptq",
       "quench init hf://EleutherAI/pythia-70m -o pythia.yaml"});
  verb.option("model", options->model,
              "Folder of checkpoints, or hf://org/name in the cache (default: this folder)");
  verb.option("--from", options->from, "Same as MODEL").placeholder("MODEL");
  verb.option("--quantizer", options->quantizers,
              "Id of a method to compare; repeatable (default: a plain and an adjustable one)")
      .placeholder("ID")
      .one_value_each();
  verb.option("--text", options->text,
              "Text file for calibration and validation (default: two names to fill in)")
      .placeholder("FILE");
  verb.option("-o,--out", options->out, "File to write (default: NAME.yaml)").placeholder("FILE");
  verb.json();
  add_plugin_options(verb, context);
  verb.does([&context, options] { return init(*options, context); });
}

}  // namespace quench
