// Kernel "reference": converts operands to host tensors and calls the layer's own plain loops. Random fills draw other
// numbers in each run of a context.
#include "backend/check_shapes.h"
#include "backend/layer_args.h"
#include "backends/ref/kernels.h"
#include "layers/fill.h"
#include "layers/layer_table.h"

#include <algorithm>
#include <exception>

namespace tenon::ref
{

namespace
{
class PreparedReference final : public HostPrepared
{
  public:
    //! `mustRun`: the plan expects values of it.
    PreparedReference(
        LayerPtr layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, bool mustRun)
        : mLayer{std::move(layer)},
          mInputs{inputs.begin(), inputs.end()},
          mOutputs{outputs.begin(), outputs.end()},
          mIsIdle{!mustRun && !outputs.empty()
              && std::ranges::all_of(outputs, [](TensorArg const& out) { return volumeOf(out.extents) == 0; })}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        if (mIsIdle)
            return Done{};
        try
        {
            return runLayer(call);
        }
        catch (std::exception const& problem)
        {
            return errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what());
        }
    }

  private:
    Result<Done> runLayer(Call const& call) const
    {
        std::vector<HostTensor> storage(mInputs.size());
        HostTensors in(mInputs.size(), nullptr);
        for (size_t i = 0; i < mInputs.size(); ++i)
        {
            if (!mInputs[i].present)
                continue;
            storage[i] = HostTensor::fromBytes(mInputs[i].dtype, mInputs[i].extents, call.inputs[i]);
            in[i] = &storage[i];
        }
        SymbolTable symbols;
        std::vector<TensorType> const types = TENON_TRY(infer(storage, call, symbols));
        std::vector<HostTensor> const out = TENON_TRY(mLayer->reference(in));
        if (out.size() != mOutputs.size() || types.size() != mOutputs.size())
            return badArgument("the layer gives {} outputs where {} are wanted", out.size(), mOutputs.size());
        for (size_t i = 0; i < out.size(); ++i)
        {
            TENON_TRY(checkOutput(out[i], types[i], i));
            out[i].toBytes(call.outputs[i]);
            tellExtents(out[i], types[i], symbols, call.produced);
        }
        return Done{};
    }

    //! With all contents known: what the layer reads of its operands is checked before its loops trust it.
    Result<std::vector<TensorType>> infer(
        std::vector<HostTensor> const& in, Call const& call, SymbolTable& symbols) const
    {
        std::vector<TensorType> types(in.size());
        std::vector<Constant> constants(in.size());
        std::vector<Input> views(in.size());
        for (size_t i = 0; i < in.size(); ++i)
        {
            if (!mInputs[i].present)
                continue;
            types[i] = {mInputs[i].dtype, shapeOf(mInputs[i].extents)};
            constants[i] = {mInputs[i].dtype, mInputs[i].extents, call.inputs[i], nullptr};
            views[i] = {&types[i], nullptr, &constants[i], "?"};
        }
        auto found = mLayer->infer(Inputs{std::move(views), "?", &symbols, 0});
        if (found)
            return found;
        // The network was sound when it was built: it is this run's shapes or values that are not.
        return Error{ErrorCode::kFAILED_EXECUTION, std::move(found).error().message};
    }

    Result<Done> checkOutput(HostTensor const& got, TensorType const& type, size_t i) const
    {
        TensorArg const& wanted = mOutputs[i];
        bool fits = got.dtype == wanted.dtype && got.extents.size() == wanted.extents.size();
        for (size_t k = 0; fits && k < got.extents.size(); ++k)
        {
            bool const isExact = type.rank() == static_cast<int32_t>(got.extents.size()) && type.shape[k].isConstant();
            fits = isExact ? got.extents[k] == wanted.extents[k] : got.extents[k] <= wanted.extents[k];
        }
        if (!fits)
            return badArgument("output {} is {} where the plan says {}", i,
                TensorType{got.dtype, shapeOf(got.extents)}.show(),
                TensorType{wanted.dtype, shapeOf(wanted.extents)}.show());
        return Done{};
    }

