// A library of plugins made from the layout table alone: what it exports.
#include "raw_layout.h"

namespace
{
void* gFinder{nullptr};
}

#define TENON_RAW_EXPORT extern "C" __attribute__((visibility("default")))

TENON_RAW_EXPORT void setLoggerFinder(void* finder)
{
    gFinder = finder;
}

TENON_RAW_EXPORT void* const* getCreators(int32_t& count)
{
    static void* const kAll[]{raw::repeatCreator(), raw::strideCreator()};
    if (gFinder != nullptr)
        raw::log(gFinder, "the raw library is asked for its creators");
    count = 2;
    return kAll;
}

//! What this library takes from the layout table: rows of "slot", "call" or "place", record, position, name.
TENON_RAW_EXPORT char const* rawLayout()
{
    static std::string const kText = [] {
        std::string text;
        raw::describeRepeat(text);
        raw::describeStride(text);
        for (raw::Called const& each : raw::kCalls)
            text += std::string{"call\t"} + each.record + "\t" + std::to_string(each.slot) + "\t" + each.name + "\n";
        for (raw::Place const& each : raw::kPlaces)
            text += std::string{"place\t"} + each.record + "\t" + std::to_string(each.at) + "\t" + each.member + "\n";
        return text;
    }();
    return kText.c_str();
}
