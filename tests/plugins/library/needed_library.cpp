// What other libraries need: its static constructors register Pad5.
#include "plugins/circ_pad.h"

namespace
{
using namespace nvinfer1;

class NeededCreator final : public plugintest::CircPadCreatorV3
{
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Pad5";
    }
};
NeededCreator gCreator;
bool const kIsRegistered{getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(gCreator), "")};
} // namespace

extern "C" __attribute__((visibility("default"))) bool isNeeded()
{
    return kIsRegistered;
}