    static void tellExtents(
        HostTensor const& got, TensorType const& type, SymbolTable const& symbols, int64_t* produced)
    {
        for (size_t k = 0; produced != nullptr && k < type.shape.size(); ++k)
            if (std::optional<int32_t> const id = type.shape[k].asSymbol())
                if (symbols.at(*id).kind == SymbolKind::kData)
                    produced[symbols.at(*id).index] = got.extents[k];
    }

    LayerPtr mLayer;
    std::vector<TensorArg> mInputs;
    std::vector<TensorArg> mOutputs;
    bool mIsIdle; //!< It gives no element: loops over 2^40 empty matrices would not end.
};

//! A random fill of one context: which run it is decides what it draws, so that contexts begin alike. The layer's name
//! tells it apart from other fills.
class RandomFill final : public HostPrepared, public Attached
{
  public:
    RandomFill(Fill const& fill, std::string_view layer, bool mustRun)
        : mFill{fill},
          mName{hashOf(layer)},
          mMustRun{mustRun}
    {
    }
    Prepared const& prepared() const noexcept override
    {
        return *this;
    }
    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) override
    {
        mInputs.assign(inputs.begin(), inputs.end());
        mOutputs.assign(outputs.begin(), outputs.end());
        return Done{};
    }
    bool hearsAddresses() const noexcept override
    {
        return false;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        Fill drawn = mFill;
        drawn.seed = mName + 0xD1342543DE82EF95ULL * mRuns++; // Odd: no two runs have one seed.
        return PreparedReference{makeLayer(drawn), mInputs, mOutputs, mMustRun}.run(call, lane);
    }

  private:
    //! FNV-1a: the same in every process.
    static uint64_t hashOf(std::string_view text) noexcept
    {
        uint64_t hash{0xCBF29CE484222325ULL};
        for (char const c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
        return hash;
    }

    Fill mFill;
    uint64_t mName;
    bool mMustRun;
    std::vector<TensorArg> mInputs;
    std::vector<TensorArg> mOutputs;
    mutable uint64_t mRuns{0}; //!< A context runs one at a time.
};

class ReferenceKernel final : public Kernel
{
  public:
    ReferenceKernel(LayerPtr layer, std::vector<WeightArg> weights, std::string_view name, bool mustRun)
        : mLayer{std::move(layer)},
          mWeights{std::move(weights)},
          mName{name},
          mMustRun{mustRun}
    {
    }
    Result<std::unique_ptr<Attached>> attach(ContextResources const&) override
    {
        Fill const* const fill = as<Fill>(*mLayer);
        if (fill == nullptr || !fill->isRandom())
            return std::unique_ptr<Attached>{};
        return std::unique_ptr<Attached>{std::make_unique<RandomFill>(*fill, mName, mMustRun)};
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(checkShapes({*mLayer, inputs, outputs, mWeights}));
        for (auto const& args : {inputs, outputs})
            for (TensorArg const& arg : args)
                if (arg.present && (arg.layout != Layout::kLinear || !isValid(arg.dtype)))
                    return badArgument(
                        "the reference cannot work on {} in layout {}", nameOf(arg.dtype), nameOf(arg.layout));
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedReference>(mLayer, inputs, outputs, mMustRun)};
    }

  private:
    LayerPtr mLayer;
    std::vector<WeightArg> mWeights;
    std::string mName;
    bool mMustRun;
};
} // namespace

Result<std::unique_ptr<Kernel>> loadReference(KernelSource const& source)
{
    LayerArgs const args = TENON_TRY(decodeLayerArgs(source.args));
    if (args.unread != 0)
        return badArgument("the reference reads all operands");
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    for (WeightArg const& weight : source.weights)
        if (weight.data != nullptr && !weight.packing.empty())
            return badArgument("the reference cannot read weights packed as '{}'", weight.packing);
    return std::unique_ptr<Kernel>{
        std::make_unique<ReferenceKernel>(std::move(layer), source.weights, source.layer, source.produces > 0)};
}

} // namespace tenon::ref
