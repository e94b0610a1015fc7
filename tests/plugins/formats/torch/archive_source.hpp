// A torch archive in a file, without a plugin around its reader.
#pragma once

#include <filesystem>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "formats/shared/place_file.hpp"
#include "formats/torch_archive/torch_archive.hpp"
#include "tests/plugins/formats/messages.hpp"

namespace quench::test {

class ArchiveSource final : public TensorSource {
 public:
  explicit ArchiveSource(const std::filesystem::path& path)
      : TensorSource(path.string()), place_(path), archive_(as_host([&] {
          return std::make_unique<formats::TorchArchive>(kit::Place(*place_.get()), place_.file());
        })) {
    for (const kit::CheckpointTensor& tensor : archive_->tensors()) {
      add({tensor.name, tensor.dtype, tensor.shape, tensor.shared_with});
    }
  }

  const std::vector<std::string>& ignored_members() const { return archive_->ignored_members(); }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    as_host([&] { archive_->read_elements(index, first, elements, destination); });
  }

  CheckpointPlace place_;
  std::unique_ptr<formats::TorchArchive> archive_;
};

// A file of a place, for parsers that read one.
class TestFile {
 public:
  explicit TestFile(const std::filesystem::path& path)
      : place_(path), file_(kit::Place(*place_.get()), place_.file()) {}
  const formats::PlaceFile& get() const { return file_; }

 private:
  CheckpointPlace place_;
  formats::PlaceFile file_;
};

}  // namespace quench::test
