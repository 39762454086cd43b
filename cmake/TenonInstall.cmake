# What `cmake --install` puts where: libraries, headers, the programs, package config and pkg-config file. The component
# `python` is what goes into the wheel instead.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(libraries tenon nvinfer nvinfer_lean nvinfer_dispatch nvinfer_plugin nvonnxparser)
install(TARGETS ${libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tenon)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT tenon
    FILES_MATCHING PATTERN "*.h")
# All that an installation needs; the programs go with it where they are built.
add_custom_target(tenon_package DEPENDS ${libraries} tenon_hostrt)
# Host calls under the CUDA runtime's names: what carries those names lies where nothing looks by itself.
install(TARGETS tenon_hostrt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tenon)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/hostrt/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon/hostrt
    COMPONENT tenon FILES_MATCHING PATTERN "*.h")
foreach(link IN LISTS TENON_HOSTRT_LINKS)
    install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/tenon/hostrt/${link}
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/hostrt COMPONENT tenon)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR}
    COMPONENT tenon)
if(TARGET tenon_cli)
    install(TARGETS tenon_cli tenon_trtexec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tenon OPTIONAL)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake
    INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
    DESTINATION ${package} COMPONENT tenon)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # From the file to the prefix, so that the tree can move.
set(TENON_PC_PREFIX "\${pcfiledir}/${up}")
foreach(file IN ITEMS tenon.pc tenon-cudart.pc)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT tenon)
endforeach()

# A wheel holds no links: each library once, under the name that others look for.
if(TARGET tenon_native)
    install(TARGETS tenon_native LIBRARY DESTINATION tenon COMPONENT python EXCLUDE_FROM_ALL)
    install(FILES ${PROJECT_BINARY_DIR}/python/tenon/_native.pyi DESTINATION tenon COMPONENT python EXCLUDE_FROM_ALL)
    foreach(library IN LISTS libraries ITEMS tenon_hostrt)
        install(PROGRAMS $<TARGET_FILE:${library}> DESTINATION tenon/lib RENAME $<TARGET_SONAME_FILE_NAME:${library}>
            COMPONENT python EXCLUDE_FROM_ALL)
    endforeach()
endif()
