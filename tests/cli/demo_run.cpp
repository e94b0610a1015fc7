#include "tests/cli/demo_run.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/base/config/yaml.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/store/record_file.hpp"

namespace quench::test {

namespace {

const std::string kManifest =
    "name: demo\n"
    "seed: 0\n"
    "checkpoints:\n"
    "  model: hf://example/wsd-160m\n"
    "  branches:\n"
    "    constant: {revisions: \"step{step}\", lr: {constant: 0.003}}\n"
    "    decay6: {parent: constant, revisions: \"decay6-step{step}\"}\n"
    "    decay12: {parent: constant, revisions: \"decay12-step{step}\", mark: star}\n"
    "averaging:\n"
    "  - lawa: {window: 5}\n"
    "quantizers:\n"
    "  - rtn: {bits: [3, 4], group_size: 128}\n"
    "  - gptq: {bits: [3, 4], group_size: 128}\n"
    "    calibration: web\n"
    "    replicates: {draws: 3, jitter: 2, at: [first, last]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: held_out, block: 2048}\n"
    "report:\n"
    "  figures:\n"
    "    - error_vs_tokens: {lines: branch, panels: bits, right: lr}\n"
    "    - loss_vs_tokens: {lines: branch, panels: bits, right: lr}\n"
    "    - loss_plane: {x: float, y: quantized}\n"
    "    - bars: {y: delta}\n"
    "    - table\n"
    "  contrasts:\n"
    "    - {a: gptq, b: rtn, match: [bits, checkpoint]}\n"
    "    - {a: lawa, b: raw, at: last}\n";

// Numbers between −1 and 1 that depend on the text alone.
double noise(const std::string& text) {
  const std::string hex = sha256_hex(text);
  return static_cast<double>(std::stoul(hex.substr(0, 8), nullptr, 16)) / 2147483648.0 - 1;
}

struct Weights {
  std::string branch;
  std::string revision;
  int64_t step;
  double rate;
  double decayed;  // 0: at the full learning rate, 1: at none
  bool averaged;
  bool is_end;  // first or last of its line
};

double float_loss(const Weights& weights) {
  const double thousands = static_cast<double>(weights.step) / 1000;
  return 3.34 + 1.05 * std::pow(thousands, -0.7) - (weights.averaged ? 0.13 : 0) -
         0.2 * weights.decayed + 0.006 * noise(weights.revision);
}

// ΔCE: it grows as the learning rate decays, and averages have less of it.
double cost(const Weights& weights, const std::string& method, int bits) {
  const double thousands = static_cast<double>(weights.step) / 1000;
  const double of_bits = bits == 3 ? 0.082 : 0.017;
  const double of_method = method == "rtn" ? 1.9 : 1;
  return of_bits * of_method * (1 - 0.5 / thousands) *
         (1 + 1.3 * weights.decayed * weights.decayed) * (weights.averaged ? 0.68 : 1) *
         (1 + 0.05 * noise(weights.revision + method));
}

std::vector<Weights> all_weights(const DemoOptions& options) {
  std::vector<Weights> out;
  for (int64_t i = 1; i <= 12; ++i) {
    out.push_back({"constant", "step" + std::to_string(i * 1000), i * 1000, 0.003, 0, false,
                   i == 1 || i == 12});
  }
  for (int64_t i = 5; i <= 12; ++i) {
    out.push_back({"constant", "step" + std::to_string(i * 1000), i * 1000, 0.003, 0, true,
                   i == 5 || i == 12});
  }
  for (const int64_t fork : {6, 12}) {
    for (int64_t i = 1; i <= 5; ++i) {
      const double decayed = static_cast<double>(i) / 5;
      const int64_t step = fork * 1000 + i * 300;
      out.push_back({fork == 6 ? "decay6" : options.branch,
                     "decay" + std::to_string(fork) + "-step" + std::to_string(step), step,
                     0.003 * (1 - decayed), decayed, false, i == 1 || i == 5});
    }
  }
  return out;
}

class Maker {
 public:
  explicit Maker(const DemoOptions& options) : options_(options) {}

  Record blank(const Weights& weights) const {
    Record record;
    const bool forked = weights.branch != "constant";
    record.checkpoint = {
        {"model", "hf://example/wsd-160m"},
        {"revision", weights.revision},
        {"commit", "0123abcd"},
        {"branch", weights.branch},
        {"parent", forked ? nlohmann::json("constant") : nlohmann::json()},
        {"mark", weights.branch == options_.branch && weights.rate == 0 ? nlohmann::json("star")
                                                                        : nlohmann::json()},
        {"step", nullptr},
        {"tokens", nullptr},
        {"lr", weights.rate},
        {"phase", forked ? "decay" : "constant"}};
    record.checkpoint["step"] = weights.step;
    record.checkpoint["tokens"] = weights.step * 2097152;
    if (weights.averaged) {
      record.averaging = {{"id", "lawa"},    {"params", {{"window", 5}}},
                          {"label", "lawa"}, {"version", "0.1"},
                          {"sha256", "ab"},  {"members", members(weights)}};
    }
    record.metric = "validation_loss";
    record.unit = "nats/token";
    record.direction = -1;
    record.details = {{"params", {{"block", 2048}, {"corpus", "held_out"}}},
                      {"corpora", {{"corpus", {{"name", "held_out"}, {"fingerprint", "cafe"}}}}}};
    record.environment = {
        {"quench", "0.1.0"}, {"family", "gpt_neox"}, {"dtype", "float32"}, {"device", "cpu"},
        {"seed", 0},         {"threads", 2},         {"isa", "avx2"}};
    record.seconds = 12.5;
    return record;
  }

