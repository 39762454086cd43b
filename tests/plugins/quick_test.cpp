// Plugins of the quick generation (what decorated Python plugins are made of), written in C++: one that runs itself,
// and one whose kernel goes into the plan (rules N6, N7, N12).
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include "impl/NvInferPythonPlugin.h"
#include "tenon/plugin.h"

#include <dlfcn.h>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

constexpr char const* kSource{R"(
void scale(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* arguments)
{
    for (int32_t i = 0; i < arguments[0]; ++i)
        ((float*) outputs[0])[i] = ((float const*) inputs[0])[i] * (float) arguments[1] + (float) launch->grid[0];
}
)"};

class Number final : public ISymExpr
{
  public:
    explicit Number(IDimensionExpr const* expr)
        : mExpr{expr}
    {
    }
    PluginArgType getType() const noexcept override
    {
        return PluginArgType::kINT;
    }
    PluginArgDataType getDataType() const noexcept override
    {
        return PluginArgDataType::kINT32;
    }
    void* getExpr() noexcept override
    {
        return const_cast<IDimensionExpr*>(mExpr);
    }

  private:
    IDimensionExpr const* mExpr;
};

//! What both share; Build is one of the two build capabilities.
template <typename Build>
class ScaleOf : public IPluginV3, public IPluginV3QuickCore, public Build
{
  public:
    int32_t factor{3};
    // As the decorators of the public bindings have it: shapes need the types, launches the shapes.
    mutable bool typesAsked{false};
    DimsExprs kept{}; //!< The output's, of the latest getOutputShapes().

    AsciiChar const* getPluginName() const noexcept override
    {
        return "QuickScale";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "quick";
    }
    int32_t getOutputDataTypes(
        DataType* outputs, int32_t, DataType const* inputs, int32_t const* ranks, int32_t) const noexcept override
    {
        outputs[0] = inputs[0];
        typesAsked = true;
        return ranks[0] == 2 ? 0 : 7;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t nbShapeInputs,
        DimsExprs* outputs, int32_t, IExprBuilder&) noexcept override
    {
        outputs[0] = inputs[0];
        kept = inputs[0];
        return typesAsked ? nbShapeInputs : 9;
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t getNbSupportedFormatCombinations(DynamicPluginTensorDesc const*, int32_t, int32_t) noexcept override
    {
        return 2;
    }
    int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const* inOut, int32_t, int32_t,
        PluginTensorDesc* supported, int32_t nbFormatCombinations) noexcept override
    {
        for (int32_t i = 0; i < 2 * nbFormatCombinations; ++i)
        {
            supported[i] = inOut[i % 2].desc;
            supported[i].type = i < 2 ? DataType::kINT8 : DataType::kFLOAT;
            supported[i].format = TensorFormat::kLINEAR;
        }
        return 0;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
};

enum class Cloned
{
    kNew,
    kItself,
    kNull,
};

class QuickScale final : public ScaleOf<IPluginV3QuickBuild>, public IPluginV3QuickRuntime
{
  public:
    Cloned cloned{Cloned::kNew};

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3QuickCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3QuickBuild*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3QuickRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        if (cloned == Cloned::kItself)
            return this;
        if (cloned == Cloned::kNull)
        {
            tenonExplainFailure("there are enough of them");
            return nullptr;
        }
        auto* const copy = new QuickScale;
        copy->factor = factor;
        return copy;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, Dims const* inputStrides, Dims const* outputStrides, int32_t nbInputs, int32_t nbOutputs,
        cudaStream_t stream) noexcept override
    {
        if (nbInputs != 1 || nbOutputs != 1 || inputStrides[0].d[1] != 1
            || outputStrides[0].d[0] != inputDesc[0].dims.d[1])
            return 5;
        size_t const count = elementsOf(inputDesc[0].dims);
        size_t const bytes = count * sizeof(float);
        onHost(stream, inputs[0], bytes, {outputs[0], bytes}, {}, [&](void const* x, void* y, void*) {
            for (size_t i = 0; i < count; ++i)
                static_cast<float*>(y)[i] = static_cast<float const*>(x)[i] * static_cast<float>(factor);
        });
        return 0;
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        mField = {"factor", &factor, PluginFieldType::kINT32, 1};
        mFields = {1, &mField};
        return &mFields;
    }

