#include "tokenizers/tokenizer_json/pre_tokenizers/delimiters.hpp"

namespace quench::tokenizers {

namespace {

struct Part {
  size_t begin;
  size_t end;
  bool delimiter;
};

std::vector<Part> alternate(size_t size, const std::vector<Match>& matches, bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t done = 0;
  for (const Match& match : matches) {
    if (match.begin != done) {
      parts.push_back({done, match.begin, invert});
    }
    parts.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done != size) {
    parts.push_back({done, size, invert});
  }
  return parts;
}

// Whether `part` joins the one before it, of which only its kind counts; for merged_with_next the
// neighbours are seen from the right.
bool joins(const Part& part, bool neighbour_is_delimiter, bool is_first, Delimiters delimiters) {
  if (is_first) {
    return false;
  }
  return delimiters == Delimiters::contiguous ? part.delimiter == neighbour_is_delimiter
                                              : part.delimiter && !neighbour_is_delimiter;
}

void join_forward(std::vector<Part>& parts, Delimiters delimiters) {
  size_t kept = 0;
  bool neighbour = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part part = parts[i];
    if (joins(part, neighbour, i == 0, delimiters)) {
      parts[kept - 1].end = part.end;
    } else {
      parts[kept++] = part;
    }
    neighbour = part.delimiter;
  }
  parts.resize(kept);
}

void join_backward(std::vector<Part>& parts) {
  size_t kept = parts.size();
  bool neighbour = false;
  for (size_t i = parts.size(); i-- > 0;) {
    const Part part = parts[i];
    if (joins(part, neighbour, i + 1 == parts.size(), Delimiters::merged_with_next)) {
      parts[kept].begin = part.begin;
    } else {
      parts[--kept] = part;
    }
    neighbour = part.delimiter;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(kept));
}

}  // namespace

Delimiters parse_delimiters(const Entry& entry) {
  const std::string name = entry.string();
  if (name == "Removed") {
    return Delimiters::removed;
  }
  if (name == "Isolated") {
    return Delimiters::isolated;
  }
  if (name == "Contiguous") {
    return Delimiters::contiguous;
  }
  if (name == "MergedWithPrevious") {
    return Delimiters::merged_with_previous;
  }
  if (name == "MergedWithNext") {
    return Delimiters::merged_with_next;
  }
  entry.unsupported(
      "\"{}\" is not supported; supported: Contiguous, Isolated, MergedWithNext, "
      "MergedWithPrevious, Removed",
      printable(name));
}

void cut(const Piece& piece, const std::vector<Match>& matches, Delimiters delimiters, bool invert,
         std::vector<Piece>& out) {
  std::vector<Part> parts = alternate(piece.text.size(), matches, invert);
  if (delimiters == Delimiters::merged_with_next) {
    join_backward(parts);
  } else if (delimiters == Delimiters::contiguous ||
             delimiters == Delimiters::merged_with_previous) {
    join_forward(parts, delimiters);
  }
  for (const Part& part : parts) {
    const bool dropped = delimiters == Delimiters::removed && part.delimiter;
    if (part.begin < part.end && !dropped) {
      out.push_back(piece.part(part.begin, part.end));
    }
  }
}

}  // namespace quench::tokenizers
