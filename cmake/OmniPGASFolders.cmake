# Installing notes first which of the folders it is about to make are not there, so that uninstalling may remove
# just those: build/install_folders.txt. Before any other install rule.
set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/omnipgas)
set(folders ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_INCLUDEDIR}/mpp ${CMAKE_INSTALL_LIBDIR}/cmake
  ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_DOCDIR}
  ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(section 1 3 7)
  list(APPEND folders ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(CODE "
  foreach(folder IN ITEMS ${folders})
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    while(NOT folder STREQUAL \"/\" AND NOT EXISTS \"\$ENV{DESTDIR}\${folder}\")
      file(APPEND \"${PROJECT_BINARY_DIR}/install_folders.txt\" \"\${folder}\\n\")
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
  endforeach()" ALL_COMPONENTS)
