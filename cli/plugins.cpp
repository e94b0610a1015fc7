// quench plugins [list | show ID | why ID | check FILE.so | rescan | markdown]
#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/plugin/show.hpp"

namespace quench {

void add_plugins(CLI::App& app, Context& context, Action& action) {
  struct Options {
    std::string subject;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plugins", "What plugins there are, and why others are not");
  add_plugin_options(*command, context);
  command->add_flag("--json", options->json, "Print JSON");
  command->require_subcommand(0, 1);
  command->fallthrough();
  const auto list = [&context, options] {
    if (options->json) {
      fmt::print("{}\n", plugins_list_json(context.catalog()).dump(1));
    } else {
      fmt::print("{}", plugins_list(context.catalog()));
    }
    return kExitOk;
  };
  command->callback([&action, list, command] {
    if (command->get_subcommands().empty()) {
      action = list;
    }
  });
  command->add_subcommand("list", "All plugins found on the search path")
      ->callback([&action, list] { action = list; });
  CLI::App* show = command->add_subcommand("show", "Parameters of one plugin");
  show->add_option("id", options->subject, "id, or kind/id")->required();
  show->callback([&context, &action, options] {
    action = [&context, options] {
      if (options->json) {
        fmt::print("{}\n", plugin_show_json(context.catalog(), options->subject).dump(1));
      } else {
        fmt::print("{}", plugin_show(context.catalog(), options->subject));
      }
      return kExitOk;
    };
  });
  CLI::App* why =
      command->add_subcommand("why", "Where a plugin comes from, or why it is not there");
  why->add_option("id", options->subject, "id, or kind/id")->required();
  why->callback([&context, &action, options] {
    action = [&context, options] {
      fmt::print("{}", plugin_why(context.catalog(), options->subject));
      return kExitOk;
    };
  });
  CLI::App* check = command->add_subcommand("check", "Examine one plugin file in a child process");
  check->add_option("file", options->subject, "FILE.so")->required();
  check->callback([&context, &action, options] {
    action = [&context, options] {
      const PluginCheck result = plugin_check(context.catalog(), options->subject);
      fmt::print("{}", result.text);
      return result.passed ? kExitOk : kExitFailed;
    };
  });
  command->add_subcommand("rescan", "Forget what was probed, and probe again")
      ->callback([&context, &action, list] {
        action = [&context, list] {
          forget_probes(context.home());
          return list();
        };
      });
  command->add_subcommand("markdown", "The reference page of all plugins, docs/plugins.md")
      ->callback([&context, &action] {
        action = [&context] {
          fmt::print("{}", plugins_markdown(context.catalog()));
          return kExitOk;
        };
      });
}

}  // namespace quench
