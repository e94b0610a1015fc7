#include "tests/faults/write_checks.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "tests/support/temporary.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

constexpr size_t kCells = 4;

using Lines = std::multiset<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    out.insert(line);
  }
  return out;
}

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (const std::string& line : lines_of(text)) {
    out += line.starts_with(word + " ") ? 1 : 0;
  }
  return out;
}

// A run folder and a store in which the driver works.
class Bench {
 public:
  explicit Bench(fs::path driver) : driver_(std::move(driver)) {}

  FaultedRun write(const FaultPlan& plan = {}) const {
    return run_under_faults({driver_.string(), run().string(), home().string()}, plan, {},
                            folder_.path());
  }
  Lines dump() const { return lines_of(command({"--dump", run().string()})); }
  std::string command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), driver_.string());
    return run_program(arguments, {}, folder_.path()).out;
  }
  fs::path run() const { return folder_ / "run"; }
  fs::path home() const { return folder_ / "home"; }
  // The only file of the run, or of the store with that generation.
  fs::path records() const { return first_below(run(), ".jsonl"); }
  fs::path stored() const { return first_below(home(), ".0.json"); }

 private:
  static fs::path first_below(const fs::path& folder, const std::string& end) {
    std::set<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().string().ends_with(end)) {
        found.insert(entry.path());
      }
    }
    return found.empty() ? fs::path() : *found.begin();
  }

  fs::path driver_;
  TemporaryDir folder_;
};

// What an undisturbed run leaves, and its calls.
struct Undisturbed {
  Lines lines;
  std::vector<WriteCall> calls;
  explicit Undisturbed(const fs::path& driver) {
    const Bench bench(driver);
    calls = bench.write().calls;
    lines = bench.dump();
  }
};

bool is_records(const std::string& path) {
  return fs::path(path).filename().string().starts_with("records-");
}

std::string where(size_t i, const WriteCall& call) {
  return "call " + std::to_string(i + 1) + ", " + call.name + " " + call.path + ": ";
}

// After `i`, is `wanted` called on `path` before any call of `name`?
bool comes_before(const std::vector<WriteCall>& calls, size_t i, const std::string& wanted,
                  const std::string& path, const std::string& name) {
  for (size_t k = i + 1; k < calls.size() && calls[k].name != name; ++k) {
    if (calls[k].name == wanted && calls[k].path == path) {
      return true;
    }
  }
  return false;
}

// A second start after a fault must bring everything, and compute nothing that was kept.
std::optional<std::string> resume_fault(const Bench& bench, const Undisturbed& expected,
                                        size_t kept) {
  const Ended again = bench.write().ended;
  if (again.code != 0) {
    return "the second start ends with " + std::to_string(again.code) + ": " + again.err;
  }
  if (bench.dump() != expected.lines) {
    return "the records are not those of an undisturbed run";
  }
  if (count(again.out, "computed") + kept > kCells) {
    return "a finished cell was computed again";
  }
  return std::nullopt;
}

