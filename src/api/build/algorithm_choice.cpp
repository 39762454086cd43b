// AlgorithmChoice: offers as algorithms. An implementation is a number made of the kinds of layer and kernel.
#include "api/build/algorithm_choice.h"

#include "api/convert.h"
#include "api/tensor_formats.h"
#include "base/layout.h"

#include <algorithm>
#include <array>

namespace tenon::api
{

namespace
{
//! The same in every process: FNV-1a over both names, without the sign.
int64_t implementationOf(std::string_view layer, std::string_view candidate)
{
    uint64_t hash{14695981039346656037ULL};
    for (std::string_view const part : {layer, std::string_view{"/"}, candidate})
        for (char const letter : part)
            hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
    return static_cast<int64_t>(hash >> 1U);
}

//! Positions of the inputs that are tensors of the user's network: constants are the layer's weights, and an input that
//! is absent is none.
std::vector<size_t> tensorInputs(Problem const& problem)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        if (ValueId const value = problem.node->inputs[i];
            value != kNone && problem.graph->constantOf(value) == nullptr)
            found.push_back(i);
    return found;
}
} // namespace

//! An object of the API that a user only looks at, as those below: all of its calls are here.
class AlgorithmIOInfoOf final : public nvinfer1::IAlgorithmIOInfo, public missing::AlgorithmIOInfo
{
  public:
    AlgorithmIOInfoOf(DType type, Layout layout, std::vector<int64_t> const& extents)
        : mType{type},
          mLayout{layout},
          mStrides{static_cast<int32_t>(extents.size()), {}}
    {
        mImpl = this;
        int64_t stride{1};
        for (int32_t const axis : axesFromInside(layout, mStrides.nbDims))
        {
            mStrides.d[axis] = stride;
            int64_t const extent = extents[static_cast<size_t>(axis)];
            stride *= std::max<int64_t>(axis == 1 ? vectorsOf(layout, extent) : extent, 1);
        }
    }
    nvinfer1::DataType getDataType() const noexcept override
    {
        return mType;
    }
    Dims getStrides() const noexcept override
    {
        return mStrides;
    }
    int64_t getVectorizedDim() const noexcept override
    {
        return blockOf(mLayout) > 1 ? 1 : -1;
    }
    int64_t getComponentsPerElement() const noexcept override
    {
        return blockOf(mLayout);
    }
    nvinfer1::TensorFormat getTensorFormat() const noexcept override
    {
        return formatOf(mLayout, mStrides.nbDims);
    }

  protected:
    void notImplemented(char const*) const noexcept override {}

  private:
    DType mType;
    Layout mLayout;
    Dims mStrides;
};

class AlgorithmVariantOf final : public nvinfer1::IAlgorithmVariant, public missing::AlgorithmVariant
{
  public:
    AlgorithmVariantOf(int64_t implementation, int64_t tactic)
        : mImplementation{implementation},
          mTactic{tactic}
    {
        mImpl = this;
    }
    int64_t getImplementation() const noexcept override
    {
        return mImplementation;
    }
    int64_t getTactic() const noexcept override
    {
        return mTactic;
    }

  protected:
    void notImplemented(char const*) const noexcept override {}

  private:
    int64_t mImplementation;
    int64_t mTactic;
};
class AlgorithmOf final : public nvinfer1::IAlgorithm, public missing::Algorithm
{
  public:
    AlgorithmOf(Problem const& problem, Offer const& offer, bool isTimed)
        : mVariant{implementationOf(problem.layer().name(), offer.candidate), offer.tactic},
          mMilliseconds{isTimed ? static_cast<float>(offer.cost / 1000.0) : -1.0F}
    {
        mImpl = this;
        auto const add = [&](ValueId value, Layout layout) {
            TensorType const& type = problem.graph->typeOf(value);
            mPorts.push_back(std::make_unique<AlgorithmIOInfoOf>(type.dtype, layout, problem.typicalExtents(type)));
        };
        for (size_t const input : tensorInputs(problem))
            add(problem.node->inputs[input], offer.inputs.at(input));
        for (size_t i = 0; i < problem.node->outputs.size(); ++i)
            add(problem.node->outputs[i], offer.outputs.at(i));
    }
    nvinfer1::IAlgorithmVariant const& getAlgorithmVariant() const noexcept override
    {
        return mVariant;
    }
    float getTimingMSec() const noexcept override
    {
        return mMilliseconds;
    }
    size_t getWorkspaceSize() const noexcept override
    {
        return 0;
    }
    nvinfer1::IAlgorithmIOInfo const* getAlgorithmIOInfoByIndex(int32_t index) const noexcept override
    {
        return index < 0 || static_cast<size_t>(index) >= mPorts.size() ? nullptr
                                                                        : mPorts[static_cast<size_t>(index)].get();
    }

  protected:
    void notImplemented(char const*) const noexcept override {}

  private:
    AlgorithmVariantOf mVariant;
    float mMilliseconds;
    std::vector<std::unique_ptr<AlgorithmIOInfoOf>> mPorts;
};

