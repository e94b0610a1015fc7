// What plugins may not ask of libtorch for tensors in host memory, because who made the processor
// or which library libtorch was built with would decide over bits.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/layering/source_tree.hpp"

namespace {

struct Refusal {
  const char* reason;
  std::vector<const char*> calls;
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all = {
      {"a product is MKL's or oneDNN's: shared/matrix/product.hpp",
       {"_int_mm", "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "dot",
        "einsum", "inner", "linear", "matmul", "mm", "mv", "tensordot",
        "scaled_dot_product_attention"}},
      {"LAPACK is MKL's",
       {"cholesky", "cholesky_inverse", "cholesky_solve", "inverse", "linalg_\\w+", "logdet",
        "lstsq", "ormqr", "pinverse", "qr", "slogdet", "svd", "triangular_solve"}},
      {"of contiguous floats it is MKL's vector library's: models/decoder/transcendental.hpp",
       {"acos", "asin", "atan", "cos", "erf", "erfc", "erfinv", "exp", "log", "log10", "log2",
        "logsumexp", "sin", "sqrt", "tan", "tanh", "trunc"}},
      {"it is oneDNN's: models/decoder/activation.hpp", {"gelu", "gelu_backward"}},
      {"libtorch has one thread: kit::parallel_for, kit::for_row_blocks",
       {"parallel_for", "set_num_threads", "set_num_interop_threads", "launch"}},
  };
  return all;
}

// Where a tensor on a device alone gets there.
const std::set<std::pair<std::string, std::string>>& on_devices() {
  static const std::set<std::pair<std::string, std::string>> all = {
      {"plugins/models/decoder/activation.cpp", "gelu"},
      {"plugins/models/decoder/attention.cpp", "scaled_dot_product_attention"},
      {"plugins/models/decoder/device_attention.cpp", "bmm"},
      {"plugins/models/decoder/device_attention.cpp", "scaled_dot_product_attention"},
      {"plugins/models/decoder/differentiable.cpp", "gelu"},
      {"plugins/models/decoder/differentiable.cpp", "matmul"},
      {"plugins/models/decoder/head.cpp", "exp"},
      {"plugins/models/decoder/likelihoods.cpp", "exp"},
      {"plugins/models/decoder/vectors.cpp", "linalg_vector_norm"},
      {"plugins/optimizers/muon/orthogonalize.cpp", "linalg_vector_norm"},
      {"plugins/quantizers/gptq/device/libtorch_decomposition.cpp", "linalg_cholesky_ex_out"},
      {"plugins/quantizers/gptq/device/triangles.cpp", "bmm"},
      {"plugins/quantizers/gptq/device/triangles.cpp", "linalg_solve_triangular"},
      {"plugins/quantizers/gptq/device/triangles.cpp", "mm"},
      {"plugins/quantizers/gram/device_panel.cpp", "addmm"},
      {"plugins/quantizers/gram/device_panel.cpp", "bmm"},
      {"plugins/quantizers/gram/device_panel.cpp", "mm"},
      {"plugins/quantizers/int8/device/linear_on_device.cpp", "_int_mm"},
      {"plugins/shared/matrix/product.cpp", "addmm"},
      {"plugins/shared/matrix/product.cpp", "mm"},
  };
  return all;
}

// The refused calls in a source, with their reasons: at::name(...) and tensor.name(...), also in
// place and with an output.
std::vector<std::pair<std::string, std::string>> refused_calls(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Refusal& refusal : refusals()) {
    std::string names;
    for (const char* name : refusal.calls) {
      names += (names.empty() ? "" : "|") + std::string(name);
    }
    const std::regex call("(at::|[\\w)\\]]\\.|->)(" + names + ")(_|_out)?\\(");
    for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
      found.emplace_back((*it)[2], refusal.reason);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("layering: plugins ask libtorch for nothing that MKL or oneDNN computes", "[layering]") {
  std::string objections;
  size_t checked = 0;
  for (const char* folder : {"plugins", "sdk/include"}) {
    for (const std::string& file : quench::test::files_below(folder, {".hpp", ".cpp"})) {
      const std::string text = quench::test::source(file);
      if (text.find("at::") == std::string::npos) {
        continue;
      }
      ++checked;
      for (const auto& [call, reason] : refused_calls(text)) {
        if (!on_devices().contains({file, call})) {
          objections += fmt::format("{}: {}: {}\n", file, call, reason);
        }
      }
    }
  }
  CHECK(checked > 50);
  CHECK(objections == "");
}

TEST_CASE("layering: refused calls of libtorch are found in every spelling", "[layering]") {
  for (const char* text : {"at::mm(a, b)", "at::exp_out(to, x)", "x.exp_()", "values(1).log()",
                           "rows[0].matmul(b)", "x->addmm_(a, b)", "at::linalg_cholesky(a)"}) {
    CAPTURE(text);
    CHECK(refused_calls(text).size() == 1);
  }
  for (const char* text : {"std::exp(x)", "kit::log(level, text)", "matrix::product(a, b)",
                           "angles.cos.size(3)", "kernel::gelu(count, x, y)", "at::expm1(x)"}) {
    CAPTURE(text);
    CHECK(refused_calls(text).empty());
  }
}
