#include "run/cluster/task_states.hpp"

#include <catch2/catch.hpp>

using quench::parse_condor;
using quench::parse_sacct;
using quench::parse_squeue;
using quench::TaskStates;

TEST_CASE("task states: squeue's lines become tasks of this job alone", "[run][cluster]") {
  const TaskStates states = parse_squeue(
      "12|1|RUNNING|None\n12|2|PENDING|Resources\n12|3|COMPLETED|None\n12|5|NODE_FAIL|None\n"
      "12|6|REQUEUE_HOLD|job requeued in held state\n112|4|RUNNING|None\n12|N/A|RUNNING|None\n"
      "nonsense\n",
      "12");
  REQUIRE(states.size() == 5);
  CHECK(states.at(1).state == "running");
  CHECK(states.at(1).active);
  CHECK(states.at(1).reason == "");
  CHECK(states.at(2).state == "pending");
  CHECK(states.at(2).reason == "Resources");
  CHECK(states.at(2).active);
  CHECK(states.at(3).state == "completed");
  CHECK_FALSE(states.at(3).active);
  CHECK(states.at(5).state == "node fail");
  CHECK_FALSE(states.at(5).active);
  CHECK(states.at(6).reason == "job requeued in held state");
  CHECK(states.at(6).active);
}

TEST_CASE("task states: a state that nobody knows counts as active", "[run][cluster]") {
  CHECK(parse_squeue("12|1|SOMETHING_NEW|None\n", "12").at(1).active);
}

TEST_CASE("task states: sacct's ranges are tasks", "[run][cluster]") {
  const TaskStates states = parse_sacct(
      "12_1|COMPLETED\n12_2|CANCELLED by 1000\n12_[3,5-7%2]|PENDING\n12_[x-y]|PENDING\n"
      "13_1|FAILED\n12_8|OUT_OF_MEMORY\n",
      "12");
  REQUIRE(states.size() == 7);
  CHECK(states.at(1).state == "completed");
  CHECK(states.at(2).state == "cancelled");
  CHECK_FALSE(states.at(2).active);
  for (const uint64_t index : {3, 5, 6, 7}) {
    CHECK(states.at(index).state == "pending");
  }
  CHECK(states.at(8).state == "out of memory");
}

TEST_CASE("task states: HTCondor's numbers have their names", "[run][cluster]") {
  const TaskStates states = parse_condor(
      "0, 1, undefined, undefined\n1, 2, undefined, undefined\n2, 3, undefined, undefined\n"
      "3, 4, 0, undefined\n4, 4, 1, undefined\n5, 5, undefined, Job failed, with a comma\n"
      "6, 9, undefined, undefined\n\nAll queues are empty\n");
  REQUIRE(states.size() == 7);
  CHECK(states.at(0).state == "idle");
  CHECK(states.at(0).active);
  CHECK(states.at(1).state == "running");
  CHECK(states.at(2).state == "removed");
  CHECK_FALSE(states.at(2).active);
  CHECK(states.at(3).state == "completed");
  CHECK(states.at(4).state == "failed");
  CHECK(states.at(4).reason == "exit code 1");
  CHECK_FALSE(states.at(4).active);
  CHECK(states.at(5).state == "held");
  CHECK(states.at(5).reason == "Job failed, with a comma");
  CHECK(states.at(5).active);
  CHECK(states.at(6).state == "status 9");
  CHECK(states.at(6).active);
}
