// A library of plugins with one thing wrong: the environment says what (FAULTY), so that a program can be tested on it.
#include "plugins/faulty.h"

#include <cstdlib>

namespace
{
plugintest::Wrong wrongBy(std::string const& name)
{
    using plugintest::Fault;
    if (name == "clone")
        return {Fault::kCloneForgets, {}};
    if (name == "crash")
        return {Fault::kCrashes, {}};
    if (name == "hang")
        return {Fault::kHangs, {}};
    if (name == "throw")
        return {Fault::kThrows, "onShapeChange"};
    return {};
}
} // namespace

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    char const* const name = std::getenv("FAULTY");
    plugintest::Wrong::now() = wrongBy(name == nullptr ? "" : name);
    static plugintest::FaultyCreatorV3 v3;
    static plugintest::FaultyCreator<plugintest::FaultyDynamic> v2;
    static nvinfer1::IPluginCreatorInterface* const kAll[]{&v3, &v2};
    count = 2;
    return kAll;
}