  private:
    PluginField mField{};
    PluginFieldCollection mFields{};
};

class QuickScaleCreator final : public IPluginCreatorV3Quick
{
  public:
    std::vector<std::pair<TensorRTPhase, QuickPluginCreationRequest>> asked;
    std::vector<std::string> names; //!< What it was told to make.
    Cloned cloned{Cloned::kNew};    //!< By what it makes.

    IPluginV3* createPlugin(AsciiChar const* name, AsciiChar const* nspace, PluginFieldCollection const* fields,
        TensorRTPhase phase, QuickPluginCreationRequest request) noexcept override
    {
        names.emplace_back(name);
        asked.emplace_back(phase, request);
        auto* const made = new QuickScale;
        made->cloned = cloned;
        for (int32_t i = 0; i < fields->nbFields; ++i)
            made->factor = *static_cast<int32_t const*>(fields->fields[i].data);
        return std::string{nspace} == "quick" ? made : nullptr;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "QuickScale";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "quick";
    }

  private:
    PluginFieldCollection mNone{};
};

class AheadScale final : public ScaleOf<IPluginV3QuickAOTBuild>
{
  public:
    std::string source{kSource};
    std::string name{"scale"};
    int32_t tactic{-1};
    bool leavesOut{false};
    bool launchesByKept{false}; //!< By the expressions that getOutputShapes() left.

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3QuickCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3QuickAOTBuild*>(this);
        default: return nullptr;
        }
    }
    IPluginV3* clone() noexcept override
    {
        auto* const copy = new AheadScale;
        copy->factor = factor;
        copy->source = source;
        copy->name = name;
        copy->leavesOut = leavesOut;
        copy->launchesByKept = launchesByKept;
        copy->typesAsked = typesAsked;
        copy->kept = kept;
        return copy;
    }
    int32_t getLaunchParams(DimsExprs const* inputs, DynamicPluginTensorDesc const*, int32_t, int32_t,
        IKernelLaunchParams* launch, ISymExprs* arguments, IExprBuilder& builder) noexcept override
    {
        DimsExprs const& extents = launchesByKept ? kept : inputs[0];
        IDimensionExpr const* const count = builder.operation(DimensionOperation::kPROD, *extents.d[0], *extents.d[1]);
        if (count == nullptr)
            return 8;
        Number blocks{builder.operation(DimensionOperation::kCEIL_DIV, *count, *builder.constant(4))};
        Number elements{count};
        Number by{builder.constant(factor)};
        bool const isSet = launch->setGridX(&blocks) && launch->getGridX() == &blocks && arguments->setNbSymExprs(2)
            && arguments->setSymExpr(0, &elements) && (leavesOut || arguments->setSymExpr(1, &by))
            && !arguments->setSymExpr(2, &by);
        launch->setGridY(&by);
        return isSet ? 0 : 3;
    }
    int32_t getKernel(PluginTensorDesc const* in, int32_t, PluginTensorDesc const* out, int32_t,
        char const** kernelName, char** compiledKernel, int32_t* compiledKernelSize) noexcept override
    {
        *kernelName = name.c_str();
        *compiledKernel = source.data();
        *compiledKernelSize = static_cast<int32_t>(source.size());
        return in[0].type == DataType::kFLOAT && out[0].format == TensorFormat::kLINEAR && tactic == 0 ? 0 : 4;
    }
    int32_t setTactic(int32_t chosen) noexcept override
    {
        tactic = chosen;
        return 0;
    }
};

