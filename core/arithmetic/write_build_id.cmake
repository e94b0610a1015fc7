# Writes a source file with the build id of an archive: ARCHIVE, LINKER, READELF, OUT.
execute_process(COMMAND "${LINKER}" -r --build-id=sha1 --whole-archive "${ARCHIVE}" -o "${OUT}.o"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${READELF}" --notes --wide "${OUT}.o" OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f]+)")
  message(FATAL_ERROR "${OUT}.o: has no build id")
endif()
file(WRITE "${OUT}" "#include \"core/arithmetic/build_id.hpp\"

namespace quench {

std::string_view arithmetic_build_id() {
  return \"${CMAKE_MATCH_1}\";
}

}  // namespace quench
")
file(REMOVE "${OUT}.o")
