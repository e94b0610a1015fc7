// Errors that say which linear they are about.
#pragma once

#include <string>

#include "quench/kit/error.hpp"

namespace quench::quantizers {

// Runs `body`; its errors begin with the name of the linear, once. A request to stop is passed on
// as it is.
template <typename Body>
void name_errors(const std::string& linear, const Body& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    const std::string what = error.what();
    if (error.code() == QUENCH_CANCELLED || what.starts_with(linear)) {
      throw;
    }
    throw kit::Error(error.code(), linear + ": " + what);
  }
}

}  // namespace quench::quantizers
