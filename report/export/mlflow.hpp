// Lines of values as runs of an MLflow server, by its REST interface 2.0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/export/http.hpp"
#include "report/export/tracked_lines.hpp"

namespace quench {

// How many lines the server had not as they are now.
struct MlflowOutcome {
  size_t made = 0;
  size_t replaced = 0;
  size_t unchanged = 0;
};

// POST of a JSON body to a path below the server; http_post_json, or a double of it.
using HttpPost = std::function<HttpReply(const std::string& url, const std::string& body)>;

// Makes the experiment called `experiment` where it is not there, and in it one run for each line,
// with its parameters and metrics. A run is known again by its tags: `quench.line`, the line's
// name, and `quench.content`, a hash of all that is sent. So a second export of the same sends
// nothing, and one of more values replaces the runs that changed. Throws Error: FAILED_PRECONDITION
// with what the server says.
MlflowOutcome export_to_mlflow(const std::string& server, const std::string& experiment,
                               const std::vector<TrackedLine>& lines,
                               const HttpPost& post = http_post_json);

}  // namespace quench
