// Generations: the only file that knows that version numbers differ between them.
#include "api/generation.h"

#include "NvInferVersion.h"

namespace tenon::api
{

namespace
{
constexpr int32_t kScale10{10000};  //!< major · 10000 + minor · 100 + patch, from 10.0 on.
constexpr int32_t kScale8{1000};    //!< major · 1000 + minor · 100 + patch, before.
constexpr int32_t kShifted{100800}; //!< 10.8.0 put addCumulative into the middle of the network's slots.
} // namespace

Result<Done> checkCallerVersion(int32_t version)
{
    if (version == kShifted)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "the program was compiled for TensorRT 10.8.0, whose binary layout differs from all other 10.x releases; "
            "compile it with the headers of another 10.x release or of Tenon");
    if (version / kScale8 == 8)
        return Done{}; // Our own headers in their 8.x mode.
    int32_t const major = version / kScale10;
    int32_t const minor = version / 100 % 100;
    if (major != NV_TENSORRT_MAJOR || minor > NV_TENSORRT_MINOR)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "the program was compiled for version number {}; this library serves 10.0 to {}.{} (but 10.8.0) and "
            "Tenon's "
            "headers with TRT_COMPAT_MAJOR=8; compile it with one of these",
            version, NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR);
    return Done{};
}

} // namespace tenon::api
