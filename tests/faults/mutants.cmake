# Seeded faults: places of the host's sources that go wrong when QUENCH_MUTANT names them. One build has them all.
#
#   add_mutant(<name> <source below core> <from> <to> <what catches it>)
#
# Every `from` in the source is replaced by `to`, in which @M@ stands for "this mutant is switched on". What catches it is
# `writes` (faults_test.cpp: kills, full disks, torn files) or the names of test cases of the suites that mutant_tests links.
set(mutants "")
set(mutated_sources "")
function(add_mutant name source from to caught)
  set(original "${PROJECT_SOURCE_DIR}/core/${source}")
  get_property(text DIRECTORY PROPERTY "mutated ${source}")
  if("${text}" STREQUAL "")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${original}")
    file(READ "${original}" text)
    set(text "#include \"tests/faults/mutant.hpp\"\n${text}")
    set(mutated_sources ${mutated_sources} "${source}" PARENT_SCOPE)
  endif()
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "mutant ${name}: ${source} has no '${from}'")
  endif()
  string(REPLACE "@M@" "quench_mutant(\"${name}\")" to "${to}")
  string(REPLACE "${from}" "${to}" text "${text}")
  set_property(DIRECTORY PROPERTY "mutated ${source}" "${text}")
  set(mutants "${mutants}${name}\t${caught}\n" PARENT_SCOPE)
endfunction()

add_mutant(record_not_synced store/record_file.cpp "if (::fsync(descriptor_) != 0)" "if (!@M@ && ::fsync(descriptor_) != 0)" writes)
add_mutant(failed_fsync_swallowed store/record_file.cpp "::fsync(descriptor_) != 0)"
           "(@M@ ? ::fsync(descriptor_) == 1 : ::fsync(descriptor_) != 0))" writes)
add_mutant(record_not_undone store/record_file.cpp "::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0"
           "(!@M@ && ::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0)" writes)
add_mutant(file_name_not_synced store/record_file.cpp "sync_folder_of(path_);" "if (!@M@) { sync_folder_of(path_); }" writes)
add_mutant(failed_close_swallowed store/record_file.cpp "::close(descriptor) != 0"
           "(@M@ ? ::close(descriptor) == 1 : ::close(descriptor) != 0)" writes)
add_mutant(attempt_overwritten store/record_file.cpp "attempt_ = next_attempt(folder, job)"
           "attempt_ = @M@ ? \"0001-00000000\" : next_attempt(folder, job)" writes)
add_mutant(published_before_sync base/io/atomic_file.cpp "if (fsync(descriptor_) != 0)" "if (!@M@ && fsync(descriptor_) != 0)" writes)
add_mutant(name_not_synced base/io/atomic_file.cpp "const int result = fsync(descriptor)"
           "const int result = @M@ ? 0 : fsync(descriptor)" writes)
add_mutant(write_error_swallowed base/io/atomic_file.cpp "if (put < 0) {" "if (put < 0) { if (@M@) { return; }" writes)
add_mutant(full_disk_swallowed base/io/atomic_file.cpp "fail(QUENCH_RESOURCE_EXHAUSTED, \"{}: {}: needs {} bytes"
           "if (@M@) { return; } fail(QUENCH_RESOURCE_EXHAUSTED, \"{}: {}: needs {} bytes" writes)
add_mutant(written_in_place base/io/atomic_file.cpp "bool AtomicFile::commit_new() {"
           "bool AtomicFile::commit_new() { if (@M@) { rename(temporary_.c_str(), path_.c_str()); }" writes)
add_mutant(checksum_ignored store/sealed_line.cpp "if (sha256_hex(body) !=" "if (!@M@ && sha256_hex(body) !=" writes)
add_mutant(half_evaluation_counts store/counting.cpp "if (group.lines.size() == line.count) {"
           "if (@M@ || group.lines.size() == line.count) {" writes)
add_mutant(tombstone_ignored store/store.cpp "while (is_there(file_of(key, generation, \"forgotten\")))"
           "while (!@M@ && is_there(file_of(key, generation, \"forgotten\")))" writes)

add_mutant(key_part_left_out store/derived.cpp "return std::find(members.begin(), members.end(), name) != members.end();"
           "return !(@M@ && name == \"trajectory\") && std::find(members.begin(), members.end(), name) != members.end();"
           "derived: contents pair values*")
add_mutant(sides_swapped store/derived.cpp "return q / f - 1;" "return @M@ ? f / q - 1 : q / f - 1;" "derived:*")
add_mutant(spread_off_by_one store/derived.cpp "static_cast<double>(n - 1) / static_cast<double>(n)"
           "static_cast<double>(@M@ ? n : n - 1) / static_cast<double>(n)" "derived:*")
add_mutant(seal_not_checked store/sealed_folder.cpp "got != wanted.sha256) {" "!@M@ && got != wanted.sha256) {" "sealed folder:*")
add_mutant(sealed_size_ignored store/sealed_folder.cpp "if (file.size() != wanted.bytes) {"
           "if (!@M@ && file.size() != wanted.bytes) {" "sealed folder:*")
add_mutant(changed_file_believed store/sealed_folder.cpp "(read_all || is_newer(*status, sealed))"
           "(read_all || (!@M@ && is_newer(*status, sealed)))" "sealed_folder:*")
