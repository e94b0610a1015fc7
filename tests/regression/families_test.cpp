// What a study does with a model of each family that has reference numbers of its own: measure,
// quantize, export, read back, take curvature; and the text part of a model with images.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<uint16_t> values;  // float16
};

// A model of tests/data/families_reference.py as a folder, and the ids of its numbers.
class FamilyModel {
 public:
  explicit FamilyModel(const std::string& name)
      : notes_(read_json(source_dir() / "tests/data/families" / (name + ".json"))),
        reference_(source_dir() / "tests/data/families" / (name + ".safetensors")) {
    for (const std::string& own : reference_.names()) {
      if (own != "ids" && own != "logits") {
        tensors_.push_back({own, reference_.shape(own), reference_.elements<uint16_t>(own)});
      }
    }
    config_ = notes_.at("configs").at("4.57.6");
    const auto ids = reference_.elements<int32_t>("ids");
    SafetensorsWriter writer(folder_ / "ids.safetensors");
    writer.declare({"ids", kInt32, reference_.shape("ids"), 0});
    writer.write(ids.data(), ids.size() * sizeof(int32_t));
    writer.finish();
  }
  // As the text part of a model of text and images.
  void add_images() {
    for (Tensor& tensor : tensors_) {
      tensor.name = "language_model." + tensor.name;
    }
    tensors_.push_back({"vision_tower.patch.weight", {2, 3}, {1, 2, 3, 4, 5, 6}});
    config_ = {{"model_type", "gemma3"}, {"text_config", config_}, {"vision_config", {{"a", 1}}}};
  }
  void write() {
    std::filesystem::create_directories(folder_ / "model");
    std::ofstream(folder_ / "model/config.json") << config_.dump();
    SafetensorsWriter writer(folder_ / "model/model.safetensors");
    for (const Tensor& tensor : tensors_) {
      writer.declare({tensor.name, kFloat16, tensor.shape, 0});
    }
    for (const Tensor& tensor : tensors_) {
      writer.write(tensor.values.data(), tensor.values.size() * sizeof(uint16_t));
    }
    writer.finish();
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string ids() const { return "tokens=" + path("ids.safetensors"); }
  std::string loss_metric() const { return "validation_loss:" + ids() + ",block=24"; }
  double loss() const { return notes_.at("loss"); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  nlohmann::json quantize() const {
    return quench_json({"quantize", path("model"), "--quantizer", "gptq:bits=4,group_size=-1",
                        "--calibration", ids(), "--format", "compressed-tensors", "-o", path("out"),
                        "--metric", loss_metric(), "--dtype", "float32"})
        .at("metrics")
        .at(0);
  }
  nlohmann::json eval(const std::string& model, const std::string& metric) const {
    return quench_json({"eval", path(model), "--metric", metric, "--dtype", "float32"})
        .at("records")
        .at(0);
  }

 private:
  TemporaryDir folder_;
  nlohmann::json notes_;
  SafetensorsFile reference_;
  nlohmann::json config_;
  std::vector<Tensor> tensors_;
};

}  // namespace

TEST_CASE("families: a model of each is quantized, exported and read back with its loss",
          "[regression][families]") {
  const std::string name = GENERATE("qwen2", "qwen3", "olmo3", "gemma2", "gemma3_text", "dots1");
  CAPTURE(name);
  FamilyModel model(name);
  model.write();
  const nlohmann::json made = model.quantize();
  CHECK(made.at("float").get<double>() == Approx(model.loss()).epsilon(1e-5));
  CHECK(made.at("quantized") != made.at("float"));
  CHECK(model.eval("out", model.loss_metric()).at("value") == made.at("quantized"));
}

TEST_CASE("families: rotated inputs and heads leave what a model of each computes",
          "[regression][families][rotations]") {
  const std::string name = GENERATE("qwen2", "qwen3", "olmo3", "gemma2", "gemma3_text", "dots1");
  CAPTURE(name);
  FamilyModel model(name);
  model.write();
  for (const auto& [dtype, bound] :
       std::map<std::string, double>{{"float64", 1e-12}, {"float32", 1e-5}}) {
    const auto records = records_of(
        quench_json({"eval", model.path("model"), "--metric", model.loss_metric(), "--dtype", dtype,
                     "--quantizer", "activations:activations=float,rotate=all", "--quantizer",
                     "activations:activations=float,rotate=inner"}),
        "validation_loss");
    REQUIRE(records.size() == 3);
    for (const size_t i : {1, 2}) {
      CHECK(std::fabs(records[i].at("value").get<double>() - records[0].at("value").get<double>()) <
            bound);
      if (dtype == "float32") {  // float64's rounding may vanish in the mean over tokens
        CHECK(records[i].at("value") != records[0].at("value"));
      }
    }
  }
}

TEST_CASE("families: the Hessian of a model of each has parts that add up to it",
          "[regression][families][hessian]") {
  const std::string name = GENERATE("qwen2", "qwen3", "olmo3", "gemma2", "gemma3_text", "dots1");
  CAPTURE(name);
  FamilyModel model(name);
  model.write();
  const nlohmann::json record =
      model.eval("model", "hessian:" + model.ids() + ",top=2,trace_samples=4,seed=1,dtype=float64");
  const nlohmann::json& details = record.at("details");
  CHECK(details.at("loss").get<double>() == Approx(model.loss()).epsilon(1e-5));
  const double largest = record.at("value");
  CHECK(std::abs(largest) >= std::abs(details.at("eigenvalues").at(1).get<double>()));
  CHECK(details.at("residuals").at(0).get<double>() < 0.05 * std::abs(largest));
  double parts = 0;
  for (const auto& [part, value] : details.at("parts").items()) {
    parts += value.at("trace").get<double>();
  }
  CHECK(parts == Approx(details.at("trace").get<double>()).epsilon(1e-9));
}

TEST_CASE("families: the text part of a model with images is exported, and the rest stays",
          "[regression][families]") {
  FamilyModel model("gemma3_text");
  model.add_images();
  model.write();
  const nlohmann::json made = model.quantize();
  CHECK(made.at("float").get<double>() == Approx(model.loss()).epsilon(1e-5));
  CHECK(model.eval("out", model.loss_metric()).at("value") == made.at("quantized"));
  const SafetensorsFile out(model.path("out/model.safetensors"));
  CHECK(out.elements<uint16_t>("vision_tower.patch.weight") == model.tensors().back().values);
  CHECK(out.has("language_model.model.layers.0.mlp.up_proj.weight_packed"));
  CHECK(read_json(model.path("out/config.json")).at("text_config").at("model_type") ==
        "gemma3_text");
}

}  // namespace quench::test
