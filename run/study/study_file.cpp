#include "run/study/study_file.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/config/problems.hpp"
#include "core/error.hpp"
#include "run/study/dialect.hpp"

namespace quench {

namespace {

constexpr size_t kMostJobs = 1u << 20;
constexpr int64_t kMostOfANumber = 1 << 24;

bool has_all(const YamlNode& root, const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return root.find(key) != nullptr; });
}

// A truth value as YAML 1.1 spells it, which is what the study's files are written in.
std::optional<bool> flag_of(const YamlNode& node) {
  std::string word = node.scalar;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  if (!node.is_scalar() || node.quoted) {
    return std::nullopt;
  }
  if (word == "true" || word == "yes" || word == "on") {
    return true;
  }
  return word == "false" || word == "no" || word == "off" ? std::optional(false) : std::nullopt;
}

// Reads the keys of one file; reports all that is wrong with them.
class KeyReader {
 public:
  KeyReader(const YamlNode& root, bool landscape) : reader_(root, "study file", problems_) {
    for (const YamlNode::Member& member : root.members) {
      axes_.push_back(axis_of(member));
    }
    for (const auto& [key, words] : study_dialect().used) {
      reader_.get(key);
    }
    for (const auto& [key, why] : study_dialect().without_counterpart) {
      reader_.get(key);
    }
    reader_.finish();
    if (!landscape) {
      for (const auto& [key, words] : study_dialect().used) {
        if (words.contains("required")) {
          reader_.require(key);
        }
      }
      check_averages();
    }
    for (const StudyFile::Axis& axis : axes_) {
      check_values(axis);
    }
    problems_.throw_if_any();
  }

  std::vector<StudyFile::Axis> take() { return std::move(axes_); }

 private:
  static StudyFile::Axis axis_of(const YamlNode::Member& member) {
    const bool list = member.value.is_sequence();
    return {member.key, member.value.place, list,
            list ? member.value.items : std::vector<YamlNode>{member.value}};
  }

  void refuse(const Place& place, const std::string& key, const std::string& message) {
    problems_.add(place, fmt::format("study file: `{}`: {}", key, message));
  }

  const StudyFile::Axis* find(const std::string& key) const {
    const auto found = std::find_if(axes_.begin(), axes_.end(),
                                    [&](const StudyFile::Axis& axis) { return axis.key == key; });
    return found != axes_.end() ? &*found : nullptr;
  }

  void check_values(const StudyFile::Axis& axis) {
    const StudyDialect& dialect = study_dialect();
    if (axis.values.empty()) {
      refuse(axis.place, axis.key, "got an empty list, so that there is no job");
    }
    if (axis.values.size() > 1 && !dialect.is(axis.key, "grid") &&
        !dialect.without_counterpart.contains(axis.key)) {
      refuse(axis.place, axis.key,
             fmt::format("got a list of {}, wanted one value: no grid has them side by side",
                         axis.values.size()));
    }
    for (const YamlNode& value : axis.values) {
      check_value(axis.key, value);
    }
  }

  void check_value(const std::string& key, const YamlNode& value) {
    const StudyDialect& dialect = study_dialect();
    const auto wanted = [&](const std::string& what) {
      refuse(value.place, key, fmt::format("got {}, wanted {}", value.described(), what));
    };
    if (dialect.is(key, "text") && (!value.is_scalar() || value.scalar.empty())) {
      wanted("text");
    } else if (dialect.is(key, "number")) {
      const nlohmann::json number = yaml_to_json(value);
      const bool whole = number.is_number_integer() && number >= 1 && number <= kMostOfANumber;
      if (!whole && !(dialect.is(key, "or_whole_row") && number == -1)) {
        wanted(fmt::format("a whole number, 1..{}", kMostOfANumber));
      }
    } else if (dialect.is(key, "method") && flag_of(value) != true) {
      wanted("true: the study's code quantizes with this method alone");
    } else if (dialect.is(key, "other_method") && flag_of(value) != false) {
      wanted("false: the study's code has no other method here");
    }
  }

  // `L` averages the last L of a list; without it each value is one checkpoint.
  void check_averages() {
    const StudyFile::Axis* revisions = find("revision");
    const StudyFile::Axis* lengths = find("L");
    for (size_t i = 0; revisions != nullptr && i < revisions->values.size(); ++i) {
      const YamlNode& value = revisions->values[i];
      if (lengths == nullptr || value.is_scalar()) {
        const bool good = lengths == nullptr && value.is_scalar() && !value.scalar.empty();
        if (!good) {
          refuse(
              value.place, "revision",
              fmt::format("got {}, wanted {}", value.described(),
                          lengths == nullptr ? "the name of a revision (only a file with `L` "
                                               "averages lists of them)"
                                             : "a list of revisions, of which `L` are averaged"));
        }
        continue;
      }
      for (const YamlNode& name : value.items) {
        if (!name.is_scalar() || name.scalar.empty()) {
          refuse(name.place, "revision",
                 fmt::format("got {}, wanted the name of a revision", name.described()));
        }
      }
      for (const YamlNode& length : lengths->values) {
        const nlohmann::json number = yaml_to_json(length);
        if (number.is_number_integer() && number > value.items.size()) {
          refuse(length.place, "L",
                 fmt::format("got {}, more than the {} revisions of the list", length.scalar,
                             value.items.size()));
        }
      }
    }
  }

