// quench schema: prints the JSON Schema of manifests, for editors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

void add_schema(Verb& verb, Context& context) {
  verb.examples({"quench schema > quench.schema.json"});
  add_plugin_options(verb, context);
  verb.does([&context] {
    fmt::print("{}\n", manifest_schema(context.catalog()).dump(1));
    return kExitOk;
  });
}

}  // namespace quench
