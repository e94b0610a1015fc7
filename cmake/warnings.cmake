# Warnings and sanitizers as one interface target that everything of ours links.
add_library(quench_warnings INTERFACE)
target_compile_options(quench_warnings INTERFACE -Wall -Wextra -Wshadow -Wvla -Werror)
set(sanitizers "")
if(QUENCH_FUZZ)
  set(sanitizers "fuzzer-no-link,address,undefined")
endif()
set(QUENCH_SANITIZE "${sanitizers}" CACHE STRING "Sanitizers, as -fsanitize= takes them")
if(QUENCH_SANITIZE)
  # An empty vtable of another module is not a fault: plugins are loaded RTLD_LOCAL, hence no vptr check.
  target_compile_options(quench_warnings INTERFACE -fsanitize=${QUENCH_SANITIZE} -fno-sanitize-recover=all
                         -fno-sanitize=vptr -fno-omit-frame-pointer
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>) # false alarms in <regex> once instrumented
  target_link_options(quench_warnings INTERFACE -fsanitize=${QUENCH_SANITIZE})
endif()
