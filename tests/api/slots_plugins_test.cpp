// A custom layer with a size tensor, by a program that never saw a header of ours: plugin, creator and output allocator
// are laid out by hand.
#include "raw_features.h"

#include <cstring>
#include <iterator>
#include <memory>

namespace raw
{
namespace
{
// Numbers of DataType, PluginCapabilityType and DimensionOperation in 10.x.
constexpr int32_t kInt64{8};
constexpr int32_t kCoreCapability{0};
constexpr int32_t kBuildCapability{1};
constexpr int32_t kRuntimeCapability{2};
constexpr int32_t kFloorDiv{7};

struct RawDesc
{
    RawDims dims;
    int32_t type;
    int32_t format;
    float scale;
};

struct RawDynamicDesc
{
    RawDesc desc;
    RawDims min;
    RawDims max;
    RawDims opt;
};

struct RawExprs
{
    int32_t rank;
    void const* extents[8];
};

struct RawFields
{
    int32_t count;
    void const* fields;
};

//! The elements above zero, in order, and how many there are, as int64.
class RawPositive
{
    struct Part : UserObject
    {
        Part(RawPositive& of, size_t slotCount, char const* kind)
            : UserObject{slotCount, RawInfo{kind, 1, 0}},
              whole{of}
        {
        }
        RawPositive& whole;
    };

  public:
    RawPositive()
    {
        ++gAlive;
        fillPlugin();
        fillBuild();
        fillRuntime();
    }
    ~RawPositive()
    {
        --gAlive;
    }
    RawPositive(RawPositive const&) = delete;
    RawPositive& operator=(RawPositive const&) = delete;

    Object object()
    {
        return mPlugin.object();
    }
    static Object made()
    {
        return (new RawPositive)->object(); // Deleted through its table.
    }
    inline static int32_t gAlive{0};

