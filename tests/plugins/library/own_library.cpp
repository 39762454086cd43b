// A library whose creators register themselves when it is opened, and that exports getCreators besides: the first of
// them (TENON_EXPORTS_SAME), another creator, or one more of the first's name (PAD_TWICE in the environment).
#include "plugins/circ_pad.h"

#include <cstdlib>

namespace
{
using namespace nvinfer1;

template <char... name>
class NamedPadCreator : public plugintest::CircPadCreatorV3
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        static constexpr char const kName[]{name..., '\0'};
        return kName;
    }
};
using FirstPadCreator = NamedPadCreator<'P', 'a', 'd', '1'>;
using SecondPadCreator = NamedPadCreator<'P', 'a', 'd', '2'>;
using ThirdPadCreator = NamedPadCreator<'P', 'a', 'd', '3'>;

FirstPadCreator& first()
{
    static FirstPadCreator creator;
    return creator;
}
//! What REGISTER_TENSORRT_PLUGIN does, of an object that can be exported, too.
bool const kIsRegistered{getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(first()), "")};
REGISTER_TENSORRT_PLUGIN(SecondPadCreator);
} // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
#ifdef TENON_EXPORTS_SAME
    static IPluginCreatorInterface* const kAll[]{&first()};
#else
    static ThirdPadCreator third;
    static FirstPadCreator twice;
    static IPluginCreatorInterface* kAll[1];
    kAll[0] = std::getenv("PAD_TWICE") == nullptr ? static_cast<IPluginCreatorInterface*>(&third) : &twice;
#endif
    count = kIsRegistered ? 1 : 0;
    return kAll;
}
