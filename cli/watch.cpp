// quench watch DIR: measures the checkpoints of a training while it runs, by Python
// (python/quench/watch), which starts `quench run` for each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/python_verb.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct WatchOptions {
  std::vector<std::string> folders;
  std::string manifest;
  std::string out;
  std::vector<std::string> sets;
  std::string config;
  std::string tokenizer;
  std::string device;
  int64_t settle = 10;
  int64_t threads = 1;
  bool once = false;
};

std::string existing(const std::string& path, const char* what, bool folder) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (folder ? !fs::is_directory(status) : !fs::is_regular_file(status)) {
    throw UsageError(QUENCH_NOT_FOUND, fmt::format("{}: {} {}", printable(path, 400),
                                                   fs::exists(status) ? "is no" : "no such", what));
  }
  return fs::absolute(path).lexically_normal().string();
}

std::vector<std::string> words_of(const WatchOptions& options, const Context& context) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    words.push_back(fmt::format("{}={}", name, value));  // a value may begin with '-'
  };
  const std::string manifest =
      options.manifest.empty()
          ? (context.python.package.parent_path() / "configs/watch.yaml").string()
          : options.manifest;
  add("--program", context.executable.string());
  add("--manifest", existing(manifest, "file", false));
  add("--out", fs::absolute(options.out).lexically_normal().string());
  add("--settle", std::to_string(options.settle));
  add("--threads", std::to_string(options.threads));
  if (!options.config.empty()) {
    add("--set", fmt::format("checkpoints.config={}", existing(options.config, "file", false)));
  }
  if (!options.tokenizer.empty()) {
    std::error_code error;
    add("--set", fmt::format("checkpoints.tokenizer={}",
                             fs::exists(options.tokenizer, error)
                                 ? fs::absolute(options.tokenizer).lexically_normal().string()
                                 : options.tokenizer));
  }
  for (const std::string& set : options.sets) {
    add("--set", set);
  }
  if (!options.device.empty()) {
    add("--device", options.device);
  }
  if (options.once) {
    words.emplace_back("--once");
  }
  words.emplace_back("--");
  for (const std::string& folder : options.folders) {
    words.push_back(existing(folder, "folder", true));
  }
  return words;
}

}  // namespace

void add_watch(Verb& verb, Context& context) {
  verb.examples({"quench watch checkpoints", "quench watch checkpoints --manifest m.yaml --once",
                 "quench watch dcp --config config.json --tokenizer tokenizer.json"});
  auto options = std::make_shared<WatchOptions>();
  verb.option("folders", options->folders, "Folders in which checkpoints appear, at any depth")
      .required();
  verb.option("--manifest", options->manifest,
              "What is measured of each, without checkpoints (default: one that comes with quench)")
      .placeholder("FILE");
  verb.option("--out", options->out, "Folder of the run (default: runs/watch)").placeholder("RUN");
  verb.option("--set", options->sets, "a.b=value: change the manifest; repeatable")
      .placeholder("KEY=VALUE");
  verb.option("--config", options->config, "config.json of checkpoints that come without one")
      .placeholder("FILE");
  verb.option("--tokenizer", options->tokenizer,
              "Tokenizer of checkpoints that come without one, as in a manifest")
      .placeholder("PATH");
  verb.option("--device", options->device, "cpu or cuda[:N]").placeholder("DEVICE");
  verb.option("--settle", options->settle,
              "Seconds in which a checkpoint must not change before it is measured (default: 10)")
      .between(0, 86400)
      .placeholder("SECONDS");
  verb.option("--threads", options->threads, "Threads, all of the lowest priority (default: 1)")
      .between(1, 1024)
      .placeholder("N");
  verb.flag("--once", options->once, "End when what is there now is measured");
  verb.does([&context, options] {
    WatchOptions given = *options;
    given.out = given.out.empty() ? "runs/watch" : given.out;
    PythonVerb python{"watch", words_of(given, context), {"numpy", "scipy"}};
    python.keeps_environment = true;
    return run_python(python, context);
  });
}

}  // namespace quench
