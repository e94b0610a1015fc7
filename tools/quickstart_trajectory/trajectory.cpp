#include "tools/quickstart_trajectory/trajectory.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>

#include "tools/quickstart_trajectory/adamw.hpp"
#include "tools/quickstart_trajectory/model_folder.hpp"

namespace quickstart {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kSeed = 0;
constexpr int kThreads = 1;  // a busy neighbour costs little, and sums have one order
constexpr int64_t kBatch = 8;
constexpr int kSteps = 400;
constexpr int kWarmup = 20;
constexpr int kDecay = 80;
constexpr double kPeakRate = 3e-3;
constexpr int kSaved[] = {80, 160, 240, 320, 360, 400};

// Warmup-stable-decay; the decay is linear to zero. Step counts from 1.
double learning_rate(int step) {
  const double warmup = static_cast<double>(step) / kWarmup;
  const double decay = static_cast<double>(kSteps - step + 1) / (kDecay + 1);
  return kPeakRate * std::min({1.0, warmup, decay});
}

// Rows of length + 1 bytes of `text` that start at `starts`, as int64 tokens.
at::Tensor rows(const std::string& text, const std::vector<size_t>& starts, int64_t length) {
  const at::Tensor tokens = at::empty({static_cast<int64_t>(starts.size()), length + 1}, at::kLong);
  auto* out = tokens.mutable_data_ptr<int64_t>();
  for (const size_t start : starts) {
    for (int64_t i = 0; i <= length; ++i) {
      *out++ = static_cast<unsigned char>(text[start + static_cast<size_t>(i)]);
    }
  }
  return tokens;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

}  // namespace

double validation_loss(const Transformer& model, const std::string& text) {
  const at::NoGradGuard no_gradients;
  const auto length = static_cast<size_t>(model.shape().positions - 1);
  std::vector<size_t> starts;
  for (size_t start = 0; start + length < text.size(); start += length + 1) {
    starts.push_back(start);
  }
  return model.loss(rows(text, starts, model.shape().positions - 1)).item<double>();
}

Transformer train(const fs::path& folder) {
  if (fs::exists(folder)) {
    throw std::runtime_error(folder.string() + " is already there; remove it to train anew");
  }
  const fs::path partial = folder.string() + ".partial";
  fs::remove_all(partial);
  fs::create_directories(partial);
  at::set_num_threads(kThreads);
  at::manual_seed(kSeed);
  std::mt19937_64 random(kSeed);

  const Text text = read_text(QUENCH_TEXT_FOLDER);
  Transformer model{Shape{}};
  AdamW optimizer(model.parameters());
  const int64_t length = model.shape().positions;
  std::string rates = "step,lr\n";
  const auto began = std::chrono::steady_clock::now();
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<size_t> starts;
    for (int64_t i = 0; i < kBatch; ++i) {
      starts.push_back(random() % (text.training.size() - static_cast<size_t>(length)));
    }
    at::Tensor loss = model.loss(rows(text.training, starts, length));
    loss.backward();
    optimizer.step(learning_rate(step));
    rates += std::to_string(step) + "," + std::to_string(learning_rate(step)) + "\n";
    if (std::find(std::begin(kSaved), std::end(kSaved), step) != std::end(kSaved)) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
      std::fprintf(stderr,
                   "step %d of %d: training loss %.4f, validation loss %.4f nats/byte, %.1f s\n",
                   step, kSteps, loss.item<double>(), validation_loss(model, text.validation),
                   seconds.count());
      write_model(partial / ("step" + std::to_string(step)), model);
    }
  }
  write_text(partial / "validation.txt", text.validation);
  write_text(partial / "calibration.txt", text.calibration);
  write_text(partial / "lr.csv", rates);
  fs::rename(partial, folder);
  return model;
}

}  // namespace quickstart
