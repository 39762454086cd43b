// The profile stream of a build.
#include "api/build/profile_stream.h"

namespace tenon::api
{

namespace
{
//! A stream with work of its own. 0 and 1 are the calling thread, which a build leaves as it is: the use of them would
//! wait for all blocking streams and spoil their captures.
bool isQueue(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) > 1;
}
} // namespace

Result<Done> checkProfileStream(Device const& device, BuilderConfig const& config)
{
    void* const stream = config.settings().profileStream;
    if (!isQueue(stream))
        return Done{};
    Result<Done> known = device.checkStream(stream);
    if (!known)
        return std::move(known).error().in("profile stream");
    return Done{};
}

Result<Done> awaitProfileStream(Device& device, BuilderConfig const& config)
{
    void* const stream = config.settings().profileStream;
    if (!isQueue(stream) || !device.checkStream(stream))
        return Done{}; // The build has said so, or the stream went meanwhile, and with it its work.
    RunFailure failure;
    auto const over = device.run({}, {.stream = stream}, failure);
    if (!over)
        return Error{over.error()}.in("profile stream");
    return Done{};
}

} // namespace tenon::api