  private:
    static RawPositive& of(void* self)
    {
        return UserObject::of<Part>(self).whole;
    }
    void fillPlugin()
    {
        mPlugin.set(
            slots::kIPluginV3_destroyAndFree, +[](void* self) { delete &of(self); });
        mPlugin.set(
            slots::kIPluginV3_clone, +[](void*) { return made(); });
        mPlugin.set(
            slots::kIPluginV3_getCapabilityInterface, +[](void* self, int32_t kind) -> Object {
                RawPositive& mine = of(self);
                return kind == kCoreCapability   ? mine.mCore.object()
                    : kind == kBuildCapability   ? mine.mBuild.object()
                    : kind == kRuntimeCapability ? mine.mRuntime.object()
                                                 : nullptr;
            });
        mCore.set(
            slots::kIPluginV3OneCore_getPluginName, +[](void*) { return "RawPositive"; });
        mCore.set(
            slots::kIPluginV3OneCore_getPluginVersion, +[](void*) { return "1"; });
        mCore.set(
            slots::kIPluginV3OneCore_getPluginNamespace, +[](void*) { return ""; });
    }
    void fillBuild()
    {
        using Descs = RawDynamicDesc const*;
        mBuild.set(
            slots::kIPluginV3OneBuild_configurePlugin, +[](void*, Descs, int32_t, Descs, int32_t) { return 0; });
        mBuild.set(
            slots::kIPluginV3OneBuild_getOutputDataTypes,
            +[](void*, int32_t* out, int32_t, int32_t const* in, int32_t) {
                out[0] = in[0];
                out[1] = kInt64;
                return 0;
            });
        mBuild.set(slots::kIPluginV3OneBuild_getOutputShapes, &shapes);
        mBuild.set(
            slots::kIPluginV3OneBuild_supportsFormatCombination, +[](void*, int32_t at, Descs all, int32_t, int32_t) {
                return all[at].desc.format == 0 && all[at].desc.type == (at == 2 ? kInt64 : kFloat);
            });
        mBuild.set(
            slots::kIPluginV3OneBuild_getNbOutputs, +[](void*) { return 2; });
        mBuild.set(
            slots::kIPluginV3OneBuild_getWorkspaceSize,
            +[](void*, Descs, int32_t, Descs, int32_t) { return size_t{0}; });
        mBuild.set(
            slots::kIPluginV3OneBuild_getNbTactics, +[](void*) { return 0; });
        mBuild.set(
            slots::kIPluginV3OneBuild_getValidTactics, +[](void*, int32_t*, int32_t) { return 0; });
        mBuild.set(
            slots::kIPluginV3OneBuild_getFormatCombinationLimit, +[](void*) { return 10; });
        for (int32_t const slot :
            {slots::kIPluginV3OneBuild_getTimingCacheID, slots::kIPluginV3OneBuild_getMetadataString})
            mBuild.set(
                static_cast<size_t>(slot), +[](void*) { return static_cast<char const*>(nullptr); });
    }
    void fillRuntime()
    {
        using Descs = RawDesc const*;
        mRuntime.set(
            slots::kIPluginV3OneRuntime_setTactic, +[](void*, int32_t) { return 0; });
        mRuntime.set(
            slots::kIPluginV3OneRuntime_onShapeChange, +[](void*, Descs, int32_t, Descs, int32_t) { return 0; });
        mRuntime.set(
            slots::kIPluginV3OneRuntime_attachToContext, +[](void*, Object) { return made(); });
        mRuntime.set(
            slots::kIPluginV3OneRuntime_getFieldsToSerialize, +[](void*) -> void const* {
                static RawFields const kNone{0, nullptr};
                return &kNone;
            });
        mRuntime.set(
            slots::kIPluginV3OneRuntime_enqueue,
            +[](void*, Descs in, Descs, void const* const* inputs, void* const* outputs, void*, void*) {
                auto const* const x = static_cast<float const*>(inputs[0]);
                auto* const y = static_cast<float*>(outputs[0]);
                float* const end =
                    std::copy_if(x, x + in[0].dims.extents[0], y, [](float value) { return value > 0.0F; });
                *static_cast<int64_t*>(outputs[1]) = end - y;
                return 0;
            });
    }
    static int32_t shapes(
        void*, RawExprs const* in, int32_t, RawExprs const*, int32_t, RawExprs* out, int32_t, Object builder)
    {
        Object const own = inner(builder, slots::kIExprBuilder_mImpl);
        void const* const all = in[0].extents[0];
        auto const* const two = call<void const*>(own, slots::kVExprBuilder_constant, int64_t{2});
        auto const* const half = call<void const*>(own, slots::kVExprBuilder_operation, kFloorDiv, all, two);
        void* const count = call<void*>(own, slots::kVExprBuilder_declareSizeTensor, int32_t{1}, half, all);
        if (count == nullptr)
            return 1;
        Object const expression = inner(count, slots::kIDimensionExpr_mImpl);
        EXPECT_TRUE(call<bool>(expression, slots::kVDimensionExpr_isSizeTensor));
        EXPECT_FALSE(call<bool>(expression, slots::kVDimensionExpr_isConstant));
        out[0] = {1, {count}};
        out[1] = {0, {}};
        return 0;
    }

    Part mPlugin{*this, 6, "PLUGIN"};
    Part mCore{*this, 7, "PLUGIN_V3ONE_CORE"};
    Part mBuild{*this, 15, "PLUGIN_V3ONE_BUILD"};
    Part mRuntime{*this, 9, "PLUGIN_V3ONE_RUNTIME"};
};

class RawPositiveCreator final : public UserObject
{
  public:
    RawPositiveCreator()
        : UserObject{9, RawInfo{"PLUGIN CREATOR_V3ONE", 1, 0}}
    {
        set(
            slots::kIPluginCreatorV3One_createPlugin,
            +[](void*, char const*, void const*, int32_t) { return RawPositive::made(); });
        set(
            slots::kIPluginCreatorV3One_getFieldNames, +[](void*) -> void const* {
                static RawFields const kNone{0, nullptr};
                return &kNone;
            });
        set(
            slots::kIPluginCreatorV3One_getPluginName, +[](void*) { return "RawPositive"; });
        set(
            slots::kIPluginCreatorV3One_getPluginVersion, +[](void*) { return "1"; });
        set(
            slots::kIPluginCreatorV3One_getPluginNamespace, +[](void*) { return ""; });
    }
};

class RawAllocator final : public UserObject
{
  public:
    RawAllocator()
        : UserObject{7, RawInfo{"IOutputAllocator", 1, 0}}
    {
        set(
            slots::kIOutputAllocator_reallocateOutput,
            +[](void* self, char const*, void*, uint64_t size, uint64_t) { return of<RawAllocator>(self).grow(size); });
        set(
            slots::kIOutputAllocator_reallocateOutputAsync,
            +[](void* self, char const*, void*, uint64_t size, uint64_t, void*) {
                return of<RawAllocator>(self).grow(size);
            });
        set(
            slots::kIOutputAllocator_notifyShape,
            +[](void* self, char const*, RawDims const* dims) { of<RawAllocator>(self).shape = *dims; });
    }
    std::unique_ptr<DeviceArray<uint8_t>> memory;
    RawDims shape{};

