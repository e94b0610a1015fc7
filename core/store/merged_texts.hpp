// The files of text of runs that are joined: records, logs, tombstones.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace quench {

// What has to be written, by its place in the joined run.
class MergedTexts {
 public:
  // Adds the file, if it is one of a run's own, unless what is in `into`, or comes from another
  // run, is as good. Throws Error(FAILED_PRECONDITION) if that has the same name and other
  // contents;
  // like require_plain.
  void add(const std::filesystem::path& file, const std::filesystem::path& into);
  // Writes each file at once, those of records last. Returns their number.
  uint64_t write() const;

 private:
  using Texts = std::map<std::filesystem::path, std::string>;

  Texts records_;
  Texts others_;
};

}  // namespace quench
