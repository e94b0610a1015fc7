// Reads what a hub answers. All of it is foreign: names become paths and hashes become file names,
// so both are checked here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/hub/fetch/http.hpp"
#include "core/hub/fetch/hub_access.hpp"
#include "core/hub/fetch/hub_api.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// `where` names the repository in messages; each throws Error(DATA_LOSS).

// The branches and tags of a reply to /refs, with their commits; a branch counts before a tag.
std::map<std::string, std::string> read_references(const std::string& json,
                                                   const std::string& where);
// The commit of a reply to /revision/NAME.
std::string read_commit(const std::string& json, const std::string& where);
// Appends the files of one page of a reply to /tree/COMMIT.
void read_tree(const std::string& json, const std::string& where, std::vector<HubFile>& files);
// The URL of the next page in a Link header, or "".
std::string next_page(const std::string& link);

// The first byte of the body that follows: 0 for 200, for 206 what Content-Range says, which must
// be `from`. Throws TryAgain where it is not.
uint64_t first_byte(const HttpHead& head, uint64_t from, uint64_t size, const std::string& where);
// Compares the headers in which the hub says what a file is with the list of the commit's files.
void check_file_head(const HttpHead& head, const std::string& commit, const HubFile& file,
                     const std::string& where);

// Throws TryAgain for statuses that pass (408, 429, 5xx; 416, when what is there already does not
// fit), else Error: NOT_FOUND, FAILED_PRECONDITION. Each is one line without the token. `head`: of
// any status but 2xx and redirects; `file`: "" where the repository was asked about.
[[noreturn]] void throw_refusal(const HttpHead& head, const HubAccess& access, const HubSpec& what,
                                const std::string& file);

}  // namespace quench
