#include "core/plugin/calls/process_state.hpp"

#include <fmt/format.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <locale>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/calls/floating_state.hpp"

namespace quench {

namespace {

// Signals that end, stop or wake the process; profilers may use theirs.
constexpr std::array kHandledSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
                                        SIGPIPE, SIGCHLD, SIGALRM, SIGABRT, SIGSEGV,
                                        SIGBUS,  SIGFPE,  SIGILL,  SIGSYS,  SIGTRAP};

std::string name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : std::to_string(signal);
}

bool same_folder(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

class ProcessState {
 public:
  ProcessState() : locale_(std::setlocale(LC_ALL, nullptr)), thread_locale_(::uselocale(nullptr)) {
    std::error_code error;
    path_ = std::filesystem::current_path(error).string();
    has_folder_ = ::stat(".", &folder_) == 0;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    for (size_t i = 0; i < kHandledSignals.size(); ++i) {
      ::sigaction(kHandledSignals[i], nullptr, &actions_[i]);
    }
  }

  std::string changes() const {
    std::vector<std::string> found;
    if (std::string floating = floating_changes(); !floating.empty()) {
      found.push_back(std::move(floating));
    }
    compare_folder(found);
    compare_locale(found);
    compare_signals(found);
    return fmt::format("{}", fmt::join(found, ", "));
  }

 private:
  void compare_folder(std::vector<std::string>& changes) const {
    struct stat now {};
    if (!has_folder_ || (::stat(".", &now) == 0 && same_folder(now, folder_))) {
      return;
    }
    std::error_code error;
    const std::string path = std::filesystem::current_path(error).string();
    changes.push_back(fmt::format("the current folder is now {}, wanted {}", printable(path, 4096),
                                  printable(path_, 4096)));
  }

  void compare_locale(std::vector<std::string>& changes) const {
    if (const std::string now = std::setlocale(LC_ALL, nullptr); now != locale_) {
      changes.push_back(
          fmt::format("the locale is now {}, wanted {}", printable(now), printable(locale_)));
    }
    if (::uselocale(nullptr) != thread_locale_) {
      changes.push_back("the locale of the thread is now one of its own, wanted the process's");
    }
    if (std::locale() != cpp_locale_) {
      changes.push_back("the locale of C++ streams is now another one");
    }
  }

  void compare_signals(std::vector<std::string>& changes) const {
    for (size_t i = 0; i < kHandledSignals.size(); ++i) {
      struct sigaction now {};
      ::sigaction(kHandledSignals[i], nullptr, &now);
      // A handler is stored in a union; its address also tells which of the two forms it has.
      if (now.sa_handler != actions_[i].sa_handler) {
        changes.push_back(
            fmt::format("the handler of {} is now another one", name_of(kHandledSignals[i])));
      }
    }
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    std::vector<std::string> blocked;
    for (const int signal : kHandledSignals) {
      if (sigismember(&now, signal) != sigismember(&mask_, signal)) {
        blocked.push_back(name_of(signal));
      }
    }
    if (!blocked.empty()) {
      changes.push_back(
          fmt::format("the signal mask is now another one for {}", fmt::join(blocked, ", ")));
    }
  }

  bool has_folder_ = false;
  struct stat folder_ {};
  std::string path_;
  std::string locale_;
  locale_t thread_locale_;
  std::locale cpp_locale_;
  sigset_t mask_{};
  std::array<struct sigaction, kHandledSignals.size()> actions_{};
};

const ProcessState* kept = nullptr;  // the last one is never destroyed

}  // namespace

void keep_process_state() {
  forget_floating_changes();
  delete std::exchange(kept, new ProcessState);
}

std::string process_state_changes() {
  return kept == nullptr ? "" : kept->changes();
}

}  // namespace quench
