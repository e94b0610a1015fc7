// Text to ids on one thread, in MB of UTF-8 a second. bench/peers/tokenizers_rate.py prints the
// ratio to the Python packages `tokenizers` and, for a tokenizer.model, `sentencepiece`.
//
//   text_tokenizer [TOKENIZER.{json,model} TEXT [rounds = 3]]
//
// The file is one document. Without arguments: the reference tokenizer and text, where they are.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "bench/support/timing.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#ifdef QUENCH_BENCH_FIXTURES
#include "tests/support/fixtures.hpp"
#endif

namespace {

namespace fs = std::filesystem;

struct Subject {
  fs::path tokenizer;
  fs::path text;
};

std::optional<Subject> reference() {
#ifdef QUENCH_BENCH_FIXTURES
  const fs::path folder = quench::test::public_data_root();
  const Subject there{folder / "tokenizers/gpt-neox-20b.json", folder / "text/tinyshakespeare.txt"};
  if (fs::exists(there.tokenizer) && fs::exists(there.text)) {
    return there;
  }
#endif
  return std::nullopt;
}

quench::Catalog built_catalog() {
  quench::CatalogOptions options;
  const fs::path build = QUENCH_BINARY_DIR;
  options.search_path = {build / "lib/quench/tokenizers"};
  options.self = build / "bin/quench";
  return quench::Catalog(std::move(options));
}

void measure(const Subject& subject, int rounds) {
  quench::Catalog catalog = built_catalog();
  std::ifstream file(subject.text, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const double start = quench::bench::processor_clock();
  auto tokenizer = quench::Tokenizer::open(catalog, subject.tokenizer);
  const double load = quench::bench::processor_clock() - start;
  quench::bench::Samples seconds;
  double first = 0;
  size_t ids = 0;
  for (int round = 0; round < rounds; ++round) {
    const double took = quench::bench::processor_seconds(
        [&] { ids = tokenizer.encode(text, /*add_special_tokens=*/false).size(); });
    first = round == 0 ? took : first;
    seconds.add(took);
  }
  const double megabytes = 1e-6 * static_cast<double>(text.size());
  fmt::print("{} bytes, {} ids; load {:.3f} s cpu; first {:.2f} MB/s, best of {} {:.2f} MB/s\n",
             text.size(), ids, load, megabytes / first, rounds, megabytes / seconds.least());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::optional<Subject> subject = argc > 2 ? Subject{argv[1], argv[2]} : reference();
    if (!subject) {
      fmt::print("usage: text_tokenizer TOKENIZER.{{json,model}} TEXT [ROUNDS]\n");
      return 0;
    }
    measure(*subject, argc > 3 ? std::atoi(argv[3]) : 3);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
