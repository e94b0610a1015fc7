// A GGUF file as a checkpoint of one of the families here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/gguf/config.hpp"
#include "formats/gguf/header.hpp"
#include "quench/kit/format.hpp"

namespace quench::gguf {

// Tensors have the family's names and order of rows. Those that the file holds as F32, F16 or BF16
// keep their element type, the others are float32.
class Checkpoint final : public kit::Checkpoint {
 public:
  // Reads the header. Throws kit::Error as read_header and config_json do, and UNSUPPORTED for a
  // tensor that the architecture does not have.
  explicit Checkpoint(std::unique_ptr<const Bytes> bytes);

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

 private:
  // Where the elements of a tensor come from.
  struct Origin {
    StoredTensor stored;
    int64_t head_rows = 0;      // rows of a head that are stored in pairs; 0: as the model has them
    std::vector<float> values;  // instead of a stored tensor
  };

  TensorFacts add_tensors(const Header& header, const Architecture& architecture,
                          const Dimensions& dimensions);
  void add_tensor(const StoredTensor& stored, const Architecture& architecture,
                  const Dimensions& dimensions, TensorFacts& facts);
  void add_activations(const Metadata& metadata, const Dimensions& dimensions);
  void read_divisors(const StoredTensor& stored);
  // Elements in the order of the file.
  void read_stored(const StoredTensor& stored, uint64_t first, uint64_t elements,
                   std::byte* destination) const;
  void describe_codes();

  std::unique_ptr<const Bytes> bytes_;
  std::vector<Origin> origins_;       // by index of the tensor
  std::vector<float> rope_divisors_;  // of rope_freqs.weight
};

}  // namespace quench::gguf
