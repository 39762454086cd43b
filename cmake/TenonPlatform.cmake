# Where Tenon builds and runs; elsewhere configuring, and with it `pip install`, ends with one sentence.
function(tenon_check_platform)
    if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
        message(FATAL_ERROR
            "Tenon runs on Linux on x86-64; this is ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}.")
    endif()
    include(CheckCXXSourceCompiles)
    check_cxx_source_compiles("
        #include <features.h>
        #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
        #error older or another C library
        #endif
        int main() { return 0; }" TENON_HAS_GLIBC)
    if(NOT TENON_HAS_GLIBC)
        message(FATAL_ERROR "Tenon needs glibc 2.36 or later (Debian 12, Ubuntu 24.04, Fedora 37).")
    endif()
endfunction()
tenon_check_platform()
