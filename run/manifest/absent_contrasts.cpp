#include "run/manifest/absent_contrasts.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "report/selector.hpp"

namespace quench {

namespace {

// What the sides of contrasts may name.
struct Measured {
  explicit Measured(const std::vector<Experiment>& experiments) {
    for (const Experiment& experiment : experiments) {
      for (const QuantizerCell& cell : experiment.quantizers) {
        quantizers.push_back(cell.plugin->id);
        labels.push_back(cell.label);
      }
      for (const AveragingCell& cell : experiment.averagings) {
        averagings.push_back(cell.plugin->id);
        averagings.push_back(cell.label);
      }
      for (const Branch& branch : experiment.branches) {
        if (!branch.name.empty()) {
          branches.push_back(branch.name);
        }
      }
    }
    averagings.insert(averagings.end(), {"raw", "none"});
    quantizers.emplace_back("none");
  }

  // Null where the dimension's values are not known from a manifest.
  const std::vector<std::string>* values_of(const std::string& dimension) const {
    return dimension == "quantizer"   ? &quantizers
           : dimension == "averaging" ? &averagings
           : dimension == "branch"    ? &branches
                                      : nullptr;
  }

  std::vector<std::string> quantizers;
  std::vector<std::string> labels;
  std::vector<std::string> averagings;
  std::vector<std::string> branches;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string named(const char* kind, const std::string& name, std::vector<std::string> known) {
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string near = nearest(name, known);
  return fmt::format("no {} of this manifest is called {}; {}", kind, printable(name),
                     near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                  : fmt::format("did you mean {}?", near));
}

std::vector<std::string> all_names(const Measured& measured) {
  std::vector<std::string> all = measured.quantizers;
  for (const auto* names : {&measured.labels, &measured.averagings, &measured.branches}) {
    all.insert(all.end(), names->begin(), names->end());
  }
  return all;
}

// The labels that are the side's name with the values of a sweep behind it.
std::set<std::string> swept_labels(const Selector& side, const Measured& measured) {
  std::set<std::string> out;
  for (const auto* names : {&measured.labels, &measured.averagings}) {
    std::copy_if(names->begin(), names->end(), std::inserter(out, out.end()),
                 [&](const std::string& label) { return is_swept_label(label, side.text); });
  }
  return out;
}

// What is wrong with a side, or "".
std::string problem_of(const Selector& side, const Measured& measured) {
  const std::vector<std::string> all = all_names(measured);
  if (!side.text.empty() && !has(all, side.text) && swept_labels(side, measured).empty()) {
    return named("quantizer, averaging or branch", side.text, all);
  }
  for (const auto& [dimension, values] : side.conditions) {
    const std::vector<std::string>* known = measured.values_of(dimension);
    for (const nlohmann::json& value : values) {
      if (known != nullptr && value.is_string() && !has(*known, value.get<std::string>())) {
        return named(dimension.c_str(), value.get<std::string>(), *known);
      }
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> absent_contrasts(const ReportSpec& report,
                                          const std::vector<Experiment>& experiments) {
  const Measured measured(experiments);
  std::vector<std::string> out;
  for (const ContrastSpec& contrast : report.contrasts) {
    for (const auto& [name, side] : {std::pair("a", &contrast.a), std::pair("b", &contrast.b)}) {
      if (side == &contrast.b && contrast.b_is_members) {
        continue;
      }
      const std::string problem = problem_of(*side, measured);
      if (!problem.empty()) {
        out.push_back(fmt::format("{}: contrasts: `{}`: {}; it will compare nothing",
                                  contrast.place.text(), name, problem));
      }
    }
  }
  return out;
}

void check_contrast_labels(const ReportSpec& report, const std::vector<Experiment>& experiments,
                           Problems& problems) {
  const Measured measured(experiments);
  const std::vector<std::string> all = all_names(measured);
  for (const ContrastSpec& contrast : report.contrasts) {
    for (const auto& [name, side] : {std::pair("a", &contrast.a), std::pair("b", &contrast.b)}) {
      const std::set<std::string> swept = swept_labels(*side, measured);
      if (swept.size() > 1 && !has(all, side->text)) {
        problems.add(contrast.place,
                     fmt::format("contrasts: `{}`: {} is the label of a sweep; wanted one of {}",
                                 name, printable(side->text), fmt::join(swept, ", ")));
      }
    }
  }
}

}  // namespace quench
