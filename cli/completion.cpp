// quench completion SHELL, and the manual page.
#include <fmt/format.h>

#include "cli/command.hpp"

namespace quench {

void add_completion(Verb& verb, Context& context) {
  verb.examples({"quench completion bash > ~/.local/share/bash-completion/completions/quench",
                 "quench completion zsh > ~/.zfunc/_quench",
                 "quench completion fish > ~/.config/fish/completions/quench.fish",
                 "quench completion man > ~/.local/share/man/man1/quench.1"});
  auto form = std::make_shared<std::string>();
  verb.option("form", *form, "bash, zsh or fish; man: the manual page")
      .required()
      .one_of({"bash", "zsh", "fish", "man"});
  verb.does([&context, form] {
    fmt::print("{}", *form == "man" ? context.line->man_page() : context.line->completion(*form));
    return kExitOk;
  });
}

}  // namespace quench
