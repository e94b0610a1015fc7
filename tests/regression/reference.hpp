// The reference data of the regression tests: the validation text, expected numbers, how they are
// compared.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary.hpp"

namespace quench::test {

nlohmann::json read_json(const std::filesystem::path& path);

// The part of tinyshakespeare.txt that no reference model was trained on, as a file of its own.
class ValidationText {
 public:
  // Bytes of tinyshakespeare.txt.
  static constexpr size_t kFrom = 1003854;
  static constexpr size_t kTo = 1115394;

  // Skips the calling test without the data.
  static ValidationText make();

  // Cross entropy over blocks of 128 ids, as a value of --metric.
  std::string metric() const;
  const std::filesystem::path& file() const { return file_; }      // the part
  const std::filesystem::path& source() const { return source_; }  // the whole text

 private:
  std::shared_ptr<TemporaryDir> folder_;
  std::filesystem::path file_;
  std::filesystem::path source_;
};

// |got / wanted − 1|
double relative(double got, double wanted);

// The largest of what it is shown, with the name of the case it came from, so that a test can state
// by how much it passed.
class Worst {
 public:
  void see(double value, const std::string& where);
  double value() const { return value_; }
  // "<what>: 1.2e-9 at <where>" on stderr.
  void print(const std::string& what) const;

 private:
  double value_ = 0;
  std::string where_ = "nowhere";
};

}  // namespace quench::test