add_mutant(users_file_replaced store/sealed_folder.cpp "if (name != kFolderSeal && !files.contains(name)) {"
           "if (!@M@ && name != kFolderSeal && !files.contains(name)) {" "sealed_folder:*")
add_mutant(value_of_another_key store/store.cpp "if (out[i].key != key || " "if ((!@M@ && out[i].key != key) || "
           "store: a file under another key's name*")
add_mutant(hash_of_a_fresh_file_kept store/fingerprints.cpp "now_ns() - before.newest_ns_ < kRacy"
           "(!@M@ && now_ns() - before.newest_ns_ < kRacy)" "fingerprints:*")
add_mutant(hash_of_the_wrong_file store/fingerprints.cpp "if (look(before.what_, before.files_).name_ != before.name_) {"
           "if (!@M@ && look(before.what_, before.files_).name_ != before.name_) {" "fingerprints:*")
add_mutant(claim_of_the_living_taken store/claims.cpp "out.taken = out.gone.empty();" "out.taken = !@M@ && out.gone.empty();"
           "claims: of two attempts*")
add_mutant(claim_of_the_ended_kept store/claims.cpp "if (state && state->state != \"running\") {"
           "if (!@M@ && state && state->state != \"running\") {" "claims: an owner that has ended*")
add_mutant(types_not_checked store/run_scan.cpp "shaped ? odd_field(record) : " "shaped && !@M@ ? odd_field(record) : "
           "run folder: a sealed line*")
add_mutant(truncated_weights_read checkpoint/safetensors.cpp "if (entry.end > data_bytes) {" "if (!@M@ && entry.end > data_bytes) {"
           "SafetensorsSource: bad files*")
add_mutant(wrong_size_of_a_dtype checkpoint/safetensors.cpp "if (entry.end - entry.begin != bytes) {"
           "if (!@M@ && entry.end - entry.begin != bytes) {" "SafetensorsSource: bad files*")
add_mutant(hole_between_tensors checkpoint/safetensors.cpp "if (entries[i].begin != end) {"
           "if (!@M@ && entries[i].begin != end) {" "SafetensorsSource: bad files*")
add_mutant(tensor_of_another_shard checkpoint/sharded_source.cpp "if (listed->second != file.filename()) {"
           "if (!@M@ && listed->second != file.filename()) {" "ShardedSource:*")
add_mutant(rounded_towards_zero arithmetic/convert_float.cpp "std::nearbyint(std::ldexp(value, -unit))"
           "(@M@ ? std::trunc(std::ldexp(value, -unit)) : std::nearbyint(std::ldexp(value, -unit)))" "convert_float:*")
add_mutant(half_read_as_bfloat16 arithmetic/convert_float.cpp "widen<uint16_t>(elements, count, values, from_half);"
           "widen<uint16_t>(elements, count, values, @M@ ? from_brain : from_half);" "convert_float:*")
add_mutant(warmup_off_by_one arithmetic/learning_rate.cpp "schedule.peak * static_cast<double>(step) /"
           "schedule.peak * static_cast<double>(@M@ ? step - 1 : step) /" "training rates:*")
add_mutant(epochs_in_one_order arithmetic/shuffle.cpp "static_cast<uint32_t>(epoch_), round |"
           "@M@ ? 0U : static_cast<uint32_t>(epoch_), round |" "shuffle:*")
add_mutant(mean_without_weights arithmetic/mean_bits.cpp "bits += layer.bits_per_weight * layer.weights;"
           "bits += layer.bits_per_weight * (@M@ ? 1.0 : layer.weights);" "mean bits:*")

set(objects "")
foreach(source IN LISTS mutated_sources)
  get_property(text DIRECTORY PROPERTY "mutated ${source}")
  string(REPLACE "/" "_" name "${source}")
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/mutated/${name}" CONTENT "${text}" @ONLY)
  list(APPEND objects "${CMAKE_CURRENT_BINARY_DIR}/mutated/${name}")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/tests/mutants.txt" CONTENT "${mutants}" @ONLY)
# The mutated objects stand before the libraries that have the originals, so that the linker takes them. Libraries are
# compiled sixteen sources at a time, so an original may come along with its neighbours: the first definition counts.
add_library(mutated_objects OBJECT mutant.cpp ${objects})
target_link_libraries(mutated_objects PRIVATE quench::host TBB::tbb OpenSSL::Crypto)
target_include_directories(mutated_objects PRIVATE "${PROJECT_SOURCE_DIR}")
target_compile_options(mutated_objects PRIVATE -w)
add_executable(mutant_writer $<TARGET_OBJECTS:record_writer_objects> $<TARGET_OBJECTS:mutated_objects>)
target_link_libraries(mutant_writer PRIVATE quench::host TBB::tbb OpenSSL::Crypto)
add_executable(mutant_tests $<TARGET_OBJECTS:core_store_tests> $<TARGET_OBJECTS:core_checkpoint_tests>
               $<TARGET_OBJECTS:core_arithmetic_tests> $<TARGET_OBJECTS:mutated_objects>)
target_link_libraries(mutant_tests PRIVATE quench_test_main quench_test_support quench::host ZLIB::ZLIB TBB::tbb OpenSSL::Crypto)
target_link_options(mutant_writer PRIVATE -Wl,--allow-multiple-definition)
target_link_options(mutant_tests PRIVATE -Wl,--allow-multiple-definition)
set_target_properties(mutant_writer mutant_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" LINKER_LANGUAGE CXX)