class Quick : public apitest::ApiTest
{
  protected:
    std::unique_ptr<IHostMemory> build(IPluginV3& plugin)
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1, 6}))};
        IPluginV3Layer* const layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        if (layer == nullptr)
            return nullptr;
        layer->setName("scale");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        addProfile({1, 6}, {2, 6}, {9, 6});
        return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
    }
    std::vector<float> run(IExecutionContext& context, std::vector<float> const& x)
    {
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        EXPECT_TRUE(context.setInputShape("x", dims({static_cast<int64_t>(x.size() / 6), 6})));
        EXPECT_TRUE(context.setTensorAddress("x", in.data()) && context.setTensorAddress("y", out.data()));
        EXPECT_TRUE(context.enqueueV3(stream())) << logger.errors();
        return out.read();
    }
};

TEST_F(Quick, N7_quickCreatorsMakePluginsThatRun)
{
    QuickScaleCreator creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "quick"));
    QuickScale plugin;
    plugin.factor = 5;
    std::unique_ptr<IHostMemory> const plan = build(plugin);
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    ASSERT_EQ(creator.asked.size(), 1U);
    EXPECT_EQ(creator.asked[0], (std::pair{TensorRTPhase::kRUNTIME, QuickPluginCreationRequest::kSTRICT_JIT}));
    EXPECT_EQ(creator.names, std::vector<std::string>{"QuickScale"}) << "the plugin's name, not the layer's";
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (size_t const rows : {2, 9, 1})
    {
        std::vector<float> const x = randomFloats(rows * 6, 5);
        std::vector<float> const y = run(*context, x);
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_EQ(y[i], x[i] * 5.0F);
    }
    getPluginRegistry()->deregisterCreator(creator);
}

TEST_F(Quick, L6_L7_contextsWantNewObjects)
{
    QuickScaleCreator creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "quick"));
    QuickScale plugin;
    std::unique_ptr<IHostMemory> const plan = build(plugin);
    ASSERT_NE(plan, nullptr) << logger.errors();
    for (auto const& [cloned, why] : {std::pair{Cloned::kItself, "returned the plugin itself: it must be a new object"},
             std::pair{Cloned::kNull, "returned null: there are enough of them"}})
    {
        creator.cloned = cloned;
        std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(engine, nullptr) << logger.errors();
        EXPECT_EQ(engine->createExecutionContext(), nullptr);
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR,
                      std::string{"clone() of plugin 'QuickScale' version '1' namespace 'quick' "} + why),
            1)
            << logger.errors();
    }
    getPluginRegistry()->deregisterCreator(creator);
}

TEST_F(Quick, N12_compiledKernelsRunWithoutTheirPlugin)
{
    std::unique_ptr<IHostMemory> plan;
    {
        AheadScale plugin;
        plan = build(plugin);
    }
    ASSERT_NE(plan, nullptr) << logger.errors();
    network.reset();
    EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    std::string const said = logger.errors();
    EXPECT_NE(said.find("'QuickScale' version '1' namespace 'quick', kernel 'scale'"), std::string::npos) << said;
    EXPECT_NE(said.find("setEngineHostCodeAllowed(true)"), std::string::npos) << said;
    runtime->setEngineHostCodeAllowed(true);
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IHostMemory> const again{engine->serialize()};
    ASSERT_NE(again, nullptr);
    EXPECT_EQ((std::string{static_cast<char const*>(again->data()), again->size()}),
        (std::string{static_cast<char const*>(plan->data()), plan->size()}));
    std::unique_ptr<IExecutionContext> const contexts[]{
        std::unique_ptr<IExecutionContext>{engine->createExecutionContext()},
        std::unique_ptr<IExecutionContext>{engine->createExecutionContext()}};
    for (size_t const rows : {3, 9, 1, 4})
    {
        std::vector<float> const x = randomFloats(rows * 6, 6);
        std::vector<float> const y = run(*contexts[rows % 2], x);
        auto const blocks = static_cast<float>((x.size() + 3) / 4);
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_EQ(y[i], x[i] * 3.0F + blocks) << rows;
    }
}

