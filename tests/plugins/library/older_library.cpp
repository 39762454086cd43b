// A library as those of 8.x and early 10.x were built: it exports getPluginCreators, not getCreators, and no finder.
#include "plugins/circ_pad.h"

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreator* const* getPluginCreators(int32_t& count)
{
    static plugintest::CircPadCreator<plugintest::CircPadV2DynamicExt> first;
    static plugintest::CircPadCreator<plugintest::CircPadV2> second;
    static nvinfer1::IPluginCreator* const kAll[]{&first, &second};
    count = 2;
    return kAll;
}
