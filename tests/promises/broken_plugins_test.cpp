// Each fault of a plugin is found by `quench plugins check`, by a line that names it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/plugin/sandbox/sandbox.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

struct Fault {
  const char* name;   // what QUENCH_BROKEN is set to
  const char* found;  // in the line that begins with "failed"
};

// The lines of `text` that begin with "failed", "" where there is none.
std::string failed_lines(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out += line.starts_with("failed") ? line + "\n" : "";
  }
  return out;
}

struct Checked {
  int code;
  std::string text;
};

Checked check(const std::string& library, const std::string& fault, Environment more = {},
              const std::string& checkpoint = "") {
  static const TemporaryDir home;
  more["QUENCH_HOME"] = home.path().string();
  more["QUENCH_BROKEN"] = fault;
  std::vector<std::string> command = {
      QUENCH_PROGRAM,     "plugins", "check",
      "--worker-silence", "2",       std::string(BROKEN_FOLDER) + "/" + library};
  if (!checkpoint.empty()) {
    command.insert(command.end(), {"--checkpoint", checkpoint});
  }
  const Ended ended = run_program(command, more, home.path());
  return {ended.code, ended.out + ended.err};
}

void check_faults(const std::string& library, const std::vector<Fault>& faults,
                  const std::string& checkpoint = "") {
  for (const Fault& fault : faults) {
    const Checked checked = check(library, fault.name, {}, checkpoint);
    INFO(fault.name << "\n" << checked.text);
    CHECK(checked.code == 1);
    CHECK_THAT(failed_lines(checked.text), Catch::Contains(fault.found));
  }
}

void check_sound(const std::string& library, const std::string& checkpoint = "") {
  const Checked checked = check(library, "nothing", {}, checkpoint);
  INFO(checked.text);
  CHECK(checked.code == 0);
  CHECK(failed_lines(checked.text) == "");
}

}  // namespace

TEST_CASE("plugins check: a sound quantizer keeps all promises", "[promises]") {
  check_sound("broken_quantizer.so");
}

TEST_CASE("plugins check: a quantizer that ends or changes its process is found", "[promises]") {
  constexpr const char* kPlain = "a linear is quantized, and what it is given stays as it was";
  check_faults("broken_quantizer.so",
               {{"ctor_exit", "while it was loaded, exited with code 0"},
                {"ctor_segv", "while it was loaded, was ended by signal 11"},
                {"create_segv", "create: got the error \"its process was ended by signal 11"},
                {"create_throw", "thrown in create"},
                {"exit0", "quantize: got the error \"its process exited with code 0"},
                {"exit_now", "quantize: got the error \"its process exited with code 0"},
                {"segv", "quantize: got the error \"its process was ended by signal 11"},
                {"abort", "quantize: got the error \"its process was ended by signal 6"},
                {"stack", "quantize: got the error \"its process was ended by signal 11"},
                {"out_of_bounds", "quantize: got the error \"its process was ended by signal 11"},
                {"observe_hang", "gave no sign for 2 s"},
                {"rounding", "the rounding mode"},
                {"locale", "locale"},
                {"chdir", "folder"},
                {"sigaction", "the handler of SIGTERM is now another one"},
                {"closefd", "its process exited with code 4"},
                {"throws", "thrown in quantize"},
                {"throws_int", kPlain},
                {"observe_throw", "thrown in observe"},
                {"huge_vector", "std::bad_alloc"}});
}

TEST_CASE("plugins check: a quantizer that breaks a promise is found", "[promises]") {
  check_faults(
      "broken_quantizer.so",
      {{"begin_null",
        "begin: got the error \"a message between processes: a function that succeeded has made no "
        "object"},
       {"write_input", "memory that it may not write to"},
       {"observe_write", "memory that it may not write to"},
       {"needs_unknown", "bits 0x40000000, of which this host knows none"},
       {"needs_two", "at most one of"},
       {"untouched", "dequantized [0, 0] is not written"},
       {"half_written", "dequantized [1, 0] is not written"},
       {"nan", "dequantized [0, 5] is nan"},
       {"inf", "dequantized [0, 5] is inf"},
       {"random", "the same input gives the same result"},
       {"process", "in another process"},
       {"threads", "on 2 threads"},
       {"order", "the second time"},
       {"zero_moves", "rows of zeros stay zero"},
       {"codes", "its code stands for"},
       {"shape", "codes have the shape [5, 256], wanted [out, in] = [6, 256]"},
       {"zeros_shape", "zeros have the shape [7, 1]"},
       {"no_bits", "bits_per_weight is not given"},
       {"bits_nan", "bits_per_weight is nan, wanted above 0 and at most 64"},
       {"bits_huge", "bits_per_weight is 1000000000, wanted"},
       {"bits_lie", "bits_per_weight is 0.1, and its codes alone cannot be stored in less than"},
       {"huge_sink", "shape"},
       {"numbers_without_end", "more than 1000 numbers"},
       {"negative_sink", "shape"},
       {"overflow_sink", "shape"},
       {"weights_unchecked", "weights that are not finite are refused"},
       {"unnamed", "wanted block.0.some_linear in it"},
       {"rows_unchecked", "rows that are not finite are refused"},
       {"gram_garbage", "the Gram matrix is that of the rows"},
       {"gram_rows", "rows is 1, wanted 96"},
       {"leak", "its process grows by"},
       {"thread", "threads behind"},
       {"stdout", "prints \"a line\""}});
}

