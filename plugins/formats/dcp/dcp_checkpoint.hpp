// A torch distributed checkpoint: tensors put together from the parts that ranks wrote.
#pragma once

#include <memory>
#include <vector>

#include "formats/dcp/box.hpp"
#include "formats/dcp/metadata.hpp"
#include "formats/shared/place_file.hpp"
#include "formats/torch_archive/torch_archive.hpp"

namespace quench::formats {

inline constexpr const char* kDcpMetadata = ".metadata";

// Each part is an archive of torch.save inside a file of its rank. All are opened here, so that a
// damaged one is found before work; their elements are read when they are asked for.
class DcpCheckpoint final : public kit::Checkpoint {
 public:
  // Throws Error: as read_metadata and TorchArchive; NOT_FOUND for a missing file,
  // INVALID_ARGUMENT for one that ends too soon and for parts of another shape or element type.
  explicit DcpCheckpoint(const kit::Place& place);

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

 private:
  struct Part {
    BoxOrder order;
    std::unique_ptr<TorchArchive> archive;
  };

  void open(const kit::Place& place, const DcpTensor& tensor);

  std::vector<std::vector<Part>> parts_;  // of each tensor
};

}  // namespace quench::formats
