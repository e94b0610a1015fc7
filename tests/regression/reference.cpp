#include "tests/regression/reference.hpp"

#include <cmath>
#include <cstdio>

#include "tests/support/fixtures.hpp"

namespace quench::test {

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_file(path));
}

ValidationText ValidationText::make() {
  const auto text = public_data("text/tinyshakespeare.txt");
  ValidationText out;
  out.folder_ = std::make_shared<TemporaryDir>();
  out.file_ = out.folder_->write("validation.txt", read_file(text).substr(kFrom, kTo - kFrom));
  out.source_ = text;
  return out;
}

std::string ValidationText::metric() const {
  return "validation_loss:text=" + file_.string() + ",block=128";
}

double relative(double got, double wanted) {
  return std::fabs(got / wanted - 1);
}

void Worst::see(double value, const std::string& where) {
  if (!(value <= value_)) {  // NaN is the worst of all
    value_ = value;
    where_ = where;
  }
}

void Worst::print(const std::string& what) const {
  std::fprintf(stderr, "%s: %.2e at %s\n", what.c_str(), value_, where_.c_str());
}

}  // namespace quench::test
