#include "promises/promise.hpp"

#include <algorithm>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"

namespace quench::promises {

std::span<const Promise> promises_of(std::string_view kind) {
  if (kind == "quantizer") {
    return quantizer_promises();
  }
  return {};
}

Verdict try_promise(const Promise& promise, Candidate& candidate) {
  try {
    promise.keep(candidate);
    return {};
  } catch (const Skipped& skipped) {
    return {Outcome::kSkipped, skipped.what()};
  } catch (const std::exception& failure) {
    return {Outcome::kBroken, failure.what()};
  }
}

const Parameter* Candidate::find(std::string_view name) const {
  const std::vector<Parameter>& all = parameters();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Parameter& parameter) { return parameter.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string Candidate::complete(const nlohmann::json& given) const {
  nlohmann::json out = nlohmann::json::object();
  std::string missing;
  for (const Parameter& parameter : parameters()) {
    if (given.contains(parameter.name)) {
      out[parameter.name] = given[parameter.name];
    } else if (parameter.preset) {
      out[parameter.name] = *parameter.preset;
    } else {
      missing += (missing.empty() ? "" : ", ") + parameter.name;
    }
  }
  if (!missing.empty()) {
    throw Skipped("no value is known for its required " + missing);
  }
  return out.dump();
}

}  // namespace quench::promises
