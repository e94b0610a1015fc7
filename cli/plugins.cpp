// quench plugins [list | show ID | why ID | check FILE | rescan | markdown]
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/plugin/catalog/show.hpp"

namespace quench {

namespace {

struct PluginsOptions {
  std::string subject;
  bool json = false;
};

int list(Context& context, const PluginsOptions& options) {
  if (options.json) {
    answer(plugins_list_json(context.catalog()));
  } else {
    const PluginsList all = plugins_list(context.catalog());
    const std::vector<ColumnFit> fits = {kWhole, {8, 0}, {SIZE_MAX, 2}, {12, 3}, {16, 1}};
    fmt::print("{}", all.rows.size() == 1 ? "no plugins found\n"
                                          : aligned_table(all.rows, fits, output_columns()));
    for (const std::string& note : all.notes) {
      fmt::print("{}\n", fitted_lines(note));
    }
  }
  return kExitOk;
}

int show(Context& context, const PluginsOptions& options) {
  if (options.json) {
    answer(plugin_show_json(context.catalog(), options.subject));
  } else {
    fmt::print("{}", plugin_show(context.catalog(), options.subject));
  }
  return kExitOk;
}

int why(Context& context, const PluginsOptions& options) {
  const std::string text = plugin_why(context.catalog(), options.subject);
  if (options.json) {
    answer({{"id", options.subject}, {"text", text}});
  } else {
    fmt::print("{}", text);
  }
  return kExitOk;
}

int check(Context& context, const PluginsOptions& options) {
  const PluginCheck result = plugin_check(context.catalog(), options.subject);
  if (options.json) {
    answer({{"file", options.subject}, {"passed", result.passed}, {"text", result.text}});
  } else {
    fmt::print("{}", result.text);
  }
  return result.passed ? kExitOk
                       : incomplete(fmt::format("{}: has faults", printable(options.subject)));
}

int rescan(Context& context, const PluginsOptions& options) {
  forget_probes(context.home());
  return list(context, options);
}

int markdown(Context& context, const PluginsOptions& options) {
  const std::string text = plugins_markdown(context.catalog());
  if (options.json) {
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
  verb.flag("--json", options->json, "Print JSON");
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
  add("check", "Examine one plugin file in a child process", check)
      .option("file", options->subject, "FILE.so or FILE.py")
      .required();
  add("rescan", "Forget what was probed, and probe again", rescan);
  add("markdown", "The reference page of all plugins, docs/plugins.md", markdown);
}

}  // namespace quench
