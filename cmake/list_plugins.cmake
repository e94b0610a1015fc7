# Writes SHA256SUMS into FOLDER, the lib/quench of an installation: the plugins there, and their bytes, to which the program
# holds them (core/plugin/catalog/installation_list.hpp). `sha256sum -c SHA256SUMS` says the same.
#
#   cmake -D FOLDER=... -P list_plugins.cmake
#
# Run it after all that changes the files: stripping, other RUNPATHs.
file(GLOB libraries RELATIVE "${FOLDER}" "${FOLDER}/*/*.so")
list(FILTER libraries EXCLUDE REGEX "^(bundled|deps)/")
list(SORT libraries)
set(lines "")
foreach(library IN LISTS libraries)
  file(SHA256 "${FOLDER}/${library}" hash)
  string(APPEND lines "${hash}  ${library}\n")
endforeach()
file(WRITE "${FOLDER}/SHA256SUMS" "${lines}")
