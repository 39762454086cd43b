// A library with a plugin of an ONNX operator's name: its Relu pads.
#include "plugins/circ_pad.h"

namespace
{
using namespace nvinfer1;

class ReluCreator final : public plugintest::CircPadCreatorV3
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Relu";
    }
};
} // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static ReluCreator relu;
    static plugintest::CircPadCreatorV3 pad; // What it makes says this name, by which a runtime finds it again.
    static IPluginCreatorInterface* const kAll[]{&relu, &pad};
    count = 2;
    return kAll;
}
