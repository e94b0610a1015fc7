// quench plugins [list | show ID | why ID | check FILE... | rescan | markdown], and the verbs of
// plugin_files.hpp
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/plugin_files.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/check.hpp"
#include "core/plugin/catalog/show.hpp"
#include "promises/served_candidate.hpp"

namespace quench {

namespace {

// What is tried is small: a plugin that computes for longer than this hangs.
constexpr double kCheckSilence = 60;

struct PluginsOptions {
  std::string subject;
  std::vector<std::string> files;  // `check`
  std::string checkpoint;          // `check`, or ""
};

int list(Context& context, const PluginsOptions& /*options*/) {
  if (answers()) {
    answer(plugins_list_json(context.catalog()));
  } else {
    const PluginsList all = plugins_list(context.catalog());
    const size_t summary =
        output_columns().value_or(0) < 100 ? 12 : 40;  // the library leaves first
    const std::vector<ColumnFit> fits = {
        kWhole, {8, 0}, {SIZE_MAX, 2}, {summary, 3}, {SIZE_MAX, 1}};
    fmt::print("{}", all.rows.size() == 1 ? "no plugins found\n"
                                          : aligned_table(all.rows, fits, output_columns()));
    for (const std::string& note : all.notes) {
      fmt::print("{}\n", fitted_lines(note));
    }
  }
  return kExitOk;
}

int show(Context& context, const PluginsOptions& options) {
  if (answers()) {
    answer(plugin_show_json(context.catalog(), options.subject));
  } else {
    fmt::print("{}", fitted_help(plugin_show(context.catalog(), options.subject)));
  }
  return kExitOk;
}

int why(Context& context, const PluginsOptions& options) {
  const std::string text = plugin_why(context.catalog(), options.subject);
  if (answers()) {
    answer({{"id", options.subject}, {"text", text}});
  } else {
    fmt::print("{}", text);
  }
  return kExitOk;
}

// What is found in one file, and how its plugins keep the promises of their kinds: printed line by
// line, and returned.
struct CheckedFile {
  std::string text;
  bool passed = false;
  nlohmann::json promises = nlohmann::json::array();
};

CheckedFile check_file(Context& context, const PluginsOptions& options, const std::string& file) {
  CheckedFile out;
  const auto say = [&](const std::string& lines) {
    out.text += lines;
    if (!answers()) {
      fmt::print("{}", lines);
      std::fflush(stdout);
    }
  };
  const PluginCheck found = plugin_check(context.catalog(), file);
  say(found.text);
  out.passed = found.passed;
  if (!found.passed) {
    return out;
  }
  promises::ServedOptions served{context.worker_options(), options.checkpoint};
  served.worker.crashes = std::numeric_limits<int>::max();
  served.worker.limits.silence_seconds = std::min(context.worker_silence, kCheckSilence);
  for (const PluginDescription& item : found.items) {
    const std::string label = plugin_label(item);
    out.passed &= promises::try_promises(
        item, served, [&](const promises::Promise& promise, const promises::Verdict& verdict) {
          const char* outcome = verdict.outcome == promises::Outcome::kKept     ? "ok"
                                : verdict.outcome == promises::Outcome::kBroken ? "failed"
                                                                                : "skipped";
          const std::string why = printable(verdict.why, 600);
          say(fmt::format("{:<7} {}: {}{}{}\n", outcome, label, promise.text,
                          why.empty() ? "" : ": ", why));
          out.promises.push_back(
              {{"plugin", label}, {"promise", promise.text}, {"outcome", outcome}, {"why", why}});
        });
  }
  return out;
}

int check(Context& context, const PluginsOptions& options) {
  std::string text;
  std::string bad;
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& file : options.files) {
    if (options.files.size() > 1 && !answers()) {
      fmt::print("{}{}:\n", files.empty() ? "" : "\n", printable(file, 4096));
    }
    const CheckedFile checked = check_file(context, options, file);
    text += checked.text;
    if (!checked.passed) {
      bad += (bad.empty() ? "" : ", ") + printable(file, 4096);
    }
    files.push_back({{"file", file},
                     {"passed", checked.passed},
                     {"text", checked.text},
                     {"promises", checked.promises}});
  }
  answer({{"file", options.files.front()},
          {"passed", bad.empty()},
          {"text", text},
          {"files", std::move(files)}});
  return bad.empty() ? kExitOk : incomplete(fmt::format("{}: has faults", bad));
}

int rescan(Context& context, const PluginsOptions& options) {
  forget_probes(context.home());
  return list(context, options);
}

int markdown(Context& context, const PluginsOptions& /*options*/) {
  const std::string text = plugins_markdown(context.catalog());
  if (answers()) {
    answer({{"text", text}});
  } else {
    fmt::print("{}", text);
  }
  return kExitOk;
}

}  // namespace

void add_plugins(Verb& verb, Context& context) {
  const auto options = std::make_shared<PluginsOptions>();
  verb.examples(
      {"quench plugins", "quench plugins show gptq", "quench plugins check my_quantizer.so"});
  add_plugin_options(verb, context);
  verb.json();
  using Body = int (*)(Context&, const PluginsOptions&);
  const auto with = [&context, options](Body body) {
    return [&context, options, body] { return body(context, *options); };
  };
  verb.does(with(list));
  const auto add = [&](const char* name, const char* help, Body body) {
    Verb added = verb.verb(name, help);
    added.does(with(body));
    return added;
  };
  add("list", "All plugins found on the search path", list);
  add("show", "Parameters of one plugin", show)
      .option("id", options->subject, "id, or kind/id")
      .required();
  add("why", "Where a plugin comes from, or why it is not there", why)
      .option("id", options->subject, "id, or kind/id")
      .required();
  Verb checks = add("check", "Try plugin files in worker processes: what each promises", check);
  checks.option("files", options->files, "FILE.so or FILE.py").placeholder("FILE").required();
  checks
      .option("--checkpoint", options->checkpoint,
              "A small checkpoint that families are tried on, or a file or folder for tokenizers "
              "and corpora")
      .placeholder("DIR");
  add("rescan", "Forget what was probed, and probe again", rescan);
  add_plugin_files(verb, context);
  add("markdown", "The reference page of all plugins, docs/plugins.md", markdown);
}

}  // namespace quench
