// What is wrong with an experiment, collected so that all of it is reported at once.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

// Where the manifest describes a corpus or a calibration, or, if it does not, where it is used.
template <typename Described>
const std::string& place_of(const Described& described, const std::string& used) {
  return described.where.empty() ? used : described.where;
}

class Checks {
 public:
  // Runs `body`; keeps errors of the user's input and lets all others pass, but for those of a
  // plugin itself, such as the end of its process: what needs it reports them, and nothing else
  // has to wait for it.
  template <typename Body>
  void attempt(const std::string& where, Body body) {
    stop_if_asked();
    try {
      body();
    } catch (const Error& error) {
      if (error.code() == QUENCH_INTERNAL) {
        return;
      }
      if (error.code() != QUENCH_INVALID_ARGUMENT && error.code() != QUENCH_NOT_FOUND) {
        throw;
      }
      add(where, error.what());
    }
  }

  void add(const std::string& where, const std::string& fault) {
    const std::string message = where.empty() ? fault : where + ": " + fault;
    if (std::find(messages_.begin(), messages_.end(), message) == messages_.end()) {
      messages_.push_back(message);
    }
  }

  // Runs `body` and throws errors of these codes; all others are reported by the cells.
  template <typename Body>
  static void left_to_cells(std::initializer_list<quench_status> thrown, Body body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() == QUENCH_CANCELLED ||
          std::find(thrown.begin(), thrown.end(), error.code()) != thrown.end()) {
        throw;
      }
    }
  }

  size_t count() const { return messages_.size(); }

  void throw_if_any() const {
    if (!messages_.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages_, "\n"));
    }
  }

 private:
  std::vector<std::string> messages_;
};

}  // namespace quench
