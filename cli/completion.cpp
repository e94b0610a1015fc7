// quench completion SHELL, the manual page, and what both and --help say of the program as a whole.
#include <fmt/format.h>

#include "cli/command.hpp"

namespace quench {

void add_completion(CommandLine& line) {
  Verb verb =
      line.verb("completion", "Print a script that completes verbs and options, or the manual page",
                "Installation");
  verb.examples({"quench completion bash > ~/.local/share/bash-completion/completions/quench",
                 "quench completion zsh > ~/.zfunc/_quench",
                 "quench completion fish > ~/.config/fish/completions/quench.fish",
                 "quench completion man > ~/.local/share/man/man1/quench.1"});
  auto form = std::make_shared<std::string>();
  verb.option("form", *form, "bash, zsh or fish; man: the manual page")
      .required()
      .one_of({"bash", "zsh", "fish", "man"});
  verb.does([&line, form] {
    fmt::print("{}", *form == "man" ? line.man_page() : line.completion(*form));
    return kExitOk;
  });
}

void add_sections(CommandLine& line) {
  line.sections(
      {{"Exit codes",
        "  0    all is done\n"
        "  1    something failed; what could be done is done\n"
        "  2    the command line or the manifest is wrong; nothing was done\n"
        "  75   stopped on request (SIGTERM, SIGUSR1); the same command goes on\n"
        "  130  stopped by Ctrl-C; the same command goes on\n"},
       {"Environment",
        "  QUENCH_HOME         what runs share: records, hashes, tokens (default: "
        "~/.cache/quench)\n"
        "  QUENCH_PLUGIN_PATH  folders with further plugins, separated by colons\n"
        "  QUENCH_PYTHON       interpreter of what is in Python: plugins that name none, and "
        "verbs\n"
        "                      such as export, which else take that of VIRTUAL_ENV or "
        "CONDA_PREFIX,\n"
        "                      of PATH or of /usr/bin that has what they import\n"
        "  QUENCH_ISA          portable, avx2 or avx512: the kernels' instruction set\n"
        "  HF_HOME, HF_HUB_CACHE  where checkpoints of Hugging Face lie\n"
        "  HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE  for fetch, as for Hugging Face's tools\n"
        "  https_proxy, no_proxy  for fetch\n"
        "  NO_COLOR, TERM=dumb  no colours on a terminal\n"}});
}

}  // namespace quench
