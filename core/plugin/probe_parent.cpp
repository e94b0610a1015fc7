// The parent's side of probing: starts children, waits with a limit, and says how they ended.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <system_error>

#include "core/error.hpp"
#include "core/json/parse_json.hpp"
#include "core/plugin/probe.hpp"
#include "core/process/child_process.hpp"

namespace quench {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kAtOnce = 2;
constexpr size_t kMaxReport = size_t{8} << 20;
constexpr size_t kTail = 600;  // of what the child prints, bytes kept
constexpr int kTick = 20;      // ms between looks at children whose descriptors outlive them

// A pipe whose ends are closed on exec and lie above the descriptors that a child is given.
struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "no pipe for a child process: {}", std::strerror(errno));
    }
    read = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
    write = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[0]);
    close(ends[1]);
    fcntl(read, F_SETFL, O_NONBLOCK);
  }
};

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) {
    close(descriptor);
  }
  descriptor = -1;
}

// What a child is started for.
struct Question {
  std::vector<std::string> words;  // behind `__probe`
  std::string input;               // what it finds on standard input
};

struct Child {
  size_t index;  // of its question
  ChildProcess process;
  int report;
  int output;
  Clock::time_point deadline;
  std::string reported;
  std::string printed;
  bool timed_out = false;
};

// Takes what there is to read; closes the descriptor at its end.
void drain(int& descriptor, std::string& text, size_t keep_last) {
  char buffer[4096];
  while (descriptor >= 0) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got <= 0 || text.size() > kMaxReport) {
      close_descriptor(descriptor);
      return;
    }
    text.append(buffer, static_cast<size_t>(got));
    if (keep_last != 0 && text.size() > keep_last) {
      text.erase(0, text.size() - keep_last);
    }
  }
}

// A file in memory that holds `text`, to be read from its start.
int file_of(const std::string& text) {
  const int made = memfd_create("input", MFD_CLOEXEC);
  const int file = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 10);
  if (made >= 0) {
    close(made);
  }
  if (file < 0 || pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "no input for a child process: {}", std::strerror(errno));
  }
  return file;
}

Child start(size_t index, const Question& question, const ProbeOptions& options) {
  Pipe report;
  Pipe output;
  int input = file_of(question.input);
  Command command;
  command.words = {options.self.string(), "__probe"};
  command.words.insert(command.words.end(), question.words.begin(), question.words.end());
  command.streams = {ChildStream::copy(0, input), ChildStream::copy(1, output.write),
                     ChildStream::copy(2, output.write), ChildStream::copy(3, report.write)};
  command.group = ChildGroup::kOwn;  // so that what it forks off can be ended with it
  try {
    ChildProcess process = ChildProcess::start(command);
    close_descriptor(report.write);
    close_descriptor(output.write);
    close_descriptor(input);
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    return {index, std::move(process), report.read, output.read, Clock::now() + limit, "", "",
            false};
  } catch (const std::system_error& error) {
    for (int* end : {&report.read, &report.write, &output.read, &output.write, &input}) {
      close_descriptor(*end);
    }
    fail(QUENCH_FAILED_PRECONDITION, "{} cannot be run to probe plugins: {}", options.self.string(),
         error.code().message());
  }
}

