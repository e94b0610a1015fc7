#include "run/manifest/cluster_keys.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

using nlohmann::json;
using quench::parse_yaml;
using quench::Problems;

TEST_CASE("cluster keys: times and sizes are read exactly", "[run][cluster]") {
  CHECK(quench::parse_duration("90m") == 5400);
  CHECK(quench::parse_duration("45s") == 45);
  CHECK(quench::parse_duration("2d") == 172800);
  CHECK(quench::parse_duration("04:05:06") == 14706);
  CHECK(quench::parse_duration("1-12:00:00") == 129600);
  for (const char* wrong : {"", "0h", "30", "4 h", "h", "1:2:3", "04:05", "04:60:00", "-1h", "1-",
                            "99999999999999999999h", "400d", "1-2-03:00:00"}) {
    CAPTURE(wrong);
    CHECK_FALSE(quench::parse_duration(wrong));
  }
  CHECK(quench::parse_size("500MB") == 500'000'000);
  CHECK(quench::parse_size("32 GB") == 32'000'000'000);
  CHECK(quench::parse_size("1.5TiB") == 1'649'267'441'664);
  CHECK(quench::parse_size("4kiB") == 4096);
  for (const char* wrong :
       {"", "GB", "32", "32G", "32 gigabytes", "-1GB", "0GB", "1e3GB", "1  GB", "99999999999TB"}) {
    CAPTURE(wrong);
    CHECK_FALSE(quench::parse_size(wrong));
  }
}

TEST_CASE("cluster keys: what is given is there in bytes and seconds, beside the defaults",
          "[run][cluster]") {
  Problems problems;
  const json usual = {{"grace", 300}, {"requeue", true}, {"retries", 20}};
  CHECK(quench::Manifest().cluster == usual);
  const auto read = [&](const quench::YamlNode& node) {
    return quench::cluster_keys().read(node, "cluster", problems, quench::usual_cluster());
  };
  CHECK(read(parse_yaml("{}", "m.yaml")) == usual);
  const auto full = parse_yaml(
      "{to: slurm, shares: 8, at_once: 2, time: 4h, memory: 3GiB, cpus: 7, gpus: a100:2, disk: "
      "20GB, "
      "partition: p, account: 7, qos: q, grace: 2m, requeue: false, retries: 3, "
      "before: [module load x], slurm: [--nice=5], htcondor: [a = b]}",
      "m.yaml");
  CHECK(read(full) == json{{"to", "slurm"},
                           {"shares", 8},
                           {"at_once", 2},
                           {"time", 14400},
                           {"memory", uint64_t{3} << 30},
                           {"cpus", 7},
                           {"gpus", "a100:2"},
                           {"disk", 20'000'000'000},
                           {"partition", "p"},
                           {"account", "7"},
                           {"qos", "q"},
                           {"grace", 120},
                           {"requeue", false},
                           {"retries", 3},
                           {"before", json::array({"module load x"})},
                           {"slurm", json::array({"--nice=5"})},
                           {"htcondor", json::array({"a = b"})}});
  CHECK(problems.empty());
}
