// misbehaving: a quantizer that leaves weights as they are and, each time that it quantizes, does
// one thing that a plugin must not do.
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

#if defined(__x86_64__)
void flush_to_zero() {
  _mm_setcsr(_mm_getcsr() | 0x8040);
}

void x87_single() {
  const uint16_t single = 0x007F;
  __asm__ volatile("fldcw %0" : : "m"(single));
}
#endif

// 64 tasks, so that every thread of the pool has some; only the last one errs.
void round_up_in_task() {
  kit::parallel_for(64, 1, [](uint64_t begin, uint64_t) {
    usleep(1000);
    if (begin == 63) {
      fesetround(FE_UPWARD);
    }
  });
}

void crash_in_task() {
  kit::parallel_for(64, 1, [](uint64_t begin, uint64_t) {
    usleep(1000);
    if (begin == 63) {
      abort();
    }
  });
}

void write_to_null() {
  static volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

// Deeper than any stack; the compiler is not to see that it has no end.
int deepen(volatile char* above, volatile bool* more) {
  volatile char here[4096];
  here[0] = above[0];
  return *more ? deepen(here, more) + here[0] : 0;
}

void overflow_stack() {
  volatile char start = 1;
  volatile bool more = true;
  deepen(&start, &more);
}

void execute_nonsense() {
  __builtin_trap();
}

void throw_error() {
  throw std::runtime_error("thrown over the border");
}

void call_at_border(void (*body)()) noexcept {
  body();
}

void throw_over_border() {
  call_at_border(throw_error);
}

void starve_at_border() {
  call_at_border([] { throw std::bad_alloc(); });
}

void exit_on_thread() {
  std::thread([] { exit(0); }).join();
}

void print() {
  std::printf("noise by libc\n");
  std::fflush(stdout);
  if (write(STDOUT_FILENO, "noise by descriptor\n", 20) != 20) {
    abort();
  }
  std::printf("noise that stays in a buffer\n");
}

void tell_variables() {
  std::string told;
  for (const char* name : {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "QUENCH_OF_MY_PLUGIN"}) {
    told += std::string(name) + (getenv(name) != nullptr ? " is set; " : " is not set; ");
  }
  throw std::runtime_error(told);
}

void hang() {
  for (;;) {
    sleep(1);
  }
}

// Of the call that does the deed.
kit::QuantizeSink* sink = nullptr;

// Long work of one linear, each tenth of a second of which says that it goes on.
void for_three_seconds(void (*say)()) {
  static bool done = false;
  for (int i = 0; i < 30 && !done; ++i) {
    usleep(100'000);
    say();
  }
  done = true;
}

void for_ever(void (*say)()) {
  for (;;) {
    usleep(50'000);
    say();
  }
}

void log_a_line() {
  kit::log(QUENCH_LOG_INFO, "still there");
}

// A thread that serves no call of the host.
void log_on_thread() {
  std::thread([] { for_three_seconds(log_a_line); }).join();
}

void ask_in_task() {
  kit::parallel_for(2, 1, [](uint64_t, uint64_t) {
    for (int i = 0; i < 15; ++i) {
      usleep(100'000);
      kit::check_cancelled();
    }
  });
}

void write_texts() {
  const std::string text(size_t{15} << 20, 't');
  for (int i = 0; i < 100; ++i) {
    sink->text(("text" + std::to_string(i)).c_str(), text);
  }
}

// The errors of the sink are not looked at.
void write_texts_for_ever() {
  for (;;) {
    try {
      sink->text("text", "once more");
    } catch (const kit::Error&) {
      continue;
    }
  }
}

void ignore_refusal() {
  try {
    write_texts();
  } catch (const kit::Error&) {
    return;
  }
}

void make_tensors() {
  for (const char* name : {"a", "b", "c"}) {
    sink->tensor<uint8_t>(name, {512, 1 << 20});
  }
}

// Each file below new/ goes to its place in the current folder: under its name, or into the file
// that has it.
void bring_new_files(bool in_place) {
  namespace fs = std::filesystem;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("new")) {
    const fs::path place = entry.path().lexically_relative("new");
    if (!entry.is_regular_file()) {
      continue;
    }
    if (!in_place) {
      fs::rename(entry.path(), place);
      continue;
    }
    std::fstream into(place, std::ios::in | std::ios::out | std::ios::binary);
    into << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    fs::remove(entry.path());
  }
}

const std::map<std::string, void (*)()>& deeds() {
  static const std::map<std::string, void (*)()> all = {
    {"nothing", [] {}},
    {"round_up", [] { fesetround(FE_UPWARD); }},
#if defined(__x86_64__)
    {"flush_to_zero", flush_to_zero},
    {"x87_single", x87_single},
#endif
    {"trap_division", [] { feenableexcept(FE_DIVBYZERO); }},
    {"round_up_in_task", round_up_in_task},
    {"change_folder", [] { static_cast<void>(chdir("/")); }},
    {"change_locale", [] { setlocale(LC_ALL, "C.UTF-8"); }},
    {"change_thread_locale", [] { uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", nullptr)); }},
    {"change_umask", [] { umask(0777); }},
    {"take_signal", [] { signal(SIGINT, SIG_IGN); }},
    {"block_signal",
     [] {
       sigset_t set;
       sigemptyset(&set);
       sigaddset(&set, SIGTERM);
       pthread_sigmask(SIG_BLOCK, &set, nullptr);
     }},
    {"print", print},
    {"exit", [] { exit(0); }},
    {"_exit", [] { _exit(0); }},
    {"_Exit", [] { _Exit(0); }},
    {"quick_exit", [] { quick_exit(0); }},
    {"exit_on_thread", exit_on_thread},
    {"abort", [] { abort(); }},
    {"write_to_null", write_to_null},
    {"overflow_stack", overflow_stack},
    {"execute_nonsense", execute_nonsense},
    {"throw_over_border", throw_over_border},
    {"starve_at_border", starve_at_border},
    {"crash_in_task", crash_in_task},
    {"hang", hang},
    {"tell_variables", tell_variables},
    {"ask_for_long", [] { for_three_seconds(kit::check_cancelled); }},
    {"log_for_long", [] { for_three_seconds(log_a_line); }},
    {"report_for_long", [] { for_three_seconds([] { kit::report_progress("work", 1, 2); }); }},
    {"count_for_long", [] { for_three_seconds([] { sink->number("steps", 1); }); }},
    {"log_on_thread", log_on_thread},
    {"ask_in_task", ask_in_task},
    {"ask_for_ever", [] { for_ever(kit::check_cancelled); }},
    {"log_for_ever", [] { for_ever(log_a_line); }},
    {"write_texts", write_texts},
    {"write_texts_for_ever", write_texts_for_ever},
    {"ignore_refusal", ignore_refusal},
    {"make_tensors", make_tensors},
    {"replace_files", [] { bring_new_files(false); }},
    {"overwrite_files", [] { bring_new_files(true); }},
  };
  return all;
}

class Misbehaving final : public kit::Quantizer {
 public:
  struct Params {
    std::string deed = "nothing";
    static void describe(kit::Fields<Params>& f) { f.add("deed", &Params::deed, "what it does"); }
  };
  explicit Misbehaving(const Params& params) : deed_(deeds().at(params.deed)) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>(deed_);
  }

 private:
  class Group final : public kit::QuantizerGroup {
   public:
    explicit Group(void (*deed)()) : deed_(deed) {}
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& to) override {
      kit::from_doubles(kit::to_doubles(linear.weight, "weight"), linear.dequantized,
                        "dequantized");
      to.number("bits_per_weight", 32);
      sink = &to;
      deed_();
    }

   private:
    void (*deed_)();
  };
  void (*deed_)();
};

}  // namespace

QUENCH_MODULE("misbehaving", "0.1.0",
              kit::quantizer<Misbehaving>({.id = "misbehaving",
                                           .version = "0.1.0",
                                           .summary = "Does what a plugin must not do."}))
