#include "report/export/mlflow.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "tests/report/export/tracked_records.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

// What the interface keeps of runs, in memory.
class FakeServer {
 public:
  HttpReply operator()(const std::string& url, const std::string& body) {
    const std::string path = url.substr(url.find("/mlflow/") + 8);
    calls.push_back(path);
    const json ask = json::parse(body);
    if (path == "experiments/search") {
      return ok(experiment ? json{{"experiments", {{{"experiment_id", "7"}, {"name", "run"}}}}}
                           : json::object());
    }
    if (path == "experiments/create") {
      experiment = true;
      return ok({{"experiment_id", "7"}});
    }
    if (path == "runs/search") {
      json found = json::array();
      for (const auto& [id, tags] : runs) {
        found.push_back({{"info", {{"run_id", id}}}, {"data", {{"tags", tags}}}});
      }
      return ok({{"runs", found}});
    }
    if (path == "runs/create") {
      const std::string id = "r" + std::to_string(++made);
      runs[id] = ask.at("tags");
      return ok({{"run", {{"info", {{"run_id", id}}}}}});
    }
    if (path == "runs/set-tag") {
      runs[ask.at("run_id")].push_back({{"key", ask.at("key")}, {"value", ask.at("value")}});
    } else if (path == "runs/delete") {
      runs.erase(ask.at("run_id").get<std::string>());
    } else if (path == "runs/log-batch" && ask.contains("metrics")) {
      metrics += ask.at("metrics").size();
      names.push_back(ask.at("metrics").at(0).at("key"));
    }
    return ok(json::object());
  }

  std::vector<std::string> calls;
  std::vector<std::string> names;
  std::map<std::string, json> runs;
  size_t metrics = 0;

 private:
  static HttpReply ok(const json& body) { return {200, body.dump()}; }
  bool experiment = false;
  int made = 0;
};

// A server of the real thing in a folder of its own, as long as this object lives. Skips the
// calling test where there is no `mlflow` on the path.
class RealServer {
 public:
  RealServer() {
    skip_unless(has_program("mlflow"), "there is no mlflow on the path");
    const int port = 20000 + getpid() % 20000;
    Command command;
    command.words = {"mlflow",        "server", "--host",
                     "127.0.0.1",     "--port", std::to_string(port),
                     "--workers",     "1",      "--backend-store-uri",
                     "sqlite:///m.db"};
    command.folder = folder_.path();
    command.streams = {ChildStream::file(0, "/dev/null", O_RDONLY),
                       ChildStream::file(1, folder_ / "log", O_WRONLY | O_CREAT),
                       ChildStream::copy(2, 1)};
    command.group = ChildGroup::kOwn;  // it starts workers
    server_ = ChildProcess::start(command);
    url_ = "http://127.0.0.1:" + std::to_string(port);
    for (int tries = 0; tries < 240 && !server_->has_ended(); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      if (code_of([&] { http_post_json(url_ + "/health", "{}"); }) == QUENCH_OK) {
        return;
      }
    }
    FAIL("the mlflow server does not answer: " << read_file(folder_ / "log"));
  }

  const std::string& url() const { return url_; }

 private:
  TemporaryDir folder_;
  std::string url_;
  std::optional<ChildProcess> server_;
};

}  // namespace

TEST_CASE("mlflow: a real server has one run for each line, however often it is sent",
          "[core][export]") {
  const RealServer server;
  const std::vector<TrackedLine> lines = tracked_lines(tracked_records());
  CHECK(export_to_mlflow(server.url(), "it's a run", lines).made == 2);
  CHECK(export_to_mlflow(server.url(), "it's a run", lines).unchanged == 2);
  std::vector<Record> more = tracked_records();
  more.push_back(tracked_record(300, false, "validation_loss", 2.5));
  const MlflowOutcome again = export_to_mlflow(server.url(), "it's a run", tracked_lines(more));
  CHECK(again.replaced == 1);
  CHECK(again.unchanged == 1);
  const json found = json::parse(
      http_post_json(server.url() + "/api/2.0/mlflow/runs/search", R"({"experiment_ids":["1"]})")
          .body);
  REQUIRE(found.at("runs").size() == 2);
  for (const json& run : found.at("runs")) {
    const bool floating = run.at("info").at("run_name") == "main/float";
    const json& metrics = run.at("data").at("metrics");
    CHECK(metrics.size() == (floating ? 1 : 2));
    CHECK(metrics.at(0).at("step") == (floating ? 300 : 200));
  }
}

TEST_CASE("mlflow: a second export of the same sends nothing, one of more replaces what changed",
          "[core][export]") {
  FakeServer server;
  const HttpPost post = [&](const std::string& url, const std::string& body) {
    return server(url, body);
  };
  const auto send = [&](const std::vector<Record>& records) {
    return export_to_mlflow("http://server/", "run", tracked_lines(records), post);
  };
  std::vector<Record> records = tracked_records();
  CHECK(send(records).made == 2);
  CHECK(server.metrics == 6);
  CHECK(server.names.front() == "validation_loss block_128");
  const MlflowOutcome again = send(records);
  CHECK(again.unchanged == 2);
  CHECK(server.metrics == 6);
  records.push_back(tracked_record(300, false, "validation_loss", 2.5));
  const MlflowOutcome more = send(records);
  CHECK(more.replaced == 1);
  CHECK(more.unchanged == 1);
  CHECK(server.runs.size() == 2);
}

TEST_CASE("mlflow: what a server says against it is told", "[core][export]") {
  const auto fault = [](const HttpReply& reply) {
    return message_of([&] {
      export_to_mlflow("http://s", "run", tracked_lines(tracked_records()),
                       [&](const std::string&, const std::string&) { return reply; });
    });
  };
  CHECK(fault({500, R"({"error_code":"INTERNAL_ERROR","message":"no disk"})"}) ==
        "http://s/api/2.0/mlflow/experiments/search: status 500: no disk");
  CHECK(fault({200, "<html>"}) ==
        "http://s/api/2.0/mlflow/experiments/search: status 200, the reply is not JSON: <html>");
  CHECK(fault({200, "{}"}) ==
        "http://s: the reply has no /experiment_id: is this an MLflow server?");
}

TEST_CASE("mlflow: no server is an error that names it", "[core][export]") {
  const std::string message = message_of(
      [] { export_to_mlflow("http://127.0.0.1:9", "run", tracked_lines(tracked_records())); });
  CHECK(message.find("http://127.0.0.1:9/api/2.0/mlflow/experiments/search: ") == 0);
}

}  // namespace quench::test
