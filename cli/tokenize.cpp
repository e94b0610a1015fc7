// quench tokenize TOKENIZER < lines
#include <poll.h>
#include <unistd.h>
#include <ext/stdio_sync_filebuf.h>

#include <array>
#include <cerrno>
#include <istream>
#include <ostream>
#include <streambuf>
#include <system_error>

#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "cli/tokenize_lines.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// The standard library resumes a read that a signal interrupts, so a program that waits
// for a terminal or a pipe would not notice a stop request. Reading throws
// Error(CANCELLED) within a tenth of a second after that, Error(DATA_LOSS) if the device
// fails.
class InterruptibleInput final : public std::streambuf {
 public:
  explicit InterruptibleInput(int descriptor) : descriptor_(descriptor) {}

 private:
  int_type underflow() override;
  // Whether the next read would return at once: 1 or 0.
  std::streamsize showmanyc() override;

  int descriptor_;
  std::array<char, 1 << 16> buffer_{};
};

InterruptibleInput::int_type InterruptibleInput::underflow() {
  for (;;) {
    stop_if_asked();
    // Waits with a timeout, because a signal may arrive between the check above and the wait.
    constexpr int kMilliseconds = 100;
    pollfd waited{descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, kMilliseconds) <= 0) {
      continue;
    }
    const ssize_t got = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (got < 0) {
      fail(QUENCH_DATA_LOSS, "standard input: cannot be read: {}",
           std::generic_category().message(errno));
    }
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }
}

std::streamsize InterruptibleInput::showmanyc() {
  pollfd waited{descriptor_, POLLIN, 0};
  return ::poll(&waited, 1, 0) > 0 ? 1 : 0;
}

Tokenizer open_tokenizer(Context& context, const std::string& given) {
  Catalog& catalog = context.catalog();
  const std::string file = take_tokenizer(catalog, read_tokenizer_name(catalog, given));
  return file == "bytes" ? Tokenizer::bytes() : Tokenizer::open(catalog, file);
}

}  // namespace

void add_tokenize(Verb& verb, Context& context) {
  struct Options {
    std::string tokenizer;
    bool special = false;
  };
  auto options = std::make_shared<Options>();
  verb.examples({"printf '\"a text\"\\n' | quench tokenize model/tokenizer.json"});
  verb.option("tokenizer", options->tokenizer,
              "A file that a tokenizer plugin reads, a folder that has one, ID:FILE, or bytes")
      .required();
  verb.flag("--special", options->special, "Add the tokenizer's special tokens");
  add_plugin_options(verb, context);
  verb.does([&context, options] {
    Tokenizer tokenizer = open_tokenizer(context, options->tokenizer);
    InterruptibleInput input(STDIN_FILENO);
    std::istream lines(&input);
    lines.exceptions(std::ios::badbit);  // exceptions from reading pass through
    __gnu_cxx::stdio_sync_filebuf<char> ids(results());
    std::ostream out(&ids);
    return tokenize(tokenizer, lines, out, options->special);
  });
}

}  // namespace quench
