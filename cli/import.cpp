// quench import FILE: the manifest that a file of the study's code amounts to.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/new_file.hpp"
#include "cli/standard_streams.hpp"
#include "core/config/yaml.hpp"
#include "run/study/study_manifest.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct ImportOptions {
  std::string file;
  std::string out;
};

int import_file(const ImportOptions& options) {
  return as_usage([&] {
    const YamlNode root = load_yaml(options.file);
    if (!is_study_file(root)) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: got {}, wanted a file of the study's code: with `repo_origin` and `q_bits`, or "
           "`quantized_paths` and `fp_paths`, and no section of a manifest",
           printable(options.file, 4096), root.is_mapping() ? "other keys" : root.described());
    }
    const StudyFile file(root);
    const std::string text = study_manifest(file, fs::path(options.file).filename().string());
    if (options.out.empty()) {
      fmt::print(results(), "{}", text);
      return kExitOk;
    }
    write_new_file(options.out, text);
    fmt::print(results(), "wrote {}, {} jobs; look at it with: quench plan {}\n", options.out,
               file.jobs(), options.out);
    return kExitOk;
  });
}

}  // namespace

void add_import(CommandLine& line) {
  auto options = std::make_shared<ImportOptions>();
  Verb verb = line.verb("import", "Write the manifest that a file of the study's code amounts to",
                        "Experiments");
  verb.examples({"quench import quantize_olmo2_1B.yaml",
                 "quench import quantize_olmo2_1B.yaml -o olmo2_1b.yaml"});
  verb.option("file", options->file, "YAML file of the study's code (arXiv 2510.06213)").required();
  verb.option("-o,--out", options->out, "File to write (default: print it)").placeholder("FILE");
  verb.does([options] { return import_file(*options); });
}

}  // namespace quench
