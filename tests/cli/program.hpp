// The program as a child process, in a folder with a small checkpoint of the template family.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

using Outcome = Ended;

// Whether runs draw their page, which takes longer than all else of a small run. Where they do not,
// a run finds no Python at all.
enum class Page { kDrawn, kNone };

// A working folder: `tiny` is a checkpoint (256 ids, width 32, 2 blocks, byte tokenizer), `t.txt` a
// text of 1000 bytes. The program sees the plugins of the build and of the SDK's template, and has
// a store of its own in `home`.
class Workplace {
 public:
  explicit Workplace(Page page = Page::kDrawn);

  using Arguments = std::vector<std::string>;
  Outcome run(const Arguments& arguments, const std::string& redirection = "") const;
  // The program with these arguments; output goes to the files `out` and `err` of the folder.
  // `redirection`: "" or what a shell would write: ">&-", "2>&-", ">/dev/full", "<FILE", "<>FILE".
  Command command(const Arguments& arguments, const std::string& redirection = "") const;
  // Starts it without waiting.
  ChildProcess start(const Arguments& arguments, const std::string& redirection = "") const;
  Outcome wait(ChildProcess& process) const;
  // Until stderr holds something, at most 60 s; false when that never happened.
  bool wait_for_work() const;

  const TemporaryDir& folder() const { return folder_; }
  // A text that takes the template model minutes.
  void write_long_text() const;

 private:
  TemporaryDir folder_;
  Page page_;
};

// Whether a file of a run's folder holds records.
inline bool holds_records(const std::filesystem::path& file) {
  return file.filename().string().starts_with("records-") && file.extension() == ".jsonl";
}

// For the tests that run methods on libtorch: skips where those plugins are not built.
void need_plugin(const std::string& kind_and_id);

// The program's environment: nothing of the caller's beyond PATH and QUENCH_ISA. Its QUENCH_HOME
// knows all plugins.
std::vector<std::string> program_environment();
std::string program_path();

}  // namespace quench::test
