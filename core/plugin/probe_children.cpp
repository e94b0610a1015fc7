#include "core/plugin/probe_children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <system_error>

#include "core/base/json/parse_json.hpp"
#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "core/plugin/foreign_code.hpp"

namespace quench {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxReport = size_t{8} << 20;
constexpr size_t kTail = 600;  // of what the child prints, bytes kept
constexpr int kTick = 20;      // ms between looks at children whose descriptors outlive them
constexpr int kLastStream = 3;

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

struct Child {
  size_t index;  // of its question
  bool is_python;
  ChildProcess process;
  int report;
  int output;
  Clock::time_point deadline;
  std::string reported = {};
  std::string printed = {};
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

// The program that answers, without its streams.
Command command_for(const ProbeQuestion& question, const ProbeOptions& options) {
  Command command;
  if (question.is_about_python()) {
    command.words = {question.interpreter.string(), "-m", "quench.describe"};
    if (options.confined) {
      command.words.insert(command.words.end(),
                           {"--confine", interpreter_sandbox(options.self).string()});
    }
    command.environment = python_environment(options.python, foreign_environment());
    command.folder = options.python.package;  // modules are looked for in the working folder
  } else {
    command.words = {options.self.string(), "__probe"};
    if (options.confined && is_foreign(question.library, options.self)) {
      command.words.emplace_back("--confined");
    }
    command.environment = probe_environment();
  }
  command.words.insert(command.words.end(), question.words.begin(), question.words.end());
  command.words.push_back(question.library.string());
  command.group = ChildGroup::kOwn;  // so that what it forks off can be ended with it
  command.closed_from = kLastStream + 1;
  return command;
}

Child start(size_t index, const ProbeQuestion& question, const ProbeOptions& options) {
  Command command = command_for(question, options);
  Pipe report;
  Pipe output;
  const int answers = question.is_about_python() ? report.write : output.write;
  command.streams = {ChildStream::file(0, "/dev/null", O_RDONLY), ChildStream::copy(1, answers),
                     ChildStream::copy(2, output.write),
                     ChildStream::copy(kLastStream, report.write)};
  try {
    ChildProcess process = ChildProcess::start(command);
    close_descriptor(report.write);
    close_descriptor(output.write);
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    return {index,       question.is_about_python(), std::move(process), report.read,
            output.read, Clock::now() + limit};
  } catch (const std::system_error& error) {
    for (int* end : {&report.read, &report.write, &output.read, &output.write}) {
      close_descriptor(*end);
    }
    fail(QUENCH_FAILED_PRECONDITION, "{} cannot be run to probe plugins: {}", command.words[0],
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

bool comes_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGHUP || signal == SIGINT;
}

// What an interpreter says at last, where it ended by itself: the message of an error.
std::string last_line(const std::string& printed) {
  const size_t end = printed.find_last_not_of(" \r\n\t");
  if (end == std::string::npos) {
    return "";
  }
  const size_t line = printed.find_last_of('\n', end);
  const size_t from = line == std::string::npos ? 0 : line + 1;
  return printable(printed.substr(from, end + 1 - from), kTail);
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
    const std::string said =
        child.is_python && !child.timed_out && ended.signal == 0 ? last_line(child.printed) : "";
    return {{"rejected", said.empty() ? ending(child, ended, phase, seconds) : said},
            {"passing", !child.timed_out && comes_from_outside(ended.signal)}};
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

}  // namespace

void ask(const std::vector<ProbeQuestion>& questions, const ProbeOptions& options,
         const TakeAnswer& take) {
  std::list<Child> children;
  size_t next = 0;
  while (next < questions.size() || !children.empty()) {
    while (next < questions.size() && children.size() < kProbesAtOnce) {
      try {
        children.push_back(start(next, questions[next], options));
      } catch (const Error& failure) {
        if (!questions[next].is_about_python()) {
          std::for_each(children.begin(), children.end(), reap);
          throw;
        }
        take(next, json{{"rejected", failure.what()}, {"passing", true}}, false);
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

}  // namespace quench