TEST_CASE("plugins check: a family that breaks a promise is found", "[promises]") {
  const TemporaryDir checkpoint;
  write_template_checkpoint(checkpoint.path());
  check_sound("broken_model.so", checkpoint.path().string());
  check_faults("broken_model.so",
               {{"thread_at_load", "1 threads run once it is loaded, wanted none of its own"},
                {"points", "probe: gives 101 points, wanted 0..100"},
                {"greedy", "probe: gives an empty config 50 points, wanted 0"},
                {"shy", "probe: gives its checkpoint's config 0 points"},
                {"nll", "token_nll is that of the logits"},
                {"threads", "threads and processes change nothing"},
                {"process", "threads and processes change nothing"},
                {"calls", "a later token, and other rows, do not matter"},
                {"weights", "every weight is that of the file"},
                {"set", "it is itself again after weights are restored"},
                {"ids", "ids outside the vocabulary are refused"},
                {"shapes", "shapes are said without weights, or refused: open: got status"}},
               checkpoint.path().string());
}

TEST_CASE("plugins check: no attack of a plugin comes to anything", "[promises]") {
  const SandboxAbilities offered = sandbox_abilities();
  skip_unless(offered.is_whole, "this kernel offers " + offered.text);
  const TemporaryDir prey;
  prey.write("secret", "42");
  const Checked checked = check("broken_quantizer.so", "attack",
                                {{"QUENCH_PREY", prey.path().string()}, {"HF_TOKEN", "hf_0"}});
  CHECK_THAT(failed_lines(checked.text), Catch::Contains("its attacks came to nothing of 35"));
  CHECK(read_file(prey / "secret") == "42");
}

TEST_CASE("plugins check: of any kind, what cannot be made and what leaves threads are found",
          "[promises]") {
  for (const char* kind : {"averaging", "format", "metric", "optimizer", "transform"}) {
    INFO(kind);
    check_faults(fmt::format("broken_{}.so", kind),
                 {{"thread_at_load", "1 threads run once it is loaded, wanted none of its own"},
                  {"uncreated", "got the error"},
                  {"unmade", "a function that succeeded has made no object"}});
  }
  check_faults("broken_corpus.so", {{"thread_at_load", "1 threads run once it is loaded"}});
  check_faults("broken_tokenizer.so", {{"thread_at_load", "1 threads run once it is loaded"}});
}

TEST_CASE("plugins check: other kinds that break a promise are found", "[promises]") {
  const std::map<std::string, std::vector<Fault>> faults = {
      {"broken_averaging.so",
       {{"drift", "of four that are"},
        {"chunks", "of four that are"},
        {"future", "select: chooses"}}},
      {"broken_corpus.so",
       {{"index", "index 7 comes behind 7"},
        {"calls", "another one when it is read again"},
        {"forms", "of text, ids and record"},
        {"fingerprint", "hexadecimal digits"}}},
      {"broken_format.so",
       {{"promised", "when it is read back"},
        {"greedy", "points, wanted 0"},
        {"shy", "gives what it wrote 0 points"},
        {"no_reason", "fits: refuses without a reason"}}},
      {"broken_metric.so",
       {{"empty", "gives no value"},
        {"nan", "extra is nan"},
        {"unit", "the unit ''"},
        {"calls", "the second time"},
        {"threads", "on 3 threads"}}},
      {"broken_optimizer.so",
       {{"still", "is the same after a step"},
        {"calls", "in a second instance"},
        {"threads", "on 3 threads"},
        {"always", "at a learning rate of 0"},
        {"forgets", "state"}}},
      {"broken_transform.so",
       {{"shifts", "the model's function stays the same: logit [0, 0] is"},
        {"infinite", "sets norm0.weight to inf"},
        {"early", "sets norm0.weight before it began a change"},
        {"unnamed", "changes \"something\", wanted a group's first linear"},
        {"calls", "the second time"},
        {"threads", "on 3 threads"},
        {"needs", "bits 0x100000, of which this host knows none"}}},
      {"broken_tokenizer.so", {{"greedy", "points, wanted at most 0"}}}};
  for (const auto& [library, each] : faults) {
    INFO(library);
    check_sound(library);
    check_faults(library, each);
  }
}

}  // namespace quench::test