  Problems problems_;
  MappingReader reader_;
  std::vector<StudyFile::Axis> axes_;
};

size_t value_index(const StudyFile& file, const std::string& key, size_t job) {
  const std::vector<StudyFile::Axis>& axes = file.axes();
  for (size_t i = axes.size(); i-- > 0; job /= axes[i].values.size()) {
    if (axes[i].key == key) {
      return job % axes[i].values.size();
    }
  }
  return 0;
}

// "last 3", with what else tells the averages of the file apart.
std::string average_label(const StudyFile& file, size_t job, size_t members,
                          const std::string& model) {
  std::string out = fmt::format("last {}", members);
  if (file.find("revision")->values.size() > 1) {
    out += fmt::format(" of list {}", value_index(file, "revision", job) + 1);
  }
  return file.find("repo_origin")->values.size() > 1 ? out + " of " + model : out;
}

std::string hub_name(const std::string& repository) {
  return repository.find("://") != std::string::npos ? repository : "hf://" + repository;
}

}  // namespace

bool is_study_file(const YamlNode& root) {
  if (!root.is_mapping() || root.find("checkpoints") != nullptr ||
      root.find("metrics") != nullptr) {
    return false;
  }
  return has_all(root, study_dialect().sweep) || has_all(root, study_dialect().landscape);
}

StudyFile::StudyFile(const YamlNode& root) : landscape_(has_all(root, study_dialect().landscape)) {
  axes_ = KeyReader(root, landscape_).take();
  for (const Axis& axis : axes_) {
    if (__builtin_mul_overflow(jobs_, axis.values.size(), &jobs_) || jobs_ > kMostJobs) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: study file: more than {} jobs", axis.place.text(),
           kMostJobs);
    }
  }
}

const StudyFile::Axis* StudyFile::find(const std::string& key) const {
  const auto found =
      std::find_if(axes_.begin(), axes_.end(), [&](const Axis& axis) { return axis.key == key; });
  return found != axes_.end() ? &*found : nullptr;
}

std::string StudyFile::text(const std::string& key, const std::string& otherwise) const {
  const Axis* axis = find(key);
  return axis != nullptr && !axis->values.front().is_null() ? axis->values.front().scalar
                                                            : otherwise;
}

std::vector<std::pair<std::string, const YamlNode*>> StudyFile::settings(size_t job) const {
  std::vector<std::pair<std::string, const YamlNode*>> out(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[i];
    out[i] = {axis.key, &axis.values[job % axis.values.size()]};
    job /= axis.values.size();
  }
  return out;
}

nlohmann::json StudyFile::point(size_t job) const {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, value] : settings(job)) {
    if (find(key)->values.size() > 1) {
      out[key] = yaml_to_json(*value);
    }
  }
  return out;
}

StudyCheckpoint study_path(const std::string& path) {
  const std::filesystem::path clean = std::filesystem::path(path).lexically_normal();
  const std::filesystem::path whole = clean.has_filename() ? clean : clean.parent_path();
  return {whole.parent_path().string(), whole.filename().string()};
}

StudyJob StudyFile::job(size_t job) const {
  StudyJob out;
  std::map<std::string, const YamlNode*> values;
  for (const auto& [key, value] : settings(job)) {
    values[key] = value;
  }
  if (landscape_) {
    for (const std::string& key : study_dialect().landscape) {
      out.checkpoints.push_back(study_path(values[key]->scalar));
    }
    return out;
  }
  const std::string model = hub_name(values["repo_origin"]->scalar);
  out.quantizer = {{"bits", yaml_to_json(*values["q_bits"])},
                   {"group_size", yaml_to_json(*values["group_size"])}};
  const YamlNode& revision = *values["revision"];
  if (revision.is_scalar()) {
    out.checkpoints = {{model, revision.scalar}};
    return out;
  }
  const auto members = yaml_to_json(*values["L"]).get<size_t>();
  out.average = average_label(*this, job, members, model);
  for (size_t i = revision.items.size() - members; i < revision.items.size(); ++i) {
    out.checkpoints.push_back({model, revision.items[i].scalar});
  }
  return out;
}

}  // namespace quench
