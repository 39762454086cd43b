# {fmt} without its shared library, which a wheel could not carry: compiled here once. As headers alone, every file of
# ours would compile the whole of it again, which is a third of a cold build.
find_package(fmt REQUIRED)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
    add_library(tenon_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
    target_include_directories(tenon_fmt SYSTEM PUBLIC
        $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
else() # What fmt.cpp must instantiate is another matter in each version.
    add_library(tenon_fmt INTERFACE)
    target_link_libraries(tenon_fmt INTERFACE fmt::fmt-header-only)
endif()
