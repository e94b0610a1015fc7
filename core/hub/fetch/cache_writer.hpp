// Writes a repository of the Hugging Face cache: blobs come first, then a whole snapshot of links,
// then the name, so that a kill leaves no snapshot that lacks a file of its own. Errors name the
// path, as those of AtomicFile.
#pragma once

#include <string>
#include <vector>

#include "core/hub/cached_repository.hpp"

namespace quench {

// Makes the folders, and the mark with which backup programs leave a cache out. Removes what killed
// processes left and nobody can use.
void open_for_writing(const CachedRepository& repository);
// Links all files, whose blobs are there. A snapshot that exists gets what it lacks.
void add_snapshot(const CachedRepository& repository, const std::string& commit,
                  const std::vector<HubFile>& files);
void set_reference(const CachedRepository& repository, const std::string& name,
                   const std::string& commit);

}  // namespace quench
