#include "core/plugin/services/heard_warnings.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "core/plugin/services/host_services.hpp"
#include "tests/support/throws.hpp"

using quench::HeardWarnings;
using quench::HostServices;
using quench::test::message_of;
using Lines = std::vector<std::string>;

namespace {

// What reaches the log while it lives.
class Shown {
 public:
  Shown() {
    HostServices::instance().set_log_sink(
        [this](int, std::string_view, std::string_view line) { lines.emplace_back(line); });
  }
  ~Shown() { HostServices::instance().set_log_sink(nullptr); }
  Lines lines;
};

void warn(const std::string& line, std::string_view module = "test.heard") {
  HostServices::instance().log(QUENCH_LOG_WARNING, module, line);
}

}  // namespace

TEST_CASE("heard warnings: a plugin's are kept once and shown once, the host's are not heard",
          "[core][plugin]") {
  Shown shown;
  const HeardWarnings outer(HeardWarnings::Fate::kByInner);
  warn("of the outer");  // nothing is being opened
  {
    const HeardWarnings opening;
    warn("first");
    warn("first");
    warn("second");
    warn("of the host", "");
    HostServices::instance().log(QUENCH_LOG_INFO, "test.heard", "no warning");
    std::thread([] { warn("of another thread"); }).join();
    CHECK(opening.lines() == Lines{"first", "second"});
    CHECK_NOTHROW(opening.check());
  }
  {
    const HeardWarnings again;
    warn("second");
    CHECK(again.lines() == Lines{"second"});  // another checkpoint's record has it, too
  }
  CHECK(outer.lines() == Lines{"first", "second"});
  CHECK(shown.lines ==
        Lines{"of the outer", "first", "second", "of the host", "no warning", "of another thread"});
}

TEST_CASE("heard warnings: what is refused is not shown, and is the error", "[core][plugin]") {
  Shown shown;
  {
    const HeardWarnings drawn(HeardWarnings::Fate::kRefused);
    const HeardWarnings inside;
    warn("a key");
    warn("another");
    CHECK_NOTHROW(inside.check());
    CHECK(message_of([&] { drawn.check(); }) ==
          "a key; another; refused, as a new model is drawn from it");
  }
  {
    HeardWarnings::strict() = true;
    const HeardWarnings opening;
    CHECK_NOTHROW(opening.check());
    warn("a third");
    const std::string message = message_of([&] { opening.check(); });
    HeardWarnings::strict() = false;
    CHECK(message == "a third (--strict)");
  }
  CHECK(shown.lines.empty());
}

TEST_CASE("heard warnings: of very many the first are kept", "[core][plugin]") {
  const HeardWarnings opening;
  for (int i = 0; i < 1000; ++i) {
    warn("warning " + std::to_string(i));
  }
  CHECK(opening.lines().size() == 50);
  CHECK(opening.lines().back() == "warning 49");
}
