// A job for tests, with every key set.
#pragma once

#include "run/cluster/cluster_job.hpp"

namespace quench::test {

inline ClusterJob some_job() {
  ClusterJob job;
  job.run = "decay";
  job.program = "/opt/quench/bin/quench";
  job.arguments = {"run", "/home/me/m.yaml", "--out", "/home/me/runs/decay", "--set", "a=it's b"};
  job.working_folder = "/home/me";
  job.folder = "/home/me/runs/decay/cluster/0001";
  job.environment = {{"QUENCH_HOME", "/scratch/quench"}, {"QUENCH_ISA", "avx2"}};
  job.before = {"module load python"};
  job.shares = {1, 2, 3, 5};
  job.of = 8;
  job.at_once = 2;
  job.cpus = 16;
  job.memory_bytes = uint64_t{3} << 30;
  job.seconds = 2 * 86400 + 3 * 3600 + 600;
  job.seconds_chosen = true;
  job.disk_bytes = 20'000'000'000;
  job.gpus = 2;
  job.gpu_type = "a100";
  job.grace_seconds = 300;
  job.retries = 7;
  job.partition = "gpu";
  job.account = "lab";
  job.qos = "long";
  return job;
}

}  // namespace quench::test
