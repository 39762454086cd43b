// Caches of tests are in the build folder: what a user's keeps is neither read nor added to, and what the fake compiler
// made goes together with what the cache says of it.
#include <cstdlib>

namespace
{
[[maybe_unused]] bool const isOwn = setenv("TENON_CACHE_DIR", TENON_TEST_CACHE, 0) == 0;
}
