# What is installed: libraries, headers, the program.
include(GNUInstallDirs)
install(TARGETS tenon nvinfer nvinfer_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon FILES_MATCHING PATTERN "*.h")
