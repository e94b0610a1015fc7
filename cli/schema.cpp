// quench schema: prints the JSON Schema of manifests, for editors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

void add_schema(CLI::App& app, Context& context, Action& action) {
  CLI::App* command =
      app.add_subcommand("schema", "Print the JSON Schema of manifests, for editors (draft-07)");
  add_plugin_options(*command, context);
  command->callback([&context, &action] {
    action = [&context] {
      fmt::print("{}\n", manifest_schema(context.catalog()).dump(1));
      return kExitOk;
    };
  });
}

}  // namespace quench
