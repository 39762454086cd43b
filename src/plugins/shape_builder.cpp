// ShapeBuilder: expressions of the public API over ShapeExpr.
#include "plugins/shape_builder.h"

#include <algorithm>
#include <exception>
#include <memory>

namespace tenon::plugins
{

using nvinfer1::DimensionOperation;
using nvinfer1::IDimensionExpr;

namespace
{
//! Expressions whose call is over, the latest ones.
class Retired
{
  public:
    static Retired& all()
    {
        static auto& retired = *new Retired; // Plugins in static objects may still read them at exit.
        return retired;
    }
    void keep(std::deque<DimensionExpr> exprs)
    {
        constexpr size_t kLimit{64};
        std::deque<DimensionExpr> oldest; // Freed without the lock.
        std::scoped_lock const lock{mMutex};
        mCalls.push_back(std::move(exprs));
        if (mCalls.size() <= kLimit)
            return;
        oldest = std::move(mCalls.front());
        mCalls.pop_front();
    }

  private:
    std::mutex mMutex;
    std::deque<std::deque<DimensionExpr>> mCalls;
};

thread_local ShapeBuilder* tLatest{nullptr};
} // namespace

//! What one call at a time gives its plugin, and no other call.
class AskedBuilder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder
{
  public:
    AskedBuilder() noexcept
    {
        mImpl = this;
    }
    void bind(ShapeBuilder* builder) noexcept
    {
        std::scoped_lock const lock{mMutex};
        mBound = builder;
    }
    IDimensionExpr const* constant(int64_t value) noexcept override
    {
        return ask([&](ShapeBuilder& builder) { return builder.constant(value); });
    }
    IDimensionExpr const* operation(
        DimensionOperation op, IDimensionExpr const& first, IDimensionExpr const& second) noexcept override
    {
        return ask([&](ShapeBuilder& builder) { return builder.operation(op, first, second); });
    }
    IDimensionExpr const* declareSizeTensor(
        int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper) noexcept override
    {
        return ask([&](ShapeBuilder& builder) { return builder.declareSizeTensor(outputIndex, opt, upper); });
    }

  private:
    template <typename Question>
    IDimensionExpr const* ask(Question const& question) noexcept
    {
        if (tLatest != nullptr)
            return question(*tLatest);
        std::scoped_lock const lock{mMutex}; // The call does not end meanwhile.
        return mBound == nullptr ? nullptr : question(*mBound);
    }

    std::mutex mMutex;
    ShapeBuilder* mBound{nullptr};
};

namespace
{
//! Builders that no call has: as many as there were calls at once are ever made.
class IdleBuilders
{
  public:
    static IdleBuilders& all()
    {
        static auto& idle = *new IdleBuilders; // Plugins in static objects may still hold some at exit.
        return idle;
    }
    AskedBuilder* take()
    {
        std::scoped_lock const lock{mMutex};
        if (mIdle.empty())
            return mMade.emplace_back(std::make_unique<AskedBuilder>()).get();
        AskedBuilder* const taken = mIdle.back();
        mIdle.pop_back();
        return taken;
    }
    void giveBack(AskedBuilder* builder)
    {
        std::scoped_lock const lock{mMutex};
        mIdle.push_back(builder);
    }

  private:
    std::mutex mMutex;
    std::vector<std::unique_ptr<AskedBuilder>> mMade;
    std::vector<AskedBuilder*> mIdle;
};
} // namespace

DimensionExpr::DimensionExpr(ShapeBuilder const& builder, ShapeExpr value, bool isSizeTensor)
    : mBuilder{&builder},
      mValue{std::move(value)},
      mIsSizeTensor{isSizeTensor}
{
    mImpl = this;
}

void DimensionExpr::retire() noexcept
{
    mBuilder = nullptr;
    mIsSizeTensor = false;
}

bool DimensionExpr::isConstant() const noexcept
{
    return mBuilder != nullptr && mValue.isConstant();
}

int64_t DimensionExpr::getConstantValue() const noexcept
{
    return mBuilder == nullptr ? INT64_MIN : mValue.constant().value_or(INT64_MIN);
}

bool DimensionExpr::isSizeTensor() const noexcept
{
    return mIsSizeTensor;
}

ShapeBuilder::ShapeBuilder(int32_t outputs, DataExtent dataExtent)
    : mOuter{tLatest},
      mAsked{IdleBuilders::all().take()},
      mOutputs{outputs},
      mDataExtent{std::move(dataExtent)}
{
    tLatest = this;
    mAsked->bind(this);
}

ShapeBuilder::~ShapeBuilder()
{
    mAsked->bind(nullptr);
    IdleBuilders::all().giveBack(mAsked);
    tLatest = mOuter;
    for (DimensionExpr& each : mExprs)
        each.retire();
    Retired::all().keep(std::move(mExprs));
}

nvinfer1::IExprBuilder& ShapeBuilder::asked() const noexcept
{
    return *mAsked;
}

DimensionExpr const* ShapeBuilder::own(ShapeExpr value, bool isSizeTensor)
{
    return &mExprs.emplace_back(*this, std::move(value), isSizeTensor);
}

//! The expression as one of ours; by address, since one from elsewhere may be anything.
DimensionExpr const* ShapeBuilder::known(IDimensionExpr const* expr) const noexcept
{
    for (DimensionExpr const& each : mExprs)
        if (static_cast<IDimensionExpr const*>(&each) == expr)
            return &each;
    return nullptr;
}

nvinfer1::DimsExprs ShapeBuilder::exprs(Shape const& shape)
{
    std::scoped_lock const lock{mMutex};
    nvinfer1::DimsExprs dims{};
    dims.nbDims = static_cast<int32_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
        dims.d[i] = own(shape[i]);
    return dims;
}

Result<Shape> ShapeBuilder::shapeOf(nvinfer1::DimsExprs const& dims) const
{
    if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS)
        return badArgument("it has rank {}, which is not within [0, {}]", dims.nbDims, nvinfer1::Dims::MAX_DIMS);
    std::scoped_lock const lock{mMutex};
    Shape shape;
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        DimensionExpr const* const expr = known(dims.d[i]);
        if (expr == nullptr)
            return badArgument("extent {} is {}{}", i,
                dims.d[i] == nullptr ? "null" : "an expression of another call: make it with the builder at hand",
                mProblem.empty() ? "" : " (" + mProblem + ")");
        shape.push_back(expr->value());
    }
    return shape;
}

