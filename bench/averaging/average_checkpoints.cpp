// `quench average` of five float32 checkpoints of Pythia-160M's size (0.65 GB each): time, memory,
// and what the same bytes cost as plain reads and writes and as a copy in memory, in the same run.
//
//   average_checkpoints [FOLDER = /dev/shm] [ROUNDS = 3]
//
// FOLDER gets 3.9 GB while it runs. In memory nothing waits for a disk, which is what a page cache
// does for the members and what no write can have that is to survive a crash: on a disk, fsync of
// the result comes on top.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/support/subprocess.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"

namespace {

namespace fs = std::filesystem;
using quench::ChildProcess;
using quench::bench::Samples;
using quench::bench::wall_clock;

constexpr int kMembers = 5;
constexpr size_t kBlock = size_t{1} << 20;

// Uniform in [−0.05, 0.05); averaging asks no more of them than that they differ.
void write_member(const fs::path& folder, uint64_t seed) {
  fs::create_directories(folder);
  quench::SafetensorsWriter writer(folder / "model.safetensors", {{"format", "pt"}});
  std::vector<std::vector<int64_t>> shapes = {{50304, 768}, {50304, 768}};
  for (int block = 0; block < 12; ++block) {
    shapes.insert(shapes.end(), {{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}, {768}, {768}});
  }
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < shapes.size(); ++i) {
    writer.declare({fmt::format("w{:03}", i), quench::kFloat32, shapes[i], 0});
    counts.push_back(*quench::element_count(shapes[i]));
  }
  std::vector<float> values;
  uint64_t state = seed * 2 + 1;
  for (const uint64_t count : counts) {
    for (uint64_t left = count; left > 0; left -= values.size()) {
      values.resize(std::min<uint64_t>(left, kBlock));
      for (float& value : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<float>(static_cast<int32_t>(state >> 32)) * (0.05F / 0x1p31F);
      }
      writer.write(values.data(), values.size() * sizeof(float));
    }
  }
  writer.finish();
}

// Seconds to read all members and write one, block by block, on one thread; no arithmetic.
double copy_files(const fs::path& root) {
  std::vector<char> block(kBlock);
  const double start = wall_clock();
  for (int member = 0; member < kMembers; ++member) {
    const fs::path from = root / fmt::format("step{}", member) / "model.safetensors";
    const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const int out =
        member == 0 ? open((root / "copy").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                    : -1;
    for (ssize_t got = 1; got > 0;) {
      got = read(in, block.data(), block.size());
      if (got < 0 || (out >= 0 && write(out, block.data(), static_cast<size_t>(got)) != got)) {
        throw std::runtime_error("copying files failed");
      }
    }
    close(in);
    if (out >= 0) {
      close(out);
    }
  }
  const double seconds = wall_clock() - start;
  fs::remove(root / "copy");
  return seconds;
}

// Bytes a second that one thread copies between two buffers larger than the caches. In a process of
// its own: what this one holds would count as the peak of the processes it starts.
double copy_memory() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  ChildProcess child = ChildProcess::start_copy([&] {
    std::vector<char> from(size_t{256} << 20, 1);
    std::vector<char> to(from.size(), 2);
    const double start = wall_clock();
    std::memcpy(to.data(), from.data(), from.size());
    const double rate = static_cast<double>(from.size()) / (wall_clock() - start);
    return write(ends[1], &rate, sizeof rate) == sizeof rate && to[1] == 1 ? 0 : 1;
  });
  double rate = 0;
  close(ends[1]);
  const ssize_t got = read(ends[0], &rate, sizeof rate);
  close(ends[0]);
  child.wait();
  if (got != sizeof rate) {
    throw std::runtime_error("copying memory failed");
  }
  return rate;
}

struct Average {
  double wall;
  double processor;
  long peak_kib;
};

Average average(const fs::path& root, const std::string& threads) {
  fs::remove_all(root / "average");
  std::vector<std::string> command = {QUENCH_BINARY_DIR "/bin/quench", "average"};
  for (int member = 0; member < kMembers; ++member) {
    command.push_back((root / fmt::format("step{}", member)).string());
  }
  command.insert(command.end(), {"--scheme", "lawa:window=5", "-o", (root / "average").string(),
                                 "--threads", threads, "--json"});
  const quench::bench::Run run = quench::bench::run_command(command);
  return {run.wall, run.processor, run.peak_kib};
}

void measure(const fs::path& root, int rounds) {
  for (int member = 0; member < kMembers; ++member) {
    write_member(root / fmt::format("step{}", member), static_cast<uint64_t>(member));
  }
  const double member_bytes =
      static_cast<double>(fs::file_size(root / "step0" / "model.safetensors"));
  const double bytes = member_bytes * (kMembers + 1);
  for (const std::string threads : {"1", "2"}) {
    Samples wall;
    Samples processor;
    Samples files;
    Samples memory;
    long peak = 0;
    for (int round = 0; round < rounds; ++round) {
      const Average got = average(root, threads);
      wall.add(got.wall);
      processor.add(got.processor);
      peak = std::max(peak, got.peak_kib);
      files.add(copy_files(root));
      memory.add(bytes / copy_memory());
    }
    fmt::print(
        "{} thread(s): wall {:.2f} s ({:.2f} GB/s), cpu {:.2f} s, peak memory {} MiB\n"
        "  the files' bytes alone {:.2f} s: share {:.2f}; copied in memory {:.2f} s: share "
        "{:.2f}\n",
        threads, wall.least(), bytes * 1e-9 / wall.least(), processor.least(), peak / 1024,
        files.least(), files.least() / wall.least(), memory.least(), memory.least() / wall.least());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path root = fs::path(argc > 1 ? argv[1] : "/dev/shm") /
                        fmt::format("quench-bench-averaging-{}", getpid());
  int code = 0;
  try {
    measure(root, argc > 2 ? std::max(1, std::atoi(argv[2])) : 3);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = 1;
  }
  std::error_code ignored;
  fs::remove_all(root, ignored);
  return code;
}
