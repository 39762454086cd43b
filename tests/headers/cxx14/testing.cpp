// The header for tests of plugins as a user of C++14 includes it: all of it that is inline.
#include "tenon/testing.h"

#include <sstream>

std::string findingsOf(nvinfer1::IPluginV3& plugin, nvinfer1::IPluginCreatorInterface& creator);

std::string findingsOf(nvinfer1::IPluginV3& plugin, nvinfer1::IPluginCreatorInterface& creator)
{
    using namespace tenon::testing;
    Options options;
    options.inputs = {shape({2, 3}), range({1}, {2}, {3}), values({4})};
    options.fill = [](int32_t, TenonCheckTensor const&) { return true; };
    options.reference = [](Tensors const&, Tensors const&) { return true; };
    std::ostringstream text;
    text << check(plugin, options);
    Report const report = check(creator, options);
    return report && report.has("clone-carries", "clone") ? text.str() : report.message();
}
