// A run whose branch, method, checkpoint and error are called what breaks careless writers.
#pragma once

#include "report/report.hpp"

namespace quench::test {

inline const std::string kHostile =
    "</script><img src=x onerror=alert(1)>\"quoted\" 'single' `date` $(date) %{y} <b>&amp; Ünïcode";

Report hostile_report();

}  // namespace quench::test
