// A library that needs another one, and registers TENON_PAD when it is handed the finder of loggers.
#include "plugins/circ_pad.h"

extern "C" bool isNeeded();

namespace
{
using namespace nvinfer1;

class NeedingCreator final : public plugintest::CircPadCreatorV3
{
    AsciiChar const* getPluginName() const noexcept override
    {
        return TENON_PAD;
    }
};
NeedingCreator gCreator;
} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*)
{
    if (isNeeded())
        getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(gCreator), "");
}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static IPluginCreatorInterface* const kNone[]{nullptr};
    count = 0;
    return kNone;
}
