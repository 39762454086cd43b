// A library of the same small operator in all five generations, under one namespace.
#include "plugins/circ_pad.h"

namespace
{
using namespace nvinfer1;

constexpr char const* kNamespace{"five"};

template <typename P>
IPluginCreatorInterface* creatorOf()
{
    static plugintest::CircPadCreator<P> creator;
    creator.setPluginNamespace(kNamespace);
    return &creator;
}
} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static plugintest::CircPadCreatorV3 newest;
    newest.nameSpace = kNamespace;
    static IPluginCreatorInterface* const kAll[]{creatorOf<plugintest::CircPadV2>(),
        creatorOf<plugintest::CircPadV2Ext>(), creatorOf<plugintest::CircPadV2IOExt>(),
        creatorOf<plugintest::CircPadV2DynamicExt>(), &newest};
    count = 5;
    return kAll;
}

// The journal of what happens to its plugins, for tests written in Python.
extern "C" __attribute__((visibility("default"))) void journalClear()
{
    plugintest::Journal::get().clear();
}

extern "C" __attribute__((visibility("default"))) int32_t journalAlive()
{
    return plugintest::Journal::get().alive();
}

//! One line per call, "OBJECT CALL ARGUMENTS"; valid until the next call.
extern "C" __attribute__((visibility("default"))) char const* journalText()
{
    static std::string text;
    text.clear();
    for (plugintest::Entry const& each : plugintest::Journal::get().all())
        text += std::to_string(each.object) + " " + each.call + " " + each.what + "\n";
    return text.c_str();
}