class AlgorithmContextOf final : public nvinfer1::IAlgorithmContext, public missing::AlgorithmContext
{
  public:
    explicit AlgorithmContextOf(Problem const& problem)
        : mName{problem.node->name}
    {
        mImpl = this;
        auto const add = [&](ValueId value) { mDims.push_back(bounds(problem, problem.graph->typeOf(value))); };
        for (size_t const input : tensorInputs(problem))
            add(problem.node->inputs[input]);
        mInputs = static_cast<int32_t>(mDims.size());
        std::ranges::for_each(problem.node->outputs, add);
    }
    char const* getName() const noexcept override
    {
        return mName.c_str();
    }
    Dims getDimensions(int32_t index, nvinfer1::OptProfileSelector select) const noexcept override
    {
        auto const which = static_cast<size_t>(select);
        return index < 0 || static_cast<size_t>(index) >= mDims.size() || which > 2
            ? kInvalidDims
            : mDims[static_cast<size_t>(index)][which];
    }
    int32_t getNbInputs() const noexcept override
    {
        return mInputs;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return static_cast<int32_t>(mDims.size()) - mInputs;
    }

  protected:
    void notImplemented(char const*) const noexcept override {}

  private:
    //! Smallest, typical and largest extents.
    static std::array<Dims, 3> bounds(Problem const& problem, TensorType const& type)
    {
        std::vector<int64_t> least;
        std::vector<int64_t> most;
        for (ShapeExpr const& extent : type.shape)
        {
            Range const range = extent.range(problem.graph->symbols());
            least.push_back(range.min);
            most.push_back(range.max);
        }
        return {dimsOf(least), dimsOf(problem.typicalExtents(type)), dimsOf(most)};
    }

    std::string mName;
    int32_t mInputs{0};
    std::vector<std::array<Dims, 3>> mDims;
};

AlgorithmChoice::AlgorithmChoice(nvinfer1::IAlgorithmSelector& selector, bool isTimed, bool rejectsEmpty)
    : mSelector{selector},
      mIsTimed{isTimed},
      mRejectsEmpty{rejectsEmpty}
{
}

AlgorithmChoice::~AlgorithmChoice() = default;

Result<std::vector<size_t>> AlgorithmChoice::select(Problem const& problem, std::vector<Offer> const& offers)
{
    AlgorithmContextOf const context{problem};
    std::vector<std::unique_ptr<AlgorithmOf>> algorithms;
    std::vector<nvinfer1::IAlgorithm const*> choices;
    for (Offer const& offer : offers)
    {
        algorithms.push_back(std::make_unique<AlgorithmOf>(problem, offer, mIsTimed));
        choices.push_back(algorithms.back().get());
    }
    auto const count = static_cast<int32_t>(choices.size());
    constexpr int32_t kUnwritten{-2};
    std::vector<int32_t> selection(choices.size(), kUnwritten);
    int32_t const selected = mSelector.selectAlgorithms(context, choices.data(), count, selection.data());
    std::vector<size_t> kept;
    bool const isNone = count > 0 && selected == 1 && selection.front() == -1; // As scripts answer that have no wish.
    bool const isOurs = selected < 0 || isNone || (selected == 0 && !mRejectsEmpty);
    for (int32_t i = 0; i < count && isOurs; ++i)
        kept.push_back(static_cast<size_t>(i));
    for (int32_t i = 0; i < std::min(selected, count) && !isOurs; ++i)
    {
        int32_t const at = selection[static_cast<size_t>(i)];
        if (at < 0 || at >= count)
            return badArgument(
                "[layer '{}'] the algorithm selector selects algorithm {} of {}", problem.node->name, at, count);
        if (std::ranges::find(kept, static_cast<size_t>(at)) == kept.end())
            kept.push_back(static_cast<size_t>(at));
    }
    if (kept.empty() || selected > count)
        return badArgument("[layer '{}'] the algorithm selector selects {} of {} algorithms{}", problem.node->name,
            selected, count, kept.empty() ? ", which BuilderFlag::kREJECT_EMPTY_ALGORITHMS forbids" : "");
    return kept;
}

void AlgorithmChoice::take(Problem const& problem, Offer const& offer)
{
    mContexts.push_back(std::make_unique<AlgorithmContextOf>(problem));
    mTaken.push_back(std::make_unique<AlgorithmOf>(problem, offer, mIsTimed));
}

void AlgorithmChoice::report() const
{
    std::vector<nvinfer1::IAlgorithmContext const*> contexts;
    std::vector<nvinfer1::IAlgorithm const*> choices;
    for (size_t i = 0; i < mTaken.size(); ++i)
    {
        contexts.push_back(mContexts[i].get());
        choices.push_back(mTaken[i].get());
    }
    mSelector.reportAlgorithms(contexts.data(), choices.data(), static_cast<int32_t>(choices.size()));
}

} // namespace tenon::api
