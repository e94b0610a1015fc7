// Drives a model family through its table, as the host does.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/abi/kind/model.h"
#include "quench/abi/module.h"
#include "tests/plugins/models/comparison.hpp"
#include "tests/support/memory_source.hpp"

namespace quench::test {

// B rows of T ids; positions and segments may be empty.
struct Tokens {
  int64_t rows;
  int64_t length;
  std::vector<int32_t> ids;
  std::vector<int32_t> positions = {};
  std::vector<int32_t> segments = {};
};

// Whether the host gives a stage the same memory for tensors of the same name, where sizes allow.
enum class Storage { kSeparate, kShared };

// Where models of these tests compute: QUENCH_TEST_DEVICE, which is cpu or cuda, and the processor
// without it. Skips the calling test where there is no such device. As libtorch asks once which
// devices there are, the choice holds for a process.
quench_device test_device();

// Skips a test that asks for host memory, or for the processor's kernels, on another device.
void need_host_memory();

// An open model. Every method throws kit::Error with the status of a call that fails. Tensors lie
// on the model's device, in its dtype unless a comment says otherwise.
class ModelDriver {
 public:
  ModelDriver(const std::string& config, const quench_source* source, quench_dtype dtype,
              quench_device device = test_device());
  ModelDriver(const std::string& config, const MemorySource& source, quench_dtype dtype,
              quench_device device = test_device())
      : ModelDriver(config, source.source(), dtype, device) {}
  // Of this family, whatever the config says.
  ModelDriver(const quench_model_table& family, const std::string& config,
              const quench_source* source, quench_dtype dtype,
              quench_device device = test_device());
  // Of drawn weights, without a checkpoint.
  ModelDriver(const std::string& config, quench_dtype dtype, quench_device device = test_device());
  ~ModelDriver();
  ModelDriver(const ModelDriver&) = delete;
  ModelDriver& operator=(const ModelDriver&) = delete;

  quench_model* get() const { return model_; }
  const quench_model_table& table() const { return *table_; }
  quench_model_info info() const;
  const quench_block_info& block(uint32_t block) const;

  at::Tensor embed(const Tokens& tokens);
  // One block: h -> h. `watch` is called after each stage with what it carries on, in order.
  using Watch = std::function<void(uint32_t stage, const std::vector<at::Tensor>& carried)>;
  at::Tensor run_block(uint32_t block, const Tokens& tokens, const at::Tensor& h,
                       Storage storage = Storage::kSeparate, const Watch& watch = {});
  // All blocks: the residual stream [N, width]; `outputs` receives the output of each block.
  at::Tensor forward(const Tokens& tokens, Storage storage = Storage::kSeparate,
                     std::vector<at::Tensor>* outputs = nullptr);

  at::Tensor logits(const at::Tensor& h);
  std::vector<double> nll(const at::Tensor& h, std::vector<int32_t> targets,
                          std::vector<int32_t>* argmax = nullptr);
  // Loss of each next id within the rows, -1 at the end of each row.
  std::vector<double> next_id_nll(const Tokens& tokens);

  // Σ nll by quench.model.grad/1; adds weight * gradient to `into` where it is defined.
  double gradient(const Tokens& tokens, const std::vector<int32_t>& targets, const at::Tensor& into,
                  double weight = 1.0, uint32_t flags = 0);
  // H v for each vector by quench.model.hvp/1 with that QUENCH_CURVATURE_*; the gradient and the
  // loss where they are wanted.
  std::vector<at::Tensor> products(const Tokens& tokens, const std::vector<int32_t>& targets,
                                   int32_t kind, const std::vector<at::Tensor>& vectors,
                                   at::Tensor* gradient = nullptr, double* loss = nullptr,
                                   double weight = 1.0);
  // The flat parameter vector, float64.
  at::Tensor parameters();
  void set_parameters(const at::Tensor& vector);
  std::vector<quench_parameter_info> parameter_infos() const;

  at::Tensor weight(const std::string& name, at::ScalarType type);
  void set_weight(const std::string& name, const at::Tensor& value);
  uint64_t generation(const std::string& name) const;
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear, const quench_linear_op* op);
  void set_cache_op(uint32_t block, const quench_cache_op* op);
  // The loss of a block's output from a target or, with `is_slope`, along a slope; adds weight *
  // gradient to `into`, of the named weights.
  double block_gradient(uint32_t block, const Tokens& tokens, const at::Tensor& h,
                        const at::Tensor& goal, bool is_slope,
                        const std::vector<std::string>& names, const std::vector<at::Tensor>& into,
                        double weight = 1.0);

 private:
  void open(const quench_model_open_args& args);
  at::Tensor made(at::IntArrayRef shape, at::ScalarType type) const;

  const quench_model_table* table_;
  quench_model* model_ = nullptr;
};

// The next id of each place in its row; -1 at the end of a row.
std::vector<int32_t> next_ids(const Tokens& tokens);

}  // namespace quench::test
