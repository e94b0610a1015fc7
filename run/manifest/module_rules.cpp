#include "run/manifest/module_rules.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kSuggestions = 3;

// "lm_head.weight" -> "lm_head".
std::string module_of(std::string parameter) {
  constexpr std::string_view kEnding = ".weight";
  if (parameter.ends_with(kEnding)) {
    parameter.resize(parameter.size() - kEnding.size());
  }
  return parameter;
}

// Fewest characters to add, drop or change in `name` until the pattern matches it.
size_t distance(std::string_view pattern, std::string_view name) {
  std::vector<size_t> row(name.size() + 1);
  for (size_t n = 0; n < row.size(); ++n) {
    row[n] = n;
  }
  for (const char wanted : pattern) {
    size_t diagonal = row[0];
    row[0] += wanted == '*' ? 0 : 1;
    for (size_t n = 1; n < row.size(); ++n) {
      const size_t above = row[n];
      if (wanted == '*') {
        row[n] = std::min(above, row[n - 1]);
      } else {
        const size_t change = diagonal + (wanted == '?' || wanted == name[n - 1] ? 0 : 1);
        row[n] = std::min({change, above + 1, row[n - 1] + 1});
      }
      diagonal = above;
    }
  }
  return row.back();
}

// Replaces every number by one '0', so that a suggestion covers the modules of all blocks.
std::string without_numbers(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || out.empty() || out.back() != '0') {
      out += digit ? '0' : c;
    }
  }
  return out;
}

std::vector<std::string> nearest_names(const std::string& pattern,
                                       const std::vector<const std::set<std::string>*>& names) {
  std::map<std::string, std::pair<size_t, std::string>> best;  // best match of each form
  for (const std::set<std::string>* group : names) {
    for (const std::string& name : *group) {
      const std::pair found(distance(pattern, name), name);
      const auto [at, added] = best.emplace(without_numbers(name), found);
      at->second = std::min(at->second, found);
    }
  }
  std::vector<std::pair<size_t, std::string>> sorted;
  sorted.reserve(best.size());
  for (const auto& [form, found] : best) {
    sorted.push_back(found);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(sorted.size(), kSuggestions); ++i) {
    out.push_back(sorted[i].second);
  }
  return out;
}

}  // namespace

void add_names(const ModelHandle& model, ModuleNames& names) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        names.linears.insert(block.groups[g].linears[l].name);
      }
    }
  }
  for (const quench_parameter_info& parameter : model.parameters()) {
    if (parameter.role == QUENCH_ROLE_HEAD) {
      names.heads.insert(module_of(parameter.name));
    } else if (parameter.role == QUENCH_ROLE_EMBEDDING) {
      names.embeddings.insert(module_of(parameter.name));
    }
  }
}

KnownModules known_modules(const DescribedModels& described) {
  KnownModules out{{}, described.complete};
  for (const DescribedModel& each : described.models) {
    add_names(each.model, out.names);
  }
  return out;
}

void require_modules(const QuantizerHandle& quantizer, const nlohmann::json& parameters,
                     const ModuleNames& names) {
  if (!quantizer.has_rules() || !parameters.contains(QUENCH_QUANTIZER_RULES)) {
    return;
  }
  std::vector<const std::set<std::string>*> groups = {&names.linears};
  if ((quantizer.needs() & QUENCH_QUANTIZES_HEAD) != 0) {
    groups.push_back(&names.heads);
  }
  if ((quantizer.needs() & QUENCH_QUANTIZES_EMBEDDING) != 0) {
    groups.push_back(&names.embeddings);
  }
  const nlohmann::json& list = parameters.at(QUENCH_QUANTIZER_RULES);
  for (size_t i = 0; i < list.size(); ++i) {
    const bool fits = std::any_of(groups.begin(), groups.end(), [&](const auto* group) {
      return std::any_of(group->begin(), group->end(),
                         [&](const std::string& name) { return quantizer.rule_fits(i, name); });
    });
    if (!fits) {
      const std::string text = list[i].get<std::string>();
      const std::string pattern = text.substr(0, text.find(' '));
      fail(QUENCH_INVALID_ARGUMENT,
           "quantizer {}: {}[{}]: \"{}\" matches no quantized linear; nearest: {}", quantizer.id(),
           QUENCH_QUANTIZER_RULES, i, printable(pattern),
           fmt::join(nearest_names(pattern, groups), ", "));
    }
  }
}

bool may_have_rules(const QuantizerCell& cell) {
  return std::any_of(cell.parameters.begin(), cell.parameters.end(), [](const auto& value) {
    return value.is_array() && !value.empty() && value.front().is_string();
  });
}

void check_modules(const Experiment& experiment, const DescribedModels& described,
                   QuantizerInstances& quantizers) {
  if (!described.complete) {
    return;
  }
  const KnownModules known = known_modules(described);
  std::vector<std::string> faults;
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (!may_have_rules(cell)) {
      continue;
    }
    try {
      require_modules(quantizers.of(cell), cell.parameters, known.names);
    } catch (const Error& error) {
      if (error.code() == QUENCH_INTERNAL) {
        continue;  // of the plugin itself: its cells report it
      }
      if (error.code() != QUENCH_INVALID_ARGUMENT) {
        throw;
      }
      const std::string fault =
          cell.where.empty() ? error.what() : cell.where + ": " + error.what();
      if (std::find(faults.begin(), faults.end(), fault) == faults.end()) {
        faults.push_back(fault);
      }
    }
  }
  if (!faults.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(faults, "\n"));
  }
}

}  // namespace quench