TEST_F(Quick, N12_launchesMayBeSaidByExpressionsOfOutputs)
{
    AheadScale plugin;
    plugin.launchesByKept = true;
    std::unique_ptr<IHostMemory> const plan = build(plugin);
    ASSERT_NE(plan, nullptr) << logger.errors();
    runtime->setEngineHostCodeAllowed(true);
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (size_t const rows : {3, 9, 1})
    {
        std::vector<float> const x = randomFloats(rows * 6, 8);
        std::vector<float> const y = run(*context, x);
        auto const blocks = static_cast<float>((x.size() + 3) / 4);
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_EQ(y[i], x[i] * 3.0F + blocks) << rows;
    }
}

TEST_F(Quick, N12_whatACompiledPluginLeavesOutIsNamed)
{
    AheadScale plugin;
    plugin.leavesOut = true;
    EXPECT_EQ(build(plugin), nullptr);
    EXPECT_GT(logger.count(ILogger::Severity::kERROR, "extra argument 1 of 2 was not set"), 0) << logger.errors();
}

TEST_F(Quick, N12_codeForAnotherDeviceIsRefused)
{
    if (tenon::test::isUnderTest("cuda"))
        GTEST_SKIP() << "the code is for this device";
    AheadScale plugin;
    plugin.source = ".version 8.4\n.target sm_90\n";
    EXPECT_EQ(build(plugin), nullptr);
    std::string const said = logger.errors();
    for (char const* part : {"'QuickScale' version '1' namespace 'quick'", "CUDA devices", "device 'cpu'"})
        EXPECT_NE(said.find(part), std::string::npos) << said;
}

//! The kernel for GPUs, with a parameter that its compiler has appended. The fake compiler makes a function of the
//! host.
constexpr char const* kGpuSource{R"(
#ifdef TENON_EMULATED
#define __global__ static
#define KERNEL scaleBody
#else
#define KERNEL scaleOnGpu
extern "C"
#endif
__global__ void KERNEL(float const* x, int count, int by, float* y, void* scratch)
{
    for (int i = 4 * (int) blockIdx.x; i < 4 * (int) blockIdx.x + 4; ++i)
        if (i < count && blockIdx.y == 0 && scratch == nullptr)
            y[i] = x[i] * (float) by + (float) gridDim.x;
}
#ifdef TENON_EMULATED
extern "C" __attribute__((visibility("default"))) unsigned long scaleOnGpuSizes[]{8, 4, 4, 8, 8, 0};
extern "C" __attribute__((visibility("default"))) void scaleOnGpu(char* slots)
{
    scaleBody(*(float const**) slots, *(int*) (slots + 8), *(int*) (slots + 16), *(float**) (slots + 24),
        *(void**) (slots + 32));
}
#endif
)"};

//! A call of NVRTC's by its name.
template <typename... Args>
int nvrtc(char const* name, Args... args)
{
    static void* const library = [] {
        void* const newest = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
        return newest != nullptr ? newest : dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    }();
    auto const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    return function == nullptr ? -1 : function(args...);
}

//! As a plugin brings it: text; what the fake compiler made stands in a comment.
std::string ptxOf(char const* source)
{
    void* program{nullptr};
    char const* options[]{"--gpu-architecture=compute_75"};
    size_t bytes{0};
    void* const none{nullptr};
    EXPECT_EQ(nvrtc("nvrtcCreateProgram", &program, source, "scale.cu", 0, none, none), 0);
    EXPECT_EQ(nvrtc("nvrtcCompileProgram", program, 1, static_cast<char const* const*>(options)), 0);
    EXPECT_EQ(nvrtc("nvrtcGetPTXSize", program, &bytes), 0);
    std::string text(bytes, '\0');
    EXPECT_EQ(nvrtc("nvrtcGetPTX", program, text.data()), 0);
    EXPECT_EQ(nvrtc("nvrtcDestroyProgram", &program), 0);
    text.resize(std::strlen(text.c_str()));
    return text.starts_with("emulated:") ? "// " + text + "\n.version 8.4\n.target sm_75\n" : text;
}

