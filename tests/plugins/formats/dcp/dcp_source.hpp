// A distributed checkpoint in a folder, without a plugin around its reader.
#pragma once

#include <filesystem>
#include <memory>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "formats/dcp/dcp_checkpoint.hpp"
#include "tests/plugins/formats/messages.hpp"

namespace quench::test {

class DcpSource final : public TensorSource {
 public:
  explicit DcpSource(const std::filesystem::path& folder)
      : TensorSource(folder.string()), place_(folder), checkpoint_(as_host([&] {
          return std::make_unique<formats::DcpCheckpoint>(kit::Place(*place_.get()));
        })) {
    for (const kit::CheckpointTensor& tensor : checkpoint_->tensors()) {
      add({tensor.name, tensor.dtype, tensor.shape, tensor.shared_with});
    }
  }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    as_host([&] { checkpoint_->read_elements(index, first, elements, destination); });
  }

  CheckpointPlace place_;
  std::unique_ptr<formats::DcpCheckpoint> checkpoint_;
};

}  // namespace quench::test
