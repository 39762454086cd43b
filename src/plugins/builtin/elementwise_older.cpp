// LReLU_TRT, Clip_TRT and CustomGeluPluginDynamic: one element of the input gives one of the output.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
//! One input, one output of its shape and type.
class Elementwise : public Body
{
  public:
    int32_t inputs() const noexcept override
    {
        return 1;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        return isFloatOrHalf(type) && type == ports[0].type;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        return inputs[0];
    }
    char const* wants() const noexcept override
    {
        return "one tensor";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        return sameExtents(in[0].dims, out[0].dims);
    }

  protected:
    //! Computed in float32; input 1, if any, is a value of the sketch.
    static SketchedLayers inFloats(
        LayerSketch& sketch, SketchedPorts const& ports, Expr const& expr, LayerSketch::Id more = -1)
    {
        DataType const type = ports.in[0].type;
        Expr const wide = expr.compose({tenon::cast(Expr::input(0), DataType::kFLOAT), Expr::input(1)});
        std::vector<LayerSketch::Id> inputs{ports.values[0]};
        if (more >= 0)
            inputs.push_back(more);
        return {{sketch.elements(type == DataType::kFLOAT ? expr : tenon::cast(wide, type), inputs)}, {}};
    }
    //! `value(x, i)` of each element.
    template <typename Value>
    static int32_t each(StockRun const& run, Value const& value)
    {
        int64_t const count = volume(run.in[0].dims);
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            for (int64_t i = 0; i < count; ++i)
                put(run.output<T>(0)[i], value(asFloat(run.input<T>(0)[i]), i));
            return 0;
        });
    }
};

class LeakyRelu final : public Elementwise
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<LeakyRelu>();
        body->mSlope = TENON_TRY(fields.required<float>("negSlope"));
        return body;
    }
    int32_t run(StockRun const& run) const override
    {
        return each(run, [&](float x, int64_t) { return x < 0.0F ? x * mSlope : x; });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Expr const x = Expr::input(0);
        return inFloats(sketch, ports, select(x < Expr{0.0}, x * Expr{static_cast<double>(mSlope)}, x));
    }
    std::vector<PluginField> fields() const override
    {
        return {{"negSlope", &mSlope, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    float mSlope{0.0F};
};

class Clip final : public Elementwise
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<Clip>();
        body->mLeast = TENON_TRY(fields.required<float>("clipMin"));
        body->mMost = TENON_TRY(fields.required<float>("clipMax"));
        if (!(body->mLeast <= body->mMost))
            return fields.refused("clipMin", fmt::format("is {}", body->mLeast),
                fmt::format("be at most clipMax, which is {}", body->mMost));
        return body;
    }
    int32_t run(StockRun const& run) const override
    {
        return each(run, [&](float x, int64_t) { return std::min(std::max(x, mLeast), mMost); });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Expr const x = Expr::input(0);
        Expr const least{static_cast<double>(mLeast)};
        Expr const most{static_cast<double>(mMost)};
        Expr const raised = select(x < least, least, x); // What is no number stays so.
        return inFloats(sketch, ports, select(most < raised, most, raised));
    }
    std::vector<PluginField> fields() const override
    {
        return {{"clipMin", &mLeast, PluginFieldType::kFLOAT32, 1}, {"clipMax", &mMost, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    float mLeast{0.0F};
    float mMost{0.0F};
};

//! 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) of x plus the bias of its last axis.
class Gelu final : public Elementwise
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<Gelu>();
        body->mType = TENON_TRY(fields.required("type_id", kSwitch));
        body->mBias = TENON_TRY(fields.list<float>("bias"));
        return body;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == (mType == 1 ? DataType::kHALF : DataType::kFLOAT);
    }
    char const* wants() const noexcept override
    {
        return "a tensor whose last extent, or last before two of 1, is the number of biases";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& dims = in[0].dims;
        int32_t const last = dims.nbDims == 5 ? 2 : dims.nbDims - 1; // [S, B, E, 1, 1] or [S, B, E].
        bool const hasRows = mBias.empty()
            || (last >= 0 && dims.d[last] == static_cast<int64_t>(mBias.size())
                && volume(dims, last + 1, dims.nbDims) == 1);
        return hasRows && Elementwise::fits(in, out);
    }
    int32_t run(StockRun const& run) const override
    {
        auto const row = static_cast<int64_t>(mBias.size());
        return each(run, [&](float value, int64_t i) {
            float const x = value + (row == 0 ? 0.0F : mBias[static_cast<size_t>(i % row)]);
            return 0.5F * x * (1.0F + std::tanh(kRootOfTwoByPi * (x + kCubic * x * x * x)));
        });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Dims const& dims = ports.in[0].dims;
        auto const length = static_cast<int64_t>(mBias.size());
        int32_t const last = dims.nbDims == 5 ? 2 : dims.nbDims - 1;
        LayerSketch::Id bias{-1};
        Expr x = Expr::input(0);
        if (length > 0)
        {
            if (last < 0)
                return {{}, "a single number has no row of biases"};
            sketch.requireExtent(ports.values[0], last, length);
            for (int32_t axis = last + 1; axis < dims.nbDims; ++axis)
                sketch.requireExtent(ports.values[0], axis, 1);
            std::vector<int64_t> extents(static_cast<size_t>(dims.nbDims), 1);
            extents[static_cast<size_t>(last)] = length;
            bias = sketch.numbers("bias", extents, mBias, DataType::kFLOAT);
            x = x + Expr::input(1);
        }
        Expr const half{0.5};
        Expr const inner = Expr{double{kRootOfTwoByPi}} * (x + Expr{double{kCubic}} * x * x * x);
        return inFloats(sketch, ports, half * x * (Expr{1.0} + tanh(inner)), bias);
    }
    std::vector<PluginField> fields() const override
    {
        return {{"type_id", &mType, PluginFieldType::kINT32, 1},
            {"bias", mBias.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(mBias.size())}};
    }

  private:
    static constexpr float kRootOfTwoByPi{0.7978845608028654F};
    static constexpr float kCubic{0.044715F};

    int32_t mType{0};
    std::vector<float> mBias;
};
} // namespace

std::vector<StockPlugin> stockElementwise()
{
    return {{"LReLU_TRT", "1", false, {{"negSlope", nullptr, PluginFieldType::kFLOAT32, 1}}, &LeakyRelu::make, true},
        {"Clip_TRT", "1", false,
            {{"clipMin", nullptr, PluginFieldType::kFLOAT32, 1}, {"clipMax", nullptr, PluginFieldType::kFLOAT32, 1}},
            &Clip::make, true},
        {"CustomGeluPluginDynamic", "1", false,
            {{"type_id", nullptr, PluginFieldType::kINT32, 1}, {"bias", nullptr, PluginFieldType::kFLOAT32, 0}},
            &Gelu::make}};
}

} // namespace tenon::plugins::builtin