TEST_F(Quick, S3_041_N12_kernelsForGpusRunWithoutTheirPlugin)
{
    if (!tenon::test::isUnderTest("cuda"))
        GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
    AheadScale plugin;
    plugin.source = ptxOf(kGpuSource);
    plugin.name = "scaleOnGpu";
    std::unique_ptr<IHostMemory> const plan = build(plugin);
    ASSERT_NE(plan, nullptr) << logger.errors();
    network.reset();
    // Nothing runs in this process: no permission is asked for.
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (size_t const rows : {3, 9, 3, 3, 3})
    {
        std::vector<float> const x = randomFloats(rows * 6, static_cast<uint32_t>(rows));
        std::vector<float> const y = run(*context, x);
        auto const blocks = static_cast<float>((x.size() + 3) / 4);
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_NEAR(y[i], x[i] * 3.0F + blocks, 1e-5F) << rows;
    }
}

TEST_F(Quick, N12_aKernelThatGpusDoNotHaveIsNamed)
{
    if (!tenon::test::isUnderTest("cuda"))
        GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
    AheadScale plugin;
    plugin.source = ptxOf(kGpuSource);
    plugin.name = "scaleElsewhere";
    std::unique_ptr<IHostMemory> const plan = build(plugin);
    if (plan != nullptr)
    {
        EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    }
    EXPECT_NE(logger.errors().find("cuModuleGetFunction of 'scaleElsewhere'"), std::string::npos) << logger.errors();
}

//! scaleOnGpu with other parameters, and no work; `sizes` for the fake compiler.
std::string otherParameters(std::string const& parameters, std::string const& sizes)
{
    return "#ifdef TENON_EMULATED\n"
           "#define EXPORTED extern \"C\" __attribute__((visibility(\"default\")))\n"
           "EXPORTED unsigned long scaleOnGpuSizes[]{"
        + sizes + ", 0};\nEXPORTED void scaleOnGpu(char*) {}\n#else\nextern \"C\" __global__ void scaleOnGpu("
        + parameters + ") {}\n#endif\n";
}

class OtherParameters : public Quick
{
  protected:
    void expectRefused(std::string const& source, char const* said)
    {
        if (!tenon::test::isUnderTest("cuda"))
            GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
        AheadScale plugin;
        plugin.source = ptxOf(source.c_str());
        plugin.name = "scaleOnGpu";
        std::unique_ptr<IHostMemory> const plan = build(plugin);
        if (plan != nullptr)
        {
            std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
            ASSERT_NE(engine, nullptr) << logger.errors();
            std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
            DeviceArray<float> const x{size_t{18}};
            DeviceArray<float> const y{size_t{18}};
            EXPECT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
            EXPECT_FALSE(context->setInputShape("x", dims({3, 6})) && context->enqueueV3(stream()));
        }
        EXPECT_NE(logger.errors().find(said), std::string::npos) << logger.errors();
    }
};

TEST_F(OtherParameters, N12_anArgumentOfEightBytesOnTheGpuIsRefused)
{
    expectRefused(otherParameters("float const* x, long long count, int by, float* y", "8, 8, 4, 8"),
        "parameter 1 of its kernel has 8 bytes, and is given an extra argument, an int32 of 4");
}

TEST_F(OtherParameters, N12_anOutputOfFourBytesOnTheGpuIsRefused)
{
    expectRefused(otherParameters("float const* x, int count, int by, int y", "8, 4, 4, 4"),
        "parameter 3 of its kernel has 4 bytes, and is given the address of an output of 8");
}

TEST_F(Quick, N10_shapeInputsAreRefused)
{
    QuickScale plugin;
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({2, 6}))};
    ITensor* values[]{network->addInput("more", DataType::kINT32, dims({2}))};
    IPluginV3Layer* const layer = network->addPluginV3(inputs, 1, values, 1, plugin);
    if (layer != nullptr)
    {
        network->markOutput(*layer->getOutput(0));
        IOptimizationProfile* const profile = builder->createOptimizationProfile();
        int32_t const two[]{2, 2};
        for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
            profile->setShapeValues("more", select, two, 2);
        config->addOptimizationProfile(profile);
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
    }
    EXPECT_GT(logger.count(ILogger::Severity::kERROR, "takes no shape inputs"), 0) << logger.errors();
}

} // namespace
} // namespace plugintest
