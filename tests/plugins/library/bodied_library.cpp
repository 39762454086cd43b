// A library with one plugin, x + 1. With a body for the CPU that is x + TENON_BODY_ADDS; with TENON_ACQUIRES each
// run uses a resource, which nobody releases.
#include "plugins/one_to_one.h"

#include "tenon/plugin.h"

namespace
{
using namespace nvinfer1;

int32_t addTo(PluginTensorDesc const& desc, void const* from, void* to, float number)
{
    for (int64_t i = 0; i < desc.dims.d[0]; ++i)
        static_cast<float*>(to)[i] = static_cast<float const*>(from)[i] + number;
    return 0;
}

int32_t gReleases{0};

class Table final : public IPluginResource
{
  public:
    int32_t release() noexcept override
    {
        ++gReleases;
        return 0;
    }
    IPluginResource* clone() noexcept override
    {
        return new Table;
    }
};

class Bodied final : public plugintest::OneToOne<Bodied>
{
  public:
    static constexpr char const* kType{"Bodied"};

    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* x, void* const* y, void*,
        cudaStream_t) noexcept override
    {
#ifdef TENON_ACQUIRES
        Table table;
        if (getPluginRegistry()->acquirePluginResource("bodied.table", &table) == nullptr)
            return 1;
#endif
        return addTo(in[0], x[0], y[0], 1.0F);
    }
};

#ifdef TENON_BODY_ADDS
int32_t onCpu(tenon::PluginRun const& run)
{
    return addTo(run.inputDesc[0], run.inputs[0], run.outputs[0], TENON_BODY_ADDS);
}
bool const kHasBody{tenonSetCpuBody("Bodied", "1", "", &onCpu)};
#endif
} // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static plugintest::OneToOneCreator<Bodied> creator;
    static IPluginCreatorInterface* const kAll[]{&creator};
    count = 1;
    return kAll;
}

extern "C" __attribute__((visibility("default"))) int32_t countReleases()
{
    return gReleases;
}
