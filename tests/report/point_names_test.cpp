#include "report/point_names.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace quench::test {

namespace {

using nlohmann::json;

std::vector<std::string> names_of(const std::vector<json>& points) {
  const auto names = point_names({points.begin(), points.end()});
  std::vector<std::string> out;
  for (const json& point : points) {
    out.push_back(names.at(point));
  }
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("point names: what all points have is not said", "[report]") {
  CHECK(names_of({{{"train.lr", {{"peak", 0.1}, {"warmup", 50}}}},
                  {{"train.lr", {{"peak", 0.2}, {"warmup", 50}}}}}) ==
        Names{"peak 0.1", "peak 0.2"});
  CHECK(names_of({{{"train.lr.peak", 0.1}}}) == Names{""});
}

TEST_CASE("point names: a plugin's name stands for what it is given", "[report]") {
  CHECK(names_of({{{"train.optimizer", {{"adamw", {{"weight_decay", 0.1}}}}}},
                  {{"train.optimizer", {{"muon", {{"weight_decay", 0.1}}}}}}}) ==
        Names{"adamw", "muon"});
  // Of two with one plugin, what they differ in as well.
  CHECK(
      names_of({{{"train.optimizer", {{"adamw", {{"weight_decay", 0.1}, {"betas", {0.9, 0.95}}}}}}},
                {{"train.optimizer", {{"adamw", {{"weight_decay", 1}, {"betas", {0.9, 0.95}}}}}}},
                {{"train.optimizer", {{"muon", json::object()}}}}}) ==
      Names{"adamw, weight_decay 0.1", "adamw, weight_decay 1", "muon"});
}

TEST_CASE("point names: a key that some points do not give is said of those that do", "[report]") {
  CHECK(
      names_of({{{"train.lr", {{"schedule", "cosine"}}}},
                {{"train.lr", {{"schedule", "wsd"}, {"decay_steps", 9}}}},
                {{"train.lr", {{"schedule", "wsd"}, {"decay_steps", 9}, {"decay", "1-sqrt"}}}}}) ==
      Names{"schedule cosine", "decay_steps 9, schedule wsd",
            "decay 1-sqrt, decay_steps 9, schedule wsd"});
}

TEST_CASE("point names: values that go by one word are told apart by their paths", "[report]") {
  CHECK(names_of({{{"a.peak", 1}}, {{"b.peak", 1}}}) == Names{"a.peak 1", "b.peak 1"});
}

TEST_CASE("point names: without a sweep there are jobs", "[report]") {
  CHECK(names_of({3, 4}) == Names{"job 3", "job 4"});
}

}  // namespace quench::test
