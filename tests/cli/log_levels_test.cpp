#include "cli/log_levels.hpp"

#include <catch2/catch.hpp>

#include "quench/abi/host.h"

using quench::LogLevels;

TEST_CASE("log levels: one for all, others by plugin", "[cli]") {
  const LogLevels levels = LogLevels::parse("warning,gptq=debug,their.awq=off", QUENCH_LOG_INFO);
  CHECK(levels.show(QUENCH_LOG_WARNING, ""));
  CHECK_FALSE(levels.show(QUENCH_LOG_INFO, ""));
  CHECK(levels.show(QUENCH_LOG_DEBUG, "quench.gptq"));
  CHECK(levels.show(QUENCH_LOG_DEBUG, "gptq"));
  CHECK_FALSE(levels.show(QUENCH_LOG_ERROR, "their.awq"));
  CHECK(levels.show(QUENCH_LOG_ERROR, "quench.awq"));
  CHECK_FALSE(levels.show(QUENCH_LOG_INFO, "quench.awq"));
}

TEST_CASE("log levels: without a word the usual ones", "[cli]") {
  CHECK(LogLevels::parse("", QUENCH_LOG_INFO).show(QUENCH_LOG_INFO, "quench.gptq"));
  CHECK_FALSE(LogLevels::parse("", QUENCH_LOG_INFO).show(QUENCH_LOG_DEBUG, ""));
  CHECK_FALSE(LogLevels::parse("gptq=error", QUENCH_LOG_INFO).show(QUENCH_LOG_DEBUG, ""));
}

TEST_CASE("log levels: a word that is none says what there is", "[cli]") {
  try {
    LogLevels::parse("info,gptq=loud", QUENCH_LOG_INFO);
    FAIL("taken");
  } catch (const std::exception& error) {
    CHECK(std::string(error.what()) ==
          "--log-level: got loud, wanted debug, info, warning, error or off, or PLUGIN=LEVEL");
  }
}