  private:
    void* grow(uint64_t size)
    {
        memory = std::make_unique<DeviceArray<uint8_t>>(static_cast<size_t>(size));
        return memory->data();
    }
};

using SlotsOfPlugins = SlotsOfFeatures;
} // namespace

TEST_F(SlotsOfPlugins, aSizeTensorOfInt64TellsAnExtent)
{
    RawPositiveCreator creator;
    auto* const getRegistry = reinterpret_cast<Object (*)()>(::dlsym(library, "getPluginRegistry"));
    ASSERT_NE(getRegistry, nullptr);
    Object const registry = getRegistry();
    ASSERT_TRUE(call<bool>(registry, slots::kIPluginRegistry_registerCreator_2, creator.object(), ""));
    prepare = [&](Object net, Object) {
        RawDims const row{1, {40}};
        Object const v = call<Object>(net, slots::kVNetworkDefinition_addInput, "v", kFloat, &row);
        Object const plugin = RawPositive::made();
        Object const layer = call<Object>(net, slots::kVNetworkDefinition_addPluginV3, &v, int32_t{1},
            static_cast<Object*>(nullptr), int32_t{0}, plugin);
        call<void>(plugin, slots::kIPluginV3_destroyAndFree); // The network has a clone.
        ASSERT_NE(layer, nullptr) << errors;
        for (int32_t i = 0; i < 2; ++i)
        {
            Object const out = call<Object>(inner(layer, slots::kILayer_mLayer), slots::kVLayer_getOutput, i);
            call<void>(inner(out, slots::kITensor_mImpl), slots::kVTensor_setName, i == 0 ? "positive" : "count");
            call<void>(net, slots::kVNetworkDefinition_markOutput, out);
        }
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorDataType, "count"), kInt64);
    auto const shape = call<RawDims>(queries, slots::kVCudaEngine_getTensorShape, "positive");
    EXPECT_EQ(shape.rank, 1);
    EXPECT_EQ(shape.extents[0], -1);

    std::vector<float> const values = tenon::test::randomFloats(40, 9);
    std::vector<float> wanted;
    std::copy_if(values.begin(), values.end(), std::back_inserter(wanted), [](float value) { return value > 0.0F; });
    Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
    Object const run = inner(context, slots::kIExecutionContext_mImpl);
    RawAllocator allocator;
    DeviceArray<float> const v{values};
    DeviceArray<float> const x{tenon::test::randomFloats(18, 3)};
    DeviceArray<float> const y{size_t{18}};
    DeviceArray<int64_t> const count{size_t{1}};
    RawDims const one{4, {1, 2, 3, 3}};
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &one));
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setOutputAllocator, "positive", allocator.object()));
    for (auto const& [name, address] : std::vector<std::pair<char const*, void*>>{
             {"v", v.data()}, {"x", x.data()}, {"y", y.data()}, {"count", count.data()}})
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, name, address)) << errors;
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream()))
        << errors;
    EXPECT_EQ(count.read(), std::vector<int64_t>{static_cast<int64_t>(wanted.size())});
    EXPECT_EQ(allocator.shape.rank, 1);
    ASSERT_EQ(allocator.shape.extents[0], static_cast<int64_t>(wanted.size()));
    std::vector<uint8_t> const bytes = allocator.memory->read();
    ASSERT_GE(bytes.size(), wanted.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), wanted.size() * sizeof(float)), 0);
    destroy(context);
    destroy(engine);
    EXPECT_TRUE(call<bool>(registry, slots::kIPluginRegistry_deregisterCreator_2, creator.object()));
    EXPECT_EQ(RawPositive::gAlive, 0);
    EXPECT_EQ(errors, "");
}

} // namespace raw
