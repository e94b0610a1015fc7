# The manual page and the completions, where man and the shells look: the installed program's own words, so that they cannot
# be out of date. Component `manual`.
install(CODE "
set(program \"$<TARGET_FILE:quench>\")
set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
set(man \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}\")" COMPONENT manual)
install(CODE [=[
foreach(text "man;${man}/man1/quench.1" "bash;${to}/bash-completion/completions/quench"
        "zsh;${to}/zsh/site-functions/_quench" "fish;${to}/fish/vendor_completions.d/quench.fish")
  list(GET text 0 form)
  list(GET text 1 file)
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  message(STATUS "Installing: ${file}")
  execute_process(COMMAND "${program}" completion ${form} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
]=] COMPONENT manual)