Result<OutputShapes> ShapeBuilder::shapesOf(std::span<nvinfer1::DimsExprs const> outputs, std::string const& call) const
{
    OutputShapes found{{}, mSizeOutputs, mSizeOptima};
    for (size_t i = 0; i < outputs.size(); ++i)
    {
        auto shape = shapeOf(outputs[i]);
        if (!shape)
            return std::move(shape).error().in(fmt::format("output {} in {}", i, call));
        found.shapes.push_back(*std::move(shape));
    }
    return found;
}

void ShapeBuilder::forgetSizeTensors() noexcept
{
    mSizeOutputs.clear();
    mSizeOptima.clear();
}

IDimensionExpr const* ShapeBuilder::constant(int64_t value) noexcept
{
    std::scoped_lock const lock{mMutex};
    try
    {
        return own(ShapeExpr{value});
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
        return nullptr;
    }
}

IDimensionExpr const* ShapeBuilder::operation(
    DimensionOperation op, IDimensionExpr const& first, IDimensionExpr const& second) noexcept
{
    std::scoped_lock const lock{mMutex};
    try
    {
        DimensionExpr const* const a = known(&first);
        DimensionExpr const* const b = known(&second);
        if (a == nullptr || b == nullptr)
        {
            mProblem = "an operand of operation() is an expression of another call";
            return nullptr;
        }
        bool const isDivision = op == DimensionOperation::kFLOOR_DIV || op == DimensionOperation::kCEIL_DIV;
        if (isDivision && b->value() == ShapeExpr{0})
        {
            mProblem = "operation() divides by 0";
            return nullptr;
        }
        switch (op)
        {
        case DimensionOperation::kSUM: return own(a->value() + b->value());
        case DimensionOperation::kPROD: return own(a->value() * b->value());
        case DimensionOperation::kMAX: return own(max(a->value(), b->value()));
        case DimensionOperation::kMIN: return own(min(a->value(), b->value()));
        case DimensionOperation::kSUB: return own(a->value() - b->value());
        case DimensionOperation::kEQUAL: return own(equal(a->value(), b->value()));
        case DimensionOperation::kLESS: return own(less(a->value(), b->value()));
        case DimensionOperation::kFLOOR_DIV: return own(floorDiv(a->value(), b->value()));
        case DimensionOperation::kCEIL_DIV: return own(ceilDiv(a->value(), b->value()));
        }
        mProblem = fmt::format("operation {} does not exist", static_cast<int32_t>(op));
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
    }
    return nullptr;
}

bool ShapeBuilder::dependsOnSize(ShapeExpr const& expr) const
{
    std::vector<int32_t> const used = expr.symbols();
    return std::ranges::any_of(used, [&](int32_t symbol) { return std::ranges::count(mSizeSymbols, symbol) != 0; });
}

Result<DimensionExpr const*> ShapeBuilder::declare(
    int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper)
{
    DimensionExpr const* const typical = known(&opt);
    DimensionExpr const* const most = known(&upper);
    if (!mDataExtent)
        return badArgument("size tensors need IPluginV3");
    if (outputIndex < 0 || outputIndex >= mOutputs)
        return badArgument("size tensor: output {} does not exist, the plugin has {}", outputIndex, mOutputs);
    if (std::ranges::count(mSizeOutputs, outputIndex) != 0)
        return badArgument("output {} is declared a size tensor twice", outputIndex);
    if (typical == nullptr || most == nullptr)
        return badArgument("size tensor {}: opt or upper is an expression of another call", outputIndex);
    if (dependsOnSize(typical->value()) || dependsOnSize(most->value()))
        return badArgument("size tensor {}: opt and upper may not depend on another size tensor", outputIndex);
    std::optional<int64_t> const least = typical->value().constant();
    std::optional<int64_t> const largest = most->value().constant();
    if ((least && *least < 0) || (largest && (*largest < 0 || *largest > kMaxTensorElements)))
        return badArgument("size tensor {}: opt {} and upper {}: sizes are from 0 to {}", outputIndex,
            typical->value().show(), most->value().show(), kMaxTensorElements);
    if (least && largest && *least > *largest)
        return badArgument("size tensor {}: opt {} is above upper {}", outputIndex, *least, *largest);
    ShapeExpr const extent = mDataExtent(static_cast<int32_t>(mSizeOutputs.size()), most->value());
    mSizeOutputs.push_back(outputIndex);
    mSizeOptima.push_back(typical->value());
    if (std::optional<int32_t> const symbol = extent.asSymbol())
        mSizeSymbols.push_back(*symbol);
    return own(extent, true);
}

IDimensionExpr const* ShapeBuilder::declareSizeTensor(
    int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper) noexcept
{
    std::scoped_lock const lock{mMutex};
    try
    {
        auto declared = declare(outputIndex, opt, upper);
        if (declared)
            return *declared;
        mProblem = declared.error().message;
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
    }
    return nullptr;
}

} // namespace tenon::plugins
