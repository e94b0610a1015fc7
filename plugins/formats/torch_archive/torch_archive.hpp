// Reader of what torch.save writes (pytorch_model.bin, *.pth): a zip archive with a pickle and one
// stored member per storage. Nothing in the file is executed.
#pragma once

#include <string>
#include <vector>

#include "formats/shared/place_file.hpp"
#include "formats/shared/tensor_info.hpp"
#include "formats/torch_archive/zip_archive.hpp"

namespace quench::formats {

// The tensors of the state dict (torch_state.hpp), with ties, views and strides. Only bytes of
// tensors that are asked for are read, so an optimizer's state in the file costs nothing.
class TorchArchive final : public kit::Checkpoint {
 public:
  // Throws Error: INVALID_ARGUMENT, UNSUPPORTED (legacy formats, with the way to convert them;
  // big-endian archives; element types), DATA_LOSS (checksum of the pickle).
  TorchArchive(const kit::Place& place, const std::string& name);
  // Of one tensor, which torch.save was given by itself; it gets this name.
  TorchArchive(PlaceFile file, const std::string& tensor);

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  // Members that are neither metadata of the format nor a tensor's storage: told to the curious.
  const std::vector<std::string>& ignored_members() const { return ignored_; }

 private:
  struct View {
    uint64_t start = 0;            // of the storage in the file, in bytes
    uint64_t offset = 0;           // in elements
    std::vector<uint64_t> stride;  // in elements
    bool contiguous = false;
    bool negated = false;
  };

  void gather(const View& view, const TensorInfo& tensor, uint64_t first, uint64_t elements,
              char* destination) const;
  // `alone`: the name of the only tensor, null for a state dict.
  void read_archive(const std::string* alone);
  void add_tensors(const ZipArchive& archive, const std::string& folder, const std::string* alone);

  PlaceFile file_;
  std::vector<View> views_;
  std::vector<std::string> ignored_;
};

}  // namespace quench::formats
