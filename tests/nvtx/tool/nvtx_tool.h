// What the tests ask the library that stands in for a tool of NVTX's.
#pragma once

#include <string>
#include <vector>

//! One thing that the tool heard.
struct NvtxHeard
{
    enum class Kind
    {
        kPush,
        kPop,
        kStart,
        kEnd,
    };
    Kind kind;
    std::string name; //!< Of the range that begins or ends.
    std::string domain;
};

//! All that was heard since the last question, in the order of the calls.
__attribute__((visibility("default"))) std::vector<NvtxHeard> takeNvtxHeard();
//! Calls that no tool may see: an end without a beginning, an event that is no text.
__attribute__((visibility("default"))) int nvtxFaults();
