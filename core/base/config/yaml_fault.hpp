// What is wrong with a text that the YAML parser refused, in words of the text rather than of its
// grammar.
#pragma once

#include <string>
#include <string_view>

namespace YAML {
class Exception;
}

namespace quench {

// "LINE: message" or "LINE:COLUMN: message", both counted from 1.
std::string yaml_fault(std::string_view text, const YAML::Exception& error);

}  // namespace quench
