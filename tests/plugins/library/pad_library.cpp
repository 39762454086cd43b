// A library of plugins as users build them: two creators, found through the functions it exports.
#include "plugins/circ_pad.h"

namespace
{
using namespace nvinfer1;

ILoggerFinder* gFinder{nullptr};

//! Says whether it had a logger when it was asked for its creators.
class TellingCreator final : public IPluginCreatorV3One
{
  public:
    explicit TellingCreator(char const* name)
        : mName{name}
    {
    }
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) noexcept override
    {
        return nullptr;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mName;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "library";
    }

  private:
    char const* mName;
    PluginFieldCollection mNone{};
};
} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder* finder)
{
    gFinder = finder;
}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    bool const hadLogger = gFinder != nullptr && gFinder->findLogger() != nullptr;
    static TellingCreator first{hadLogger ? "HadLogger" : "HadNoLogger"};
    static plugintest::CircPadCreatorV3 second;
    static IPluginCreatorInterface* const kAll[]{&first, &second};
    count = 2;
    return kAll;
}