// The last lines of what the child printed, on one line.
std::string last_words(const std::string& printed) {
  constexpr size_t kShown = 300;
  std::string text = printed.size() > kShown ? printed.substr(printed.size() - kShown) : printed;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.pop_back();
  }
  for (char& c : text) {
    c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return text.empty() ? "" : "; it printed: " + printable(text, 2 * kShown);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

// Why there is no description.
std::string ending(const Child& child, const ProcessEnd& end, const std::string& phase,
                   double seconds) {
  const std::string words = last_words(child.printed);
  if (child.timed_out) {
    return fmt::format("did not answer within {} s (stopped {}){}", seconds, phase, words);
  }
  if (end.signal != 0) {
    return fmt::format("ended by {} {}{}", signal_name(end.signal), phase, words);
  }
  return fmt::format("ended the process with exit code {} {}{}", end.exit_code, phase, words);
}

void read_description(const json& in, const std::filesystem::path& library, ProbeResult& result) {
  const json& module = in.at("module");
  std::vector<LinkedLibrary> links;
  for (const json& link : in.at("links")) {
    links.push_back({link.at("soname").get<std::string>(), link.at("path").get<std::string>(),
                     link.at("build_id").get<std::string>()});
  }
  for (const json& item : in.at("items")) {
    PluginDescription description = description_from_json(item);
    description.library = library;
    description.links = links;
    description.instance = instance_from_json(item.at("instance"));
    module.at("id").get_to(description.module_id);
    module.at("version").get_to(description.module_version);
    module.at("build").get_to(description.build);
    result.items.push_back(std::move(description));
  }
  in.at("findings").get_to(result.findings);
}

// The answer of a child that has ended: one JSON object, or {"rejected": why}.
json answer_of(const Child& child, const ProcessEnd& ended, double seconds) {
  std::string phase = "before it was loaded";
  std::string answer;
  for (size_t from = 0, end; (end = child.reported.find('\n', from)) != std::string::npos;
       from = end + 1) {
    const std::string line = child.reported.substr(from, end - from);
    if (line.starts_with('@')) {
      phase = printable(line.substr(1));
    } else {
      answer = line;
    }
  }
  if (answer.empty() || child.timed_out || ended.code() != 0) {
    return {{"rejected", ending(child, ended, phase, seconds)}};
  }
  try {
    json in = parse_json(answer, "its description");
    if (const auto rejected = in.find("rejected"); rejected != in.end()) {
      *rejected = printable(rejected->get<std::string>(), 1000);
    }
    return in;
  } catch (const std::exception& failure) {
    return {
        {"rejected", fmt::format("its description cannot be read: {}", printable(failure.what()))}};
  }
}

ProbeResult result_of(const json& in, const std::filesystem::path& library) {
  ProbeResult result;
  try {
    if (const auto rejected = in.find("rejected"); rejected != in.end()) {
      rejected->get_to(result.rejected);
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

// Waits until a descriptor has something or a tick is over.
void wait_for(std::list<Child>& children) {
  std::vector<pollfd> descriptors;
  for (const Child& child : children) {
    for (const int descriptor : {child.report, child.output}) {
      if (descriptor >= 0) {
        descriptors.push_back({descriptor, POLLIN, 0});
      }
    }
  }
  poll(descriptors.data(), descriptors.size(), descriptors.empty() ? 1 : kTick);
}

// Ends the child and what it left behind, takes its last words and how it ended.
ProcessEnd reap(Child& child) {
  const ProcessEnd end = child.process.end();
  drain(child.report, child.reported, 0);
  drain(child.output, child.printed, kTail);
  close_descriptor(child.report);
  close_descriptor(child.output);
  return end;
}

// Asks every question of a child of its own, at most kAtOnce at a time; `take(index, answer,
// timed_out)` for each that has ended.
template <typename Take>
void ask(const std::vector<Question>& questions, const ProbeOptions& options, Take take) {
  std::list<Child> children;
  size_t next = 0;
  while (next < questions.size() || !children.empty()) {
    while (next < questions.size() && children.size() < kAtOnce) {
      try {
        children.push_back(start(next, questions[next], options));
      } catch (const Error&) {
        std::for_each(children.begin(), children.end(), reap);
        throw;
      }
      ++next;
    }
    wait_for(children);
    for (auto child = children.begin(); child != children.end();) {
      drain(child->report, child->reported, 0);
      drain(child->output, child->printed, kTail);
      if (Clock::now() > child->deadline && !child->timed_out) {
        child->timed_out = true;
        child->process.signal(SIGKILL);
      }
      if (!child->process.has_ended()) {
        ++child;
        continue;
      }
      const ProcessEnd end = reap(*child);
      take(child->index, answer_of(*child, end, options.seconds), child->timed_out);
      child = children.erase(child);
    }
  }
}

ProbeAnswer answer_from(const json& in) {
  return {in.value("score", 0), in.value("message", ""), in.value("rejected", "")};
}

}  // namespace

std::vector<ProbeResult> probe_libraries(const std::vector<std::filesystem::path>& libraries,
                                         const ProbeOptions& options) {
  std::vector<Question> questions;
  for (const std::filesystem::path& library : libraries) {
    Question& question = questions.emplace_back();
    if (options.create) {
      question.words.emplace_back("--create");
    }
    question.words.push_back(library.string());
  }
  std::vector<ProbeResult> results(libraries.size());
  ask(questions, options, [&](size_t index, const json& answer, bool timed_out) {
    results[index] = result_of(answer, libraries[index]);
    results[index].timed_out = timed_out;
  });
  return results;
}

namespace {

// The same question of every item, each in a child of its own.
std::vector<ProbeAnswer> ask_items(const char* kind,
                                   const std::vector<const PluginDescription*>& items,
                                   const std::string& input, const ProbeOptions& options) {
  std::vector<Question> questions;
  for (const PluginDescription* item : items) {
    questions.push_back({{kind, item->id, item->library.string()}, input});
  }
  std::vector<ProbeAnswer> answers(items.size());
  ask(questions, options,
      [&](size_t index, const json& answer, bool) { answers[index] = answer_from(answer); });
  return answers;
}

}  // namespace

std::vector<ProbeAnswer> ask_families(const std::vector<const PluginDescription*>& families,
                                      std::string_view config_json, const ProbeOptions& options) {
  return ask_items("--family", families, std::string(config_json), options);
}

std::vector<ProbeAnswer> ask_formats(const std::vector<const PluginDescription*>& formats,
                                     const std::filesystem::path& place, bool with_config,
                                     const ProbeOptions& options) {
  return ask_items("--format", formats, (with_config ? "config\n" : "no config\n") + place.string(),
                   options);
}

std::vector<std::vector<ProbeAnswer>> ask_tokenizers(
    const std::vector<const PluginDescription*>& tokenizers, const std::vector<FileHead>& files,
    const ProbeOptions& options) {
  json heads = json::array();
  for (const FileHead& file : files) {
    heads.push_back(
        {{"name", file.name},
         {"bytes", json::binary(std::vector<uint8_t>(file.bytes.begin(), file.bytes.end()))},
         {"size", file.size}});
  }
  std::string input;
  json::to_cbor(heads, input);
  std::vector<Question> questions;
  for (const PluginDescription* tokenizer : tokenizers) {
    questions.push_back({{"--tokenizer", tokenizer->id, tokenizer->library.string()}, input});
  }
  std::vector<std::vector<ProbeAnswer>> answers(tokenizers.size());
  ask(questions, options, [&](size_t index, const json& answer, bool) {
    const json all = answer.value("files", json::array());
    for (size_t i = 0; i < files.size(); ++i) {
      answers[index].push_back(answer_from(i < all.size() ? all[i] : answer));
    }
  });
  return answers;
}

}  // namespace quench
