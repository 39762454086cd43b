// A library whose creator registers itself when the library is opened, and that exports nothing.
#include "plugins/circ_pad.h"

namespace
{
using namespace nvinfer1;

class SelfPadCreator final : public plugintest::CircPadCreatorV3
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "SelfPad";
    }
};
REGISTER_TENSORRT_PLUGIN(SelfPadCreator);
} // namespace
