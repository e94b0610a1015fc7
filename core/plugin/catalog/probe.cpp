#include "core/plugin/catalog/probe.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/io/passing_fault.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/describe.hpp"
#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/catalog/worker_start.hpp"
#include "core/plugin/library/links.hpp"
#include "core/plugin/library/provided_torch.hpp"
#include "core/plugin/process/control_socket.hpp"
#include "core/plugin/process/output_tail.hpp"
#include "core/plugin/process/worker_process.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

void read_description(const json& in, const fs::path& library, ProbeResult& result) {
  std::vector<LinkedLibrary> links;
  if (const auto around = in.find("surroundings"); around != in.end()) {
    result.surroundings = *around;
    for (const auto& [path, name] : around->at("watched").items()) {
      result.watched.push_back({name.get<std::string>(), path, ""});
    }
  } else {
    for (const json& link : in.at("links")) {
      links.push_back({link.at("soname").get<std::string>(), link.at("path").get<std::string>(),
                       link.at("build_id").get<std::string>()});
    }
  }
  result.items = items_from_json(in);
  for (PluginDescription& item : result.items) {
    item.library = library;
    item.links = links;
  }
}

// Whether another try, without a change of the library, may find otherwise: the machine had no
// memory, descriptor or disk for it, or what it needs is not there yet.
bool may_pass(const std::string& rejected) {
  static constexpr const char* kWords[] = {"annot allocate memory",
                                           "failed to map segment",
                                           "cannot open shared object file",
                                           "and brings none",  // a libtorch may be installed
                                           "bad_alloc",
                                           "MemoryError"};
  rlimit memory{};
  const bool is_limited = getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY;
  // Where memory has a limit, its end looks like any fault: a crash in a constructor, say.
  return is_limited || says_passing_fault(rejected) ||
         std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return rejected.find(word) != std::string::npos; });
}

// The last line of several.
std::string last_line(const std::string& printed) {
  const size_t line = printed.find_last_of('\n');
  return printed.substr(line == std::string::npos ? 0 : line + 1);
}

json sandbox_for(const fs::path& library, const fs::path& interpreter,
                 const CatalogOptions& options) {
  if (options.sandbox == Sandbox::kOff || !is_foreign(library, options.self)) {
    return nullptr;
  }
  std::vector<fs::path> folders = readable_loader_folders();
  if (interpreter.empty()) {
    for (const LinkedLibrary& link : bundled_libraries(library)) {
      folders.push_back(link.path.parent_path());
    }
    const std::vector<fs::path> provided = provided_folders(library);
    folders.insert(folders.end(), provided.begin(), provided.end());
  } else if (is_python_file(library)) {
    folders.emplace_back("/");  // nothing of the file runs, and what it declares may lie anywhere
  } else {
    const std::vector<fs::path> files = read_worker_file(library).files;
    folders.insert(folders.end(), files.begin(), files.end());
  }
  return worker_sandbox(library, interpreter, options.self, folders);
}

// Why there is no worker to ask, which says nothing of the library.
struct NotStarted {
  std::string why;
};

std::unique_ptr<WorkerProcess> start(const WorkerCommand& command) {
  try {
    return std::make_unique<WorkerProcess>(command);
  } catch (const Error& failure) {
    throw NotStarted{failure.what()};
  }
}

// Waits for the worker's answer, {"ready": what it is} or {"failed": why}. `phase`: what it did
// last.
ProbeResult listen(WorkerProcess& worker, const fs::path& library, const fs::path& interpreter,
                   double seconds, std::string& phase) {
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(seconds));
  phase = "before it was loaded";
  while (true) {
    std::optional<Packet> packet;
    try {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      packet =
          receive_packet(worker.control(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
    } catch (const Error& failure) {
      if (failure.code() != QUENCH_UNAVAILABLE) {
        throw;
      }
      worker.kill_now();
      const std::string words = on_one_line(worker.end().last_words);
      ProbeResult out;
      out.timed_out = true;
      out.rejected = fmt::format("did not answer within {} s (stopped {}){}{}", seconds, phase,
                                 words.empty() ? "" : "; its last words: ", words);
      return out;
    }
    if (!packet) {
      const WorkerEnd end = worker.end();
      // An interpreter's last line is the message of an error.
      const std::string said =
          interpreter.empty() || end.signal != 0 ? "" : last_line(end.last_words);
      const std::string ending = fmt::format("its process, {}, {}", phase, end.text());
      ProbeResult out = result_of({{"rejected", said.empty() ? ending : said}}, library);
      out.passing = out.passing || end.killed_from_outside;
      return out;
    }
    const json said = parse_json(packet->text, "its description");
    if (const auto next = said.find("phase"); next != said.end()) {
      phase = printable(next->get<std::string>());
    } else if (const auto failed = said.find("failed"); failed != said.end()) {
      return result_of({{"rejected", printable(failed->get<std::string>(), 1000)}}, library);
    } else {
      return result_of(said.at("ready"), library);
    }
  }
}

ProbeResult probe(const fs::path& library, const CatalogOptions& options) {
  ProbeResult result;
  try {
    const fs::path interpreter =
        interpreter_for(library, options.python, options.sandbox == Sandbox::kStrict);
    const json sandbox = sandbox_for(library, interpreter, options);
    json hello = worker_hello(library, sandbox);
    hello["describe"] = true;
    std::string phase;
    const auto ask = [&](bool instances) {
      hello["instances"] = instances;
      // A library may be loaded into this process later, and must find the same there.
      const std::unique_ptr<WorkerProcess> worker = start(worker_command(
          library, options.self, interpreter, options.python,
          interpreter.empty() ? probe_environment() : foreign_environment(), sandbox));
      try {
        send_packet(worker->control(), json{{"hello", hello}}.dump());
      } catch (const Error&) {  // it has ended, and what it said at last tells why
      }
      return listen(*worker, library, interpreter, options.probe_seconds, phase);
    };
    result = ask(true);
    if (!result.rejected.empty() && !result.passing && !result.timed_out &&
        phase.ends_with(kCreating)) {
      result = ask(false);  // what it is; that it cannot be made fails the cells that want it
    }
    for (PluginDescription& item : result.items) {
      item.interpreter = interpreter;
    }
  } catch (const std::exception& failure) {
    result = result_of({{"rejected", printable(failure.what(), 1000)}}, library);
  } catch (const NotStarted& failure) {
    result.rejected = failure.why;
    result.passing = true;
  }
  return result;
}

}  // namespace

ProbeResult result_of(const json& in, const fs::path& library) {
  ProbeResult result;
  try {
    if (const auto rejected = in.find("rejected"); rejected != in.end()) {
      rejected->get_to(result.rejected);
      result.passing = may_pass(result.rejected);
      return result;
    }
    if (!in.contains("module")) {
      result.rejected = find_fault({});
      return result;
    }
    read_description(in, library, result);
    result.rejected = find_fault(result.items);
  } catch (const std::exception& failure) {
    result.rejected = fmt::format("its description cannot be read: {}", printable(failure.what()));
  }
  if (!result.rejected.empty()) {
    result.items.clear();
  }
  return result;
}

std::vector<ProbeResult> probe_libraries(const std::vector<fs::path>& libraries,
                                         const CatalogOptions& options) {
  constexpr size_t kAtOnce = 2;
  std::vector<ProbeResult> results(libraries.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < libraries.size();) {
      results[i] = probe(libraries[i], options);
    }
  };
  std::vector<std::thread> threads;
  while (threads.size() + 1 < std::min(kAtOnce, libraries.size())) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  return results;
}

}  // namespace quench
