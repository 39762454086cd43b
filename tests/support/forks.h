// Tests that fork: not where a sanitizer cannot follow.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__)
#define TENON_SKIP_FORK GTEST_SKIP() << "ThreadSanitizer does not follow a process with threads that forks"
#elif defined(__SANITIZE_ADDRESS__)
#define TENON_SKIP_FORK                                                                                                \
    GTEST_SKIP() << "AddressSanitizer's allocator has locks that a child of a process with threads may find taken"
#else
#define TENON_SKIP_FORK
#endif
