// Exports lines of values as runs of an MLflow server, by its REST interface 2.0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/export/http.hpp"
#include "report/export/tracked_lines.hpp"

namespace quench {

// How many lines were new to the server or had changed.
struct MlflowOutcome {
  size_t made = 0;
  size_t replaced = 0;
  size_t unchanged = 0;
};

// Posts a JSON body to a path below the server: http_post_json, or a test double.
using HttpPost = std::function<HttpReply(const std::string& url, const std::string& body)>;

// Creates the experiment `experiment` if it does not exist, and in it one run per line with its
// parameters and metrics. Tags identify a run: `quench.line`, the name of the line, and
// `quench.content`, a hash of everything sent. So a second export of the same values sends nothing,
// and an export with more values replaces the runs that changed. Throws Error: FAILED_PRECONDITION
// with the server's message.
MlflowOutcome export_to_mlflow(const std::string& server, const std::string& experiment,
                               const std::vector<TrackedLine>& lines,
                               const HttpPost& post = http_post_json);

}  // namespace quench
