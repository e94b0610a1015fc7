#include "core/plugin/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/plugin/links.hpp"
#include "core/plugin/python_file.hpp"
#include "core/plugin/table_call.hpp"

namespace quench {

namespace {

const PlacementChoice* find_choice(const std::vector<PlacementChoice>& choices,
                                   const std::vector<const PluginDescription*>& items) {
  for (const PlacementChoice& choice : choices) {
    for (const PluginDescription* item : items) {
      if (names(choice, *item)) {
        return &choice;
      }
    }
  }
  return nullptr;
}

Placed as_said(const PlacementChoice& choice) {
  return {choice.placement, choice.said, true};
}

// Those that cannot move come first among equals, so that a movable one makes room for them.
int rank(const Candidate& candidate) {
  return (candidate.is_loaded ? 0 : 4) + (candidate.shipped ? 0 : 2) + (candidate.movable ? 1 : 0);
}

}  // namespace

std::string to_text(Placement placement) {
  return placement == Placement::kOwn ? "own" : "shared";
}

Isolation parse_isolation(const std::vector<std::string>& values) {
  Isolation out;
  for (const std::string& value : values) {
    const Isolation::Extent extent = value == "none"  ? Isolation::Extent::kNone
                                     : value == "all" ? Isolation::Extent::kAll
                                                      : Isolation::Extent::kUsual;
    if (extent == Isolation::Extent::kUsual) {
      out.command_line.push_back({value, Placement::kOwn, "`--isolate " + value + "`"});
      continue;
    }
    if (out.extent != Isolation::Extent::kUsual && out.extent != extent) {
      fail(QUENCH_INVALID_ARGUMENT, "--isolate: got none and all, wanted one of them");
    }
    out.extent = extent;
  }
  return out;
}

bool names(const PlacementChoice& choice, const PluginDescription& plugin) {
  return choice.plugin == plugin.id || choice.plugin == plugin.kind + "/" + plugin.id;
}

Placed place_library(const std::vector<const PluginDescription*>& items, bool shipped,
                     const Isolation& isolation) {
  if (const PlacementChoice* choice = find_choice(isolation.command_line, items)) {
    return as_said(*choice);
  }
  if (is_python_file(items.front()->library)) {
    return {Placement::kOwn, "written in Python"};
  }
  if (isolation.extent == Isolation::Extent::kNone) {
    return {Placement::kShared, "`--isolate none`", true};
  }
  if (isolation.extent == Isolation::Extent::kAll) {
    return {Placement::kOwn, "`--isolate all`", true};
  }
  if (const PlacementChoice* choice = find_choice(isolation.manifest, items)) {
    return as_said(*choice);
  }
  return shipped ? Placed{Placement::kShared, ""}
                 : Placed{Placement::kOwn, "not part of this installation"};
}

std::string own_process_line(const PluginDescription& plugin, const std::string& reason) {
  return fmt::format("{} runs in a process of its own: {}", plugin_label(plugin), reason);
}

std::string worker_group(const PluginDescription& plugin) {
  return plugin.library.string();
}

std::string clash_refusal(const std::string& conflict, const std::string& because) {
  return because.empty() ? conflict
                         : fmt::format("{}; without {} one would run in a process of its own",
                                       conflict, because);
}

Resolution resolve_clashes(std::vector<Candidate> candidates,
                           const std::vector<LinkedLibrary>& loaded) {
  Resolution out;
  std::vector<const Candidate*> staying;
  const auto is_apart = [&](const Candidate& candidate) {
    return std::any_of(out.apart.begin(), out.apart.end(), [&](const Resolution::Move& move) {
      return move.plugin->library == candidate.plugin->library;
    });
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  for (const Candidate& candidate : candidates) {
    if (is_apart(candidate)) {
      continue;
    }
    const PluginDescription& plugin = *candidate.plugin;
    std::string reason = candidate.is_loaded ? "" : link_conflict(plugin.links, loaded);
    std::string conflict = reason.empty() ? "" : plugin_label(plugin) + ": " + reason;
    std::string because = candidate.because;
    for (size_t i = 0; reason.empty() && i < staying.size(); ++i) {
      const PluginDescription& other = *staying[i]->plugin;
      conflict = companion_conflict(plugin, other);
      reason = conflict.empty() ? "" : companion_reason(plugin, other);
      because = because.empty() ? staying[i]->because : because;
    }
    if (reason.empty()) {
      staying.push_back(&candidate);
      out.together.push_back(&plugin);
    } else if (candidate.movable) {
      out.apart.push_back({&plugin, reason});
    } else {
      out.refused.push_back(clash_refusal(conflict, because));
    }
  }
  return out;
}

}  // namespace quench
