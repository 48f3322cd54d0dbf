# What `cmake --install` puts where: headers, library, tools, and the two ways to find them
# (find_package(OmniPGAS), pkg-config omnipgas). `make uninstall` removes what the manifest lists.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/OmniPGAS)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS omnipgas EXPORT OmniPGAS LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT OmniPGAS NAMESPACE OmniPGAS:: DESTINATION ${package_dir})

foreach(tool omplrun ompl-info)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

configure_package_config_file(cmake/OmniPGASConfig.cmake.in OmniPGASConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(OmniPGASConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/OmniPGASConfig.cmake ${PROJECT_BINARY_DIR}/OmniPGASConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
foreach(library omnipgas omnipgas_fortran)
  if(TARGET ${library})
    string(REPLACE _ - file ${library}.pc)
    configure_file(cmake/${file}.in ${file} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${pkgconfig_dir})
  endif()
endforeach()
