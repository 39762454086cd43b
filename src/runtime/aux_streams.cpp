// AuxStreams: fences by events.
#include "runtime/aux_streams.h"

#include <algorithm>

namespace tenon
{

namespace
{
bool isDefault(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) <= 1;
}
} // namespace

AuxStreams::~AuxStreams()
{
    clear();
}

void AuxStreams::clear() noexcept
{
    for (Aux const& each : mAll)
        mDevice.destroyEvent(each.event);
    mAll.clear();
}

Result<Done> AuxStreams::set(std::span<void* const> streams, int32_t most)
{
    for (size_t i = 0; i < streams.size(); ++i)
    {
        TENON_TRY(mDevice.checkStream(streams[i]));
        if (isDefault(streams[i]))
            return badArgument("auxiliary stream {} is the default stream", i);
        auto const before = streams.first(i);
        if (std::ranges::find(before, streams[i]) != before.end())
            return badArgument("auxiliary stream {} occurs twice", i);
    }
    clear();
    for (size_t i = 0; i < std::min(streams.size(), static_cast<size_t>(most)); ++i)
        mAll.push_back({streams[i], TENON_TRY(mDevice.createEvent())});
    return Done{};
}

Result<Done> AuxStreams::order(void* earlier, void* later, void* event)
{
    TENON_TRY(mDevice.recordEvent(event, earlier));
    return mDevice.waitEvent(later, event);
}

Result<bool> AuxStreams::enter(void* stream, bool isCaptured, ContinueCheck const* mayContinue)
{
    for (Aux const& each : mAll)
    {
        TENON_TRY(mDevice.checkStream(each.stream));
        if (each.stream == stream)
            continue;
        if (isCaptured) // It becomes part of the capture.
            TENON_TRY(order(stream, each.stream, each.event));
        if (!isDefault(stream))
        {
            TENON_TRY(order(each.stream, stream, each.event));
            continue;
        }
        TENON_TRY(mDevice.recordEvent(each.event, each.stream));
        if (!TENON_TRY(mDevice.awaitEvent(each.event, mayContinue)))
            return false;
    }
    return true;
}

Result<Done> AuxStreams::leave(void* stream, bool isCaptured)
{
    for (Aux const& each : mAll)
    {
        if (each.stream == stream || isDefault(stream)) // There, the run is over.
            continue;
        TENON_TRY(order(stream, each.stream, each.event));
        if (isCaptured)
            TENON_TRY(order(each.stream, stream, each.event)); // A capture ends where it began.
    }
    return Done{};
}

} // namespace tenon
