#include "formats/gguf/tensor_type.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/gguf/blocks.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::gguf {

namespace {

constexpr std::array<TensorType, 13> kTypes = {{
    {0, "F32", 1, 4, kit::kFloat32, nullptr, {}},
    {1, "F16", 1, 2, kit::kFloat16, nullptr, {}},
    {30, "BF16", 1, 2, kit::kBFloat16, nullptr, {}},
    {2, "Q4_0", 32, 18, kit::kFloat32, decode_q4_0, {4, 32, true}},
    {3, "Q4_1", 32, 20, kit::kFloat32, decode_q4_1, {4, 32, false}},
    {6, "Q5_0", 32, 22, kit::kFloat32, decode_q5_0, {5, 32, true}},
    {7, "Q5_1", 32, 24, kit::kFloat32, decode_q5_1, {5, 32, false}},
    {8, "Q8_0", 32, 34, kit::kFloat32, decode_q8_0, {8, 32, true}},
    {10, "Q2_K", 256, 84, kit::kFloat32, decode_q2_k, {2, 16, false}},
    {11, "Q3_K", 256, 110, kit::kFloat32, decode_q3_k, {3, 16, true}},
    {12, "Q4_K", 256, 144, kit::kFloat32, decode_q4_k, {4, 32, false}},
    {13, "Q5_K", 256, 176, kit::kFloat32, decode_q5_k, {5, 32, false}},
    {14, "Q6_K", 256, 210, kit::kFloat32, decode_q6_k, {6, 16, true}},
}};

// Those that are refused by name.
constexpr std::array<std::pair<uint32_t, const char*>, 20> kOthers = {
    {{9, "Q8_1"},   {15, "Q8_K"},   {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
     {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},   {22, "IQ2_S"},  {23, "IQ4_XS"},
     {24, "I8"},    {25, "I16"},    {26, "I32"},     {27, "I64"},    {28, "F64"},
     {29, "IQ1_M"}, {34, "TQ1_0"},  {35, "TQ2_0"},   {39, "MXFP4"},  {40, "NVFP4"}}};

}  // namespace

const TensorType* find_tensor_type(uint32_t number) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [number](const TensorType& type) {
    return type.number == number;
  });
  return found == kTypes.end() ? nullptr : found;
}

const char* name_of_tensor_type(uint32_t number) {
  if (const TensorType* type = find_tensor_type(number)) {
    return type->name;
  }
  const auto* found = std::find_if(kOthers.begin(), kOthers.end(),
                                   [number](const auto& other) { return other.first == number; });
  return found == kOthers.end() ? "unknown" : found->second;
}

std::string names_of_tensor_types() {
  std::string names;
  for (const TensorType& type : kTypes) {
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return names;
}

}  // namespace quench::gguf
