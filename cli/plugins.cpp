// quench plugins [list | show ID | why ID | check FILE.so | rescan | markdown]
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "core/plugin/show.hpp"

namespace quench {

namespace {

struct PluginsOptions {
  std::string subject;
  bool json = false;
};

int list(Context& context, const PluginsOptions& options) {
  if (options.json) {
    fmt::print("{}\n", plugins_list_json(context.catalog()).dump(1));
  } else {
    fmt::print("{}", plugins_list(context.catalog()));
  }
  return kExitOk;
}

int show(Context& context, const PluginsOptions& options) {
  if (options.json) {
    fmt::print("{}\n", plugin_show_json(context.catalog(), options.subject).dump(1));
  } else {
    fmt::print("{}", plugin_show(context.catalog(), options.subject));
  }
  return kExitOk;
}

int why(Context& context, const PluginsOptions& options) {
  fmt::print("{}", plugin_why(context.catalog(), options.subject));
  return kExitOk;
}

int check(Context& context, const PluginsOptions& options) {
  const PluginCheck result = plugin_check(context.catalog(), options.subject);
  fmt::print("{}", result.text);
  return result.passed ? kExitOk : kExitFailed;
}

int rescan(Context& context, const PluginsOptions& options) {
  forget_probes(context.home());
  return list(context, options);
}

int markdown(Context& context, const PluginsOptions&) {
  fmt::print("{}", plugins_markdown(context.catalog()));
  return kExitOk;
}

}  // namespace

void add_plugins(CLI::App& app, Context& context, Action& action) {
  const auto options = std::make_shared<PluginsOptions>();
  CLI::App* command =
      app.add_subcommand("plugins", "List plugins, and explain why others cannot be used");
  add_plugin_options(*command, context);
  command->add_flag("--json", options->json, "Print JSON");
  command->require_subcommand(0, 1);
  command->fallthrough();
  using Body = int (*)(Context&, const PluginsOptions&);
  const auto act = [&context, &action, options](Body body) {
    return [&context, &action, options, body] {
      action = [&context, options, body] { return body(context, *options); };
    };
  };
  command->callback([command, listing = act(list)] {
    if (command->get_subcommands().empty()) {
      listing();
    }
  });
  const auto add = [&](const char* name, const char* help, Body body) {
    CLI::App* added = command->add_subcommand(name, help);
    added->callback(act(body));
    return added;
  };
  add("list", "All plugins found on the search path", list);
  add("show", "Parameters of one plugin", show)
      ->add_option("id", options->subject, "id, or kind/id")
      ->required();
  add("why", "Where a plugin comes from, or why it is not there", why)
      ->add_option("id", options->subject, "id, or kind/id")
      ->required();
  add("check", "Examine one plugin file in a child process", check)
      ->add_option("file", options->subject, "FILE.so")
      ->required();
  add("rescan", "Forget what was probed, and probe again", rescan);
  add("markdown", "The reference page of all plugins, docs/plugins.md", markdown);
}

}  // namespace quench