  void set_loss(Record& record, const Weights& weights, double loss,
                const std::string& salt) const {
    double mean = 0;
    for (uint32_t i = 0; i < options_.items; ++i) {
      const std::string block = std::to_string(i);
      record.items.push_back(loss + 0.25 * noise("block" + block) +
                             (salt.empty() ? 0 : 0.01 * noise(block + salt + weights.revision)));
      mean += record.items.back() / options_.items;
    }
    for (double& item : record.items) {  // so that their mean is the value
      item += loss - mean;
    }
    record.value = loss;
    record.standard_error = 0.018;
    record.details["bits_per_byte"] = loss / std::log(2.0) / 4.4;
    record.parts = {{"weights", weights.revision + (weights.averaged ? "-lawa" : "")},
                    {"method", salt}};
    record.key = sha256_hex(canonical_json(record.parts));
  }

  std::vector<Record> make() {
    for (const Weights& weights : all_weights(options_)) {
      Record floating = blank(weights);
      set_loss(floating, weights, float_loss(weights), "");
      records_.push_back(floating);
      for (const char* method : {"rtn", "gptq"}) {
        for (const int bits : {3, 4}) {
          add_method(weights, method, bits);
        }
      }
    }
    return std::move(records_);
  }

 private:
  static nlohmann::json members(const Weights& weights) {
    nlohmann::json out = nlohmann::json::array();
    for (int64_t step = weights.step - 4000; step <= weights.step; step += 1000) {
      out.push_back("step" + std::to_string(step));
    }
    return out;
  }

  void add_method(const Weights& weights, const std::string& method, int bits) {
    const bool calibrated = method == "gptq";
    const uint32_t draws = calibrated && weights.is_end ? options_.draws : 1;
    const uint32_t jitter = calibrated && weights.is_end ? options_.jitter : 0;
    for (uint32_t replicate = 0; replicate < draws + jitter; ++replicate) {
      Record record = blank(weights);
      record.quantizer = {{"id", method},
                          {"params", {{"bits", bits}, {"group_size", 128}}},
                          {"label", method + " bits=" + std::to_string(bits)},
                          {"version", "0.1.0"},
                          {"sha256", "cd"},
                          {"bits_per_weight", bits + 0.15},
                          {"calibration", calibrated ? nlohmann::json("web") : nlohmann::json()}};
      const uint32_t draw = replicate < draws ? replicate : 0;
      const uint32_t order = replicate < draws ? 0 : replicate - draws + 1;
      if (calibrated) {
        record.draw = draw;
        record.jitter = order;
      }
      const std::string salt =
          method + std::to_string(bits) + "/" + std::to_string(draw) + "/" + std::to_string(order);
      if (options_.failures && weights.revision == "step3000" && salt == "gptq4/0/0") {
        record.value = nullptr;
        record.error =
            "gptq: block 3: the Hessian is not positive definite with damp 0.01 after 0 "
            "retries";
        records_.push_back(record);
        continue;
      }
      const double base = cost(weights, method, bits);
      const double delta = base * (1 + 0.03 * noise(salt + weights.revision) *
                                           (draw > 0    ? 1
                                            : order > 0 ? 0.3
                                                        : 0));
      set_loss(record, weights, float_loss(weights) + delta, salt);
      if (calibrated) {
        const bool trouble = options_.failures && weights.step == 1000 && bits == 3;
        record.details["layers"] = {{{"name", "layers.0.attention.dense"},
                                     {"relative_error", 0.02},
                                     {"retries", trouble ? 2 : 0},
                                     {"dead", 0}}};
      }
      records_.push_back(record);
    }
  }

  const DemoOptions& options_;
  std::vector<Record> records_;
};

}  // namespace

void write_demo_run(const std::filesystem::path& folder, const DemoOptions& options) {
  std::filesystem::create_directories(folder);
  const nlohmann::json run = {
      {"quench", "0.1.0"},
      {"name", "demo"},
      {"host", "node17"},
      {"plugins",
       {{{"kind", "quantizer"}, {"id", "gptq"}, {"version", "0.1.0"}, {"sha256", "cd"}}}}};
  std::ofstream(folder / "manifest.yaml") << kManifest;
  std::ofstream(folder / "manifest.json")
      << yaml_to_json(parse_yaml(kManifest, "demo.yaml")).dump(1) << '\n';
  std::ofstream(folder / "run.json") << run.dump(1) << '\n';
  RecordFile file(folder, "0");
  file.append(Maker(options).make());
  file.close();
}

}  // namespace quench::test
