// A library of the three special plugins.
#include "plugins/special.h"

namespace
{
template <typename P>
nvinfer1::IPluginCreatorInterface* creatorOf()
{
    static plugintest::OneToOneCreator<P> creator{plugintest::kSpecialNamespace};
    return &creator;
}
} // namespace

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static nvinfer1::IPluginCreatorInterface* const kAll[]{
        creatorOf<plugintest::NonZero>(), creatorOf<plugintest::InPlaceScatter>(), creatorOf<plugintest::TwoTactics>()};
    count = 3;
    return kAll;
}
