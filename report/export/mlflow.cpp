#include "report/export/mlflow.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

using nlohmann::json;

// Limits of the REST interface.
constexpr size_t kMaxMetrics = 1000;
constexpr size_t kMaxParameters = 100;
constexpr size_t kMaxText = 500;

// Names may contain letters, digits and "_-. /"; other characters become underscores.
std::string name_for_mlflow(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) {
        return std::isalnum(c) == 0 &&
               std::string("_-. /").find(static_cast<char>(c)) == std::string::npos;
      },
      '_');
  return name.substr(0, 250);
}

// Flattens nested members to names such as "quantizer.params.bits".
void flatten(const json& value, const std::string& name, json& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(member, name.empty() ? key : name + "." + key, out);
    }
  } else if (!value.is_null()) {
    out.push_back({{"key", name_for_mlflow(name)},
                   {"value", printable(value.is_string() ? value.get<std::string>() : value.dump(),
                                       kMaxText)}});
  }
}

class Server {
 public:
  Server(std::string url, const HttpPost& post) : url_(std::move(url)), post_(post) {
    while (url_.ends_with('/')) {
      url_.pop_back();
    }
  }

  // Returns the reply; nothing if the server does not know the object.
  std::optional<json> call(const std::string& path, const json& body) const {
    const std::string url = url_ + "/api/2.0/mlflow/" + path;
    const HttpReply reply = post_(url, body.dump());
    json parsed;
    try {
      parsed = parse_json(reply.body, url);
    } catch (const Error&) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: status {}, the reply is not JSON: {}",
           printable(url, 400), reply.status, printable(reply.body, 200));
    }
    if (reply.status == 200) {
      return parsed;
    }
    const std::string code = parsed.is_object() ? parsed.value("error_code", "") : "";
    if (code == "RESOURCE_DOES_NOT_EXIST") {
      return std::nullopt;
    }
    fail(QUENCH_FAILED_PRECONDITION, "{}: status {}: {}", printable(url, 400), reply.status,
         printable(parsed.is_object() ? parsed.value("message", reply.body) : reply.body, 400));
  }
  json require(const std::string& path, const json& body) const {
    if (std::optional<json> reply = call(path, body)) {
      return std::move(*reply);
    }
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}: the server does not know it", printable(url_, 400),
         path);
  }
  // A text at a path of the reply. A server that leaves it out is not an MLflow server.
  std::string text(const json& reply, const json::json_pointer& path) const {
    if (!reply.contains(path) || !reply.at(path).is_string()) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: the reply has no {}: is this an MLflow server?",
           printable(url_, 400), path.to_string());
    }
    return reply.at(path).get<std::string>();
  }

 private:
  std::string url_;
  const HttpPost& post_;
};

// Returns the id of the experiment with this name, and creates it if there is none. Looking up by
// name would be a GET, and filters cannot quote a quote, so this lists all names.
std::string experiment_id(const Server& server, const std::string& name) {
  std::string page;
  do {
    json ask = {{"max_results", 1000}};
    if (!page.empty()) {
      ask["page_token"] = page;
    }
    const json found = server.require("experiments/search", ask);
    for (const json& experiment : found.value("experiments", json::array())) {
      if (experiment.value("name", "") == name) {
        return server.text(experiment, json::json_pointer("/experiment_id"));
      }
    }
    page = found.value("next_page_token", "");
  } while (!page.empty());
  return server.text(server.require("experiments/create", {{"name", name}}),
                     json::json_pointer("/experiment_id"));
}

std::string content_of(const TrackedLine& line) {
  json points = json::array();
  for (const TrackedPoint& point : line.points) {
    points.push_back({point.tag, point.step, point.value});
  }
  return sha256_hex(canonical_json({{"about", line.about}, {"points", points}}));
}

// What the server has of a line: the id of its run, and the hash of the data that made it.
struct Known {
  std::string id;
  std::string content;
};

std::optional<Known> known_run(const Server& server, const std::string& experiment,
                               const std::string& name) {
  std::string page;
  do {
    json ask = {{"experiment_ids", {experiment}}, {"max_results", 1000}};
    if (!page.empty()) {
      ask["page_token"] = page;
    }
    const json found = server.require("runs/search", ask);
    for (const json& run : found.value("runs", json::array())) {
      Known known;
      std::string line;
      for (const json& tag : run.value(json::json_pointer("/data/tags"), json::array())) {
        const std::string key = tag.value("key", "");
        if (key == "quench.line") {
          line = tag.value("value", "");
        } else if (key == "quench.content") {
          known.content = tag.value("value", "");
        }
      }
      if (line == name) {
        known.id = server.text(run, json::json_pointer("/info/run_id"));
        return known;
      }
    }
    page = found.value("next_page_token", "");
  } while (!page.empty());
  return std::nullopt;
}

void log_points(const Server& server, const std::string& run, const TrackedLine& line) {
  json metrics = json::array();
  const auto send = [&] {
    if (!metrics.empty()) {
      server.require("runs/log-batch", {{"run_id", run}, {"metrics", metrics}});
    }
    metrics = json::array();
  };
  for (const TrackedPoint& point : line.points) {
    if (!std::isfinite(point.value)) {
      continue;  // JSON cannot express the value
    }
    metrics.push_back({{"key", name_for_mlflow(point.tag)},
                       {"value", point.value},
                       {"timestamp", 0},
                       {"step", point.step}});
    if (metrics.size() == kMaxMetrics) {
      send();
    }
  }
  send();
}

void make_run(const Server& server, const std::string& experiment, const TrackedLine& line,
              const std::string& content) {
  const json made =
      server.require("runs/create", {{"experiment_id", experiment},
                                     {"run_name", line.name},
                                     {"start_time", 0},
                                     {"tags", {{{"key", "quench.line"}, {"value", line.name}}}}});
  const std::string run = server.text(made, json::json_pointer("/run/info/run_id"));
  json parameters = json::array();
  flatten(line.about, "", parameters);
  for (size_t first = 0; first < parameters.size(); first += kMaxParameters) {
    const size_t last = std::min(first + kMaxParameters, parameters.size());
    const json some(parameters.begin() + static_cast<ptrdiff_t>(first),
                    parameters.begin() + static_cast<ptrdiff_t>(last));
    server.require("runs/log-batch", {{"run_id", run}, {"params", some}});
  }
  log_points(server, run, line);
  // The tag comes last: an interrupted run has no hash and is created again.
  server.require("runs/set-tag", {{"run_id", run}, {"key", "quench.content"}, {"value", content}});
  server.require("runs/update", {{"run_id", run}, {"status", "FINISHED"}, {"end_time", 0}});
}

}  // namespace

MlflowOutcome export_to_mlflow(const std::string& server_url, const std::string& experiment,
                               const std::vector<TrackedLine>& lines, const HttpPost& post) {
  const Server server(server_url, post);
  const std::string id = experiment_id(server, experiment);
  MlflowOutcome out;
  for (const TrackedLine& line : lines) {
    const std::string content = content_of(line);
    const std::optional<Known> known = known_run(server, id, line.name);
    if (known && known->content == content) {
      ++out.unchanged;
      continue;
    }
    if (known) {
      server.require("runs/delete", {{"run_id", known->id}});
      ++out.replaced;
    } else {
      ++out.made;
    }
    make_run(server, id, line, content);
  }
  return out;
}

}  // namespace quench
