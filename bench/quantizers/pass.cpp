// Where the time of quantizing a whole model goes: forward, Gram matrices, factors, columns, output
// errors and the rest, each as a part of the rate that the products which plugins use reach in the
// same run.
//
//   quantizers_pass MODEL [QUANTIZER = gptq:bits=4] [rows = 32] [ids a row = 512] [threads = 1]
//                   [second QUANTIZER, to share the pass with inputs=float]
//
// Processor time of the whole process, so that a busy machine counts little. Counted are the
// operations that the result needs: for N rows of n inputs and m outputs 2 N m n for a linear of
// the forward, N n^2 for a Gram matrix, 2/3 n^3 for a factor, m n^2 for the columns, 2 m n^2 for
// the output error. Factor, error, and Gram matrices of at most 1024 columns are float64.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/support/product_rate.hpp"
#include "core/base/io/tensor_memory.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace fs = std::filesystem;

namespace {

struct Operations {
  double forward = 0;
  double gram32 = 0;
  double gram64 = 0;
  double factor = 0;
  double columns = 0;
  double error = 0;
};

Operations operations_of(quench::ModelHandle& model, double tokens, double length) {
  Operations out;
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    out.forward += 2 * tokens * length * static_cast<double>(model.info().width);  // causal
    for (uint32_t g = 0; g < block.group_count; ++g) {
      const quench_group_info& group = block.groups[g];
      const auto n = static_cast<double>(group.linears[0].in_features);
      (n <= 1024 ? out.gram64 : out.gram32) += tokens * n * n;
      out.factor += 2.0 / 3 * n * n * n;
      for (uint32_t l = 0; l < group.linear_count; ++l) {
        const auto m = static_cast<double>(group.linears[l].out_features);
        out.forward += 2 * tokens * m * n;
        out.columns += m * n * n;
        out.error += 2 * m * n * n;
      }
    }
  }
  return out;
}

void print(const char* name, double seconds, double floor) {
  fmt::print("{:<14} {:8.2f} s  of the product: {:.2f}\n", name, seconds, floor / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {  // read when libtorch is loaded, before main
    setenv("OMP_WAIT_POLICY", "passive", 0);
    execv("/proc/self/exe", argv);
  }
  quench::tune_allocators();
  if (argc < 2) {
    fmt::print(stderr, "usage: quantizers_pass MODEL [QUANTIZER] [rows] [ids a row] [threads]\n");
    return 2;
  }
  const auto number = [&](int index, uint64_t otherwise) {
    return argc > index ? std::stoull(argv[index]) : otherwise;
  };
  const uint64_t rows = number(3, 32);
  const uint64_t length = number(4, 512);
  const auto threads = static_cast<uint32_t>(number(5, 1));
  quench::HostServices& services = quench::HostServices::instance();
  services.set_threads(threads);
  quench::bench::set_product_host(services.host_for("bench"), static_cast<int>(threads));
  const fs::path build = QUENCH_BINARY_DIR;
  quench::CatalogOptions options;
  options.search_path = {build / "lib" / "quench"};
  options.cache_dir = build / "bench" / "cache";
  options.self = build / "bin" / "quench";
  quench::Catalog catalog(options);
  quench::ModelHandle model = quench::open_checkpoint(catalog, quench::single_checkpoint(argv[1]),
                                                      {}, quench::kFloat32, {QUENCH_DEVICE_CPU, 0})
                                  .model;

  quench::CalibrationRows calibration;
  calibration.starts = {0};
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t i = 0; i < length; ++i) {
      calibration.ids.push_back(static_cast<int32_t>(
          (r * 7919 + i * i * 31) % static_cast<uint64_t>(model.info().vocabulary)));
    }
    calibration.starts.push_back(calibration.ids.size());
  }
  std::vector<quench::QuantizerCell> cells;
  cells.push_back(quench::resolve_quantizer(argc > 2 ? argv[2] : "gptq:bits=4", catalog));
  if (argc > 6) {
    cells.push_back(quench::resolve_quantizer(argv[6], catalog));
  }
  std::vector<quench::QuantizerHandle> handles;
  handles.reserve(cells.size());
  std::vector<quench::QuantizerHandle*> quantizers;
  for (const quench::QuantizerCell& cell : cells) {
    handles.emplace_back(catalog, *cell.plugin, cell.parameters);
    quantizers.push_back(&handles.back());
  }
  quench::QuantizeOptions pass;
  pass.calibration = &calibration;
  const quench::bench::ProductRate before32 = quench::bench::product_rate(false);
  const quench::bench::ProductRate before64 = quench::bench::product_rate(true);
  quench::FloatWeights kept(model);
  const quench::QuantizationResult result =
      quantizers.size() > 1 ? quench::quantize_settings(model, quantizers, pass)[0].result
                            : quench::quantize_model(model, *quantizers[0], pass, kept);
  const quench::bench::ProductRate after32 = quench::bench::product_rate(false);
  const quench::bench::ProductRate after64 = quench::bench::product_rate(true);
  const double rate32 = std::max(before32.used, after32.used);
  const double rate64 = std::max(before64.used, after64.used);

  const auto settings = static_cast<double>(quantizers.size());
  const Operations needed =
      operations_of(model, static_cast<double>(rows * length), static_cast<double>(length));
  std::map<std::string, double> cpu = result.cpu_seconds;
  // The quantizer says wall seconds; their proportion parts the processor time.
  const double factor = cpu["quantize"] * result.seconds.at("factor") /
                        (result.seconds.at("factor") + result.seconds.at("columns"));
  const double all = cpu["all"];
  fmt::print(
      "{}, {} x {} ids, {} thread(s), {} setting(s), products {:.1f} and {:.1f} GFLOP/s, "
      "libtorch's {:.1f} and {:.1f}\n",
      cells[0].label, rows, length, threads, quantizers.size(), rate32 / 1e9, rate64 / 1e9,
      std::max(before32.libtorch, after32.libtorch) / 1e9,
      std::max(before64.libtorch, after64.libtorch) / 1e9);
  const double floors[] = {needed.forward / rate32, needed.gram32 / rate32 + needed.gram64 / rate64,
                           needed.factor / rate64, settings * needed.columns / rate32,
                           settings * needed.error / rate64};
  print("forward", cpu["forward"], floors[0]);
  print("Gram", cpu["observe"], floors[1]);
  print("factor", factor, floors[2]);
  print("columns", cpu["quantize"] - factor, floors[3]);
  print("output error", cpu["error"], floors[4]);
  fmt::print("{:<14} {:8.2f} s\n", "other",
             all - cpu["forward"] - cpu["observe"] - cpu["quantize"] - cpu["error"]);
  print("all", all, floors[0] + floors[1] + floors[2] + floors[3] + floors[4]);
  fmt::print("from start to end {:.1f} s\n", result.seconds.at("all"));
  fmt::print("peak memory: predicted {:.3f} GB, measured {:.3f} GB\n",
             static_cast<double>(result.predicted_peak_bytes) / 1e9,
             static_cast<double>(result.peak_bytes) / 1e9);
  return 0;
}
