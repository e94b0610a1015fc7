// The main of every test binary. A case that checks nothing fails, and so does a name that no case
// has; what is printed is bounded; ctest sees kSkipped where all that ran was skipped.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/support/skip.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kSkipped = 77;  // add_test_suite.cmake tells ctest
constexpr int kEnoughFailures = 20;
constexpr size_t kShown = 4000;  // bytes of an expression or a message

size_t cases_run = 0;
size_t cases_without_assertion = 0;

std::string cut(const std::string& text) {
  return text.size() <= kShown
             ? text
             : text.substr(0, kShown) + "... (" + std::to_string(text.size()) + " bytes in all)";
}

// The console's reporter breaks lines in quadratic time: a failed comparison of two large vectors
// keeps it busy for hours.
class BoundedReporter : public Catch::ConsoleReporter {
 public:
  using Catch::ConsoleReporter::ConsoleReporter;

  static std::string getDescription() { return "the console's, with long values cut"; }

  bool assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& whole = stats.assertionResult;
    if (whole.isOk()) {
      return Catch::ConsoleReporter::assertionEnded(stats);
    }
    Catch::AssertionResultData data(whole.getResultType(), Catch::LazyExpression(false));
    data.reconstructedExpression = cut(whole.getExpandedExpression());
    std::vector<Catch::MessageInfo> messages = stats.infoMessages;  // the result's own among them
    for (Catch::MessageInfo& message : messages) {
      message.message = cut(message.message);
    }
    return Catch::ConsoleReporter::assertionEnded(
        {Catch::AssertionResult(whole.m_info, data), messages, stats.totals});
  }
};

struct CaseCounter : Catch::TestEventListenerBase {
  using Catch::TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++cases_run;
    if (stats.totals.assertions.total() == 0) {
      ++cases_without_assertion;
      std::fprintf(stderr, "%s: no assertion was made\n", stats.testInfo.name.c_str());
    }
  }
};

CATCH_REGISTER_REPORTER("bounded", BoundedReporter)
CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  Catch::ConfigData& config = session.configData();
  config.warnings = Catch::WarnAbout::NoTests;
  config.abortAfter = kEnoughFailures;
  config.reporterName = "bounded";
  if (session.applyCommandLine(argc, argv) != 0) {
    return kFailed;
  }
  const int result = session.run();
  if (config.listTests || config.listTags || config.listReporters || config.listTestNamesOnly) {
    return result;  // how many there are, which catch_discover_tests reads
  }
  if (result != 0 || cases_without_assertion > 0) {
    return kFailed;
  }
  const size_t skipped = quench::test::skipped_cases();
  if (cases_run > 1 && skipped > 0) {
    std::fprintf(stderr, "%zu of %zu test cases were skipped\n", skipped, cases_run);
  }
  return skipped > 0 && skipped == cases_run ? kSkipped : 0;
}
