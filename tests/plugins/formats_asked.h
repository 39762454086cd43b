// formatsAskedAbout: the formats that pads of V2 and V2Ext were asked about since the journal was cleared.
#pragma once

#include "plugins/circ_pad.h"

#include <set>

namespace plugintest
{

inline std::set<TensorFormat> formatsAskedAbout()
{
    std::set<TensorFormat> formats;
    for (Entry const& each : Journal::get().all())
        if (each.call == "supportsFormat")
            formats.insert(static_cast<TensorFormat>(std::stoi(each.what)));
    return formats;
}

//! Those that were there when V2 and V2Ext were all that there was.
inline std::set<TensorFormat> const kOldestFormats{TensorFormat::kLINEAR, TensorFormat::kCHW2, TensorFormat::kHWC8};

} // namespace plugintest