void replace_in(const fs::path& path, const std::string& text, const std::string& other) {
  std::string content = read_file(path);
  content.replace(content.find(text), text.size(), other);
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

std::vector<std::string> order_faults(const std::vector<WriteCall>& calls) {
  std::vector<std::string> out;
  for (size_t i = 0; i < calls.size(); ++i) {
    const WriteCall& call = calls[i];
    const std::string folder = fs::path(call.path).parent_path().string();
    const bool named = call.name == "rename" || call.name == "link";
    if (named) {
      bool synced = false;
      for (size_t k = 0; k < i; ++k) {
        if (calls[k].path == call.from) {
          synced = calls[k].name == "fsync" || (synced && calls[k].name != "write");
        }
      }
      if (!synced) {
        out.push_back(where(i, call) + "its content was not synced");
      }
    }
    const bool created = call.name == "open" && is_records(call.path);
    if ((named || created) && !comes_before(calls, i, "fsync", folder, "write")) {
      out.push_back(where(i, call) + "its name is not synced before the next write");
    }
    if (call.name == "mkdir" && !comes_before(calls, i, "fsync", folder, "open")) {
      out.push_back(where(i, call) + "the folder's name is not synced before its first file");
    }
    if (call.name == "write" && is_records(call.path) &&
        (i + 1 == calls.size() || calls[i + 1].name != "fsync" || calls[i + 1].path != call.path)) {
      out.push_back(where(i, call) + "the record is not synced");
    }
  }
  return out;
}

std::vector<std::string> check_order(const fs::path& driver) {
  const Bench bench(driver);
  const FaultedRun run = bench.write();
  std::vector<std::string> out = order_faults(run.calls);
  if (run.ended.code != 0 || count(run.ended.out, "kept") != kCells) {
    out.push_back("an undisturbed run ends with " + std::to_string(run.ended.code));
  }
  return out;
}

std::vector<std::string> check_reading(const fs::path& driver) {
  std::vector<std::string> out;
  const auto check = [&](bool good, const char* what) {
    if (!good) {
      out.emplace_back(what);
    }
  };
  {
    const Bench bench(driver);
    bench.write();
    check(bench.dump().size() == 2 * kCells, "not all records are read");
    replace_in(bench.records(), "\"value\":2.0", "\"value\":7.0");
    bool wrong = false;
    for (const std::string& line : bench.dump()) {
      wrong = wrong || line.ends_with(" 7.0");
    }
    check(!wrong, "a changed value was read");
    check(bench.dump().size() == 2 * kCells - 2, "half of an evaluation counts");
  }
  {
    const Bench bench(driver);
    bench.write();
    const uint64_t size = fs::file_size(bench.records());
    fs::resize_file(bench.records(), size - 10);
    check(bench.dump().size() == 2 * kCells - 2, "a torn evaluation counts");
    fs::resize_file(bench.records(), size);  // zeros where the disk lost a block
    check(bench.dump().size() == 2 * kCells - 2, "zeros count");
  }
  {
    const Bench bench(driver);
    bench.write();
    const auto find = [&] { return bench.command({"--find", bench.home().string(), "2"}); };
    check(find() == "2.0\n", "a published value is not found");
    bench.command({"--forget", bench.home().string(), "2"});
    check(find() == "none\n", "a forgotten value is found");
  }
  {
    const Bench bench(driver);
    bench.write();
    replace_in(bench.stored(), "\"value\":2.0", "\"value\":7.0");
    for (const char* step : {"1", "2", "3", "4"}) {
      check(bench.command({"--find", bench.home().string(), step}) != "7.0\n",
            "a changed value was found in the store");
    }
  }
  return out;
}

std::vector<std::string> check_errors(const fs::path& driver) {
  const Undisturbed expected(driver);
  for (size_t at = 1; at <= expected.calls.size(); ++at) {
    for (const char* fault : {"ENOSPC", "EIO", "EROFS", "EDQUOT"}) {
      const bool close = expected.calls[at - 1].name == "close";
      if (close != (std::string(fault) == "EDQUOT")) {
        continue;  // a quota is told at close, everything else elsewhere
      }
      const Bench bench(driver);
      const Ended ended =
          bench.write({static_cast<long>(at), fault, false, "", "", "", false}).ended;
      const size_t kept = count(ended.out, "kept");
      const std::string place = where(at - 1, expected.calls[at - 1]) + fault + ": ";
      // Temporary files that cannot be removed, and folders, may stay open: nothing is lost.
      if (ended.code == 0 && bench.dump() != expected.lines) {
        return {place + "said to have succeeded"};
      }
      const std::string& name = expected.calls[at - 1].name;
      const bool folder = expected.calls[at - 1].path.find('.') == std::string::npos;
      if (ended.code == 0 && name != "unlink" && !(close && folder)) {
        return {place + "swallowed"};
      }
      if (ended.code != 0 && (ended.code != 1 || ended.err.find('/') == std::string::npos)) {
        return {place + "ends with " + std::to_string(ended.code) + ": " + ended.err};
      }
      if (bench.dump().size() != 2 * kept) {
        return {place + "a record counts that was not kept"};
      }
      if (const auto wrong = resume_fault(bench, expected, kept)) {
        return {place + *wrong};
      }
    }
  }
  return {};
}

std::vector<std::string> check_kills(const fs::path& driver) {
  const Undisturbed expected(driver);
  for (size_t at = 1; at <= expected.calls.size(); ++at) {
    for (const char* fault : {"KILL", "KILL_AFTER"}) {
      const Bench bench(driver);
      const Ended ended =
          bench.write({static_cast<long>(at), fault, false, "", "", "", false}).ended;
      const std::string place = where(at - 1, expected.calls[at - 1]) + fault + ": ";
      if (ended.code != 128 + 9) {
        return {place + "ends with " + std::to_string(ended.code)};
      }
      if (const auto wrong = resume_fault(bench, expected, count(ended.out, "kept"))) {
        return {place + *wrong};
      }
    }
  }
  return {};
}

}  // namespace quench::test
