// Loop: rules and the plain loop.
#include "layers/loop.h"

#include "base/cancellation.h"
#include "ir/graph.h"
#include "ir/run_body.h"
#include "layers/body_types.h"
#include "layers/check.h"

#include <algorithm>
#include <cstring>

namespace tenon
{

namespace
{
//! A plan may lie about its loops.
bool isWhole(LoopForm const& form, Graph const& body, int32_t operands)
{
    size_t const outputs = form.joinedValue(form.joined.size());
    return form.carried >= 0 && form.captured() <= static_cast<size_t>(operands)
        && body.inputs().size() == form.capturedInput() + static_cast<size_t>(operands) - form.captured()
        && body.outputs().size() == outputs
        && std::ranges::all_of(form.lasts, [&](int32_t each) { return each >= 0 && each < form.carried; });
}

class LoopTypes
{
  public:
    LoopTypes(Inputs const& in, LoopForm const& form, Graph const& body)
        : mIn{in},
          mForm{form},
          mBody{body}
    {
    }
    Result<std::vector<TensorType>> find()
    {
        TENON_TRY(Check(mIn, Loop::kName).index(0).rank(0, 0).done());
        for (int32_t i = 0; i < mForm.carried; ++i)
            TENON_TRY(checkCarried(i));
        for (size_t i = 0; i < mForm.walked.size(); ++i)
            TENON_TRY(checkWalked(i));
        if (mForm.hasCondition)
            TENON_TRY(checkCondition());
        std::vector<TensorType> types;
        for (int32_t const each : mForm.lasts)
            types.push_back(mIn.type(static_cast<int32_t>(mForm.firstValue(each))));
        for (size_t i = 0; i < mForm.joined.size(); ++i)
            types.push_back(TENON_TRY(joinedType(i)));
        return types;
    }

  private:
    TensorType const& outputType(size_t position) const
    {
        return mBody.typeOf(mBody.outputs()[position].value);
    }
    std::string const& outputName(size_t position) const
    {
        return mBody.outputs()[position].name;
    }

    Result<Done> checkCarried(int32_t index) const
    {
        auto const operand = static_cast<int32_t>(mForm.firstValue(index));
        TENON_TRY(Check(mIn, Loop::kName).input(operand, mIn.has(operand), "is missing").done());
        TensorType const& first = mIn.type(operand);
        TensorType const& next = outputType(static_cast<size_t>(index));
        if (!isSameType(first, next) || isMadeInside(next.shape, mBody))
            return inputError(mIn, Loop::kName, operand,
                fmt::format("a recurrence begins as {} and goes on as {} ('{}'): both have the same type and extents",
                    first.show(), next.show(), outputName(static_cast<size_t>(index))));
        return Done{};
    }

    Result<Done> checkWalked(size_t index) const
    {
        auto const operand = static_cast<int32_t>(mForm.walkedTensor(index));
        TENON_TRY(Check(mIn, Loop::kName)
                      .input(operand, mIn.has(operand), "is missing")
                      .rank(operand, 1, nvinfer1::Dims64::MAX_DIMS)
                      .input(0, mForm.walked[index] == 0 || mIn.has(0),
                          "is missing: an iterator from behind begins at the last of that many rounds")
                      .done());
        return Done{};
    }

    Result<Done> checkCondition() const
    {
        TensorType const& type = outputType(mForm.condition());
        if (type.dtype != DType::kBOOL || type.rank() != 0)
            return layerError(mIn, Loop::kName,
                fmt::format(
                    "the condition '{}' is {}: it must be a 0-D bool", outputName(mForm.condition()), type.show()));
        return Done{};
    }

    Result<TensorType> joinedType(size_t index) const
    {
        auto const operand = static_cast<int32_t>(mForm.length(index));
        TENON_TRY(Check(mIn, Loop::kName)
                      .input(operand, mIn.has(operand), "is missing: how many rounds a loop output holds")
                      .index(operand)
                      .rank(operand, 0)
                      .done());
        std::optional<Shape> const length = mIn.values(operand);
        if (!length)
            return inputError(
                mIn, Loop::kName, operand, "the length of a loop output follows from data; it must be a shape tensor");
        TensorType type = outputType(mForm.joinedValue(index));
        if (isMadeInside(type.shape, mBody))
            return layerError(mIn, Loop::kName,
                fmt::format("'{}' cannot be joined: its extents are another in each round",
                    outputName(mForm.joinedValue(index))));
        type.shape.insert(type.shape.begin(), length->front());
        return type;
    }

    Inputs const& mIn;
    LoopForm const& mForm;
    Graph const& mBody;
};

//! One slice of a tensor along its first axis.
HostTensor sliceOf(HostTensor const& from, int64_t index)
{
    HostTensor slice{from.dtype, {from.extents.begin() + 1, from.extents.end()}};
    int64_t const count = slice.count();
    for (int64_t i = 0; i < count; ++i)
        from.isReal() ? slice.set(i, from.real(index * count + i))
                      : slice.setInteger(i, from.integer(index * count + i));
    return slice;
}

void putSlice(HostTensor& to, HostTensor const& slice, int64_t index)
{
    int64_t const count = slice.count();
    for (int64_t i = 0; i < count; ++i)
        to.isReal() ? to.set(index * count + i, slice.real(i)) : to.setInteger(index * count + i, slice.integer(i));
}

class PlainLoop
{
  public:
    PlainLoop(LoopForm const& form, Graph const& body, HostTensors const& in)
        : mForm{form},
          mBody{body},
          mIn{in}
    {
        for (int32_t i = 0; i < form.carried; ++i)
            mCarried.push_back(*in.at(form.firstValue(i)));
        mJoined.resize(form.joined.size());
    }

    Result<std::vector<HostTensor>> run()
    {
        bool const isCounted = mIn.at(0) != nullptr;
        mTrips = isCounted ? mIn[0]->integer(0) : 0;
        for (int64_t round = 0; !isCounted || round < mTrips; ++round)
        {
            cancellationPoint();
            std::vector<HostTensor> out = TENON_TRY(runRound(round));
            if (mForm.hasCondition && out.at(mForm.condition()).integer(0) == 0)
                break;
            TENON_TRY(join(round, out));
            for (int32_t i = 0; i < mForm.carried; ++i)
                mCarried[static_cast<size_t>(i)] = std::move(out[static_cast<size_t>(i)]);
        }
        std::vector<HostTensor> results;
        for (int32_t const each : mForm.lasts)
            results.push_back(mCarried[static_cast<size_t>(each)]);
        for (size_t i = 0; i < mJoined.size(); ++i)
            results.push_back(TENON_TRY(joinedOf(i)));
        return results;
    }

  private:
    Result<std::vector<HostTensor>> runRound(int64_t round)
    {
        std::vector<HostTensor> slices;
        for (size_t i = 0; i < mForm.walked.size(); ++i)
        {
            HostTensor const& from = *mIn.at(mForm.walkedTensor(i));
            int64_t const at = mForm.walked[i] != 0 ? mTrips - 1 - round : round;
            if (mForm.hasCondition && (at < 0 || at >= from.extents.at(0)))
                slices.push_back(HostTensor{from.dtype, {from.extents.begin() + 1, from.extents.end()}});
            else if (at < 0 || at >= from.extents.at(0))
                return badArgument("an iterator over {} slices is asked for slice {}", from.extents.at(0), at);
            else
                slices.push_back(sliceOf(from, at));
        }
        HostTensors in;
        for (HostTensor const& each : mCarried)
            in.push_back(&each);
        for (HostTensor const& each : slices)
            in.push_back(&each);
        in.insert(in.end(), mIn.begin() + static_cast<std::ptrdiff_t>(mForm.captured()), mIn.end());
        return runBody(mBody, in);
    }

    int64_t lengthOf(size_t index) const
    {
        return std::max<int64_t>(mIn.at(mForm.length(index))->integer(0), 0);
    }

    Result<Done> join(int64_t round, std::vector<HostTensor> const& out)
    {
        for (size_t i = 0; i < mJoined.size(); ++i)
        {
            HostTensor const& value = out.at(mForm.joinedValue(i));
            if (round >= lengthOf(i))
                return badArgument("a loop output of {} rounds is given round {}", lengthOf(i), round);
            TENON_TRY(makeJoined(i, value));
            putSlice(mJoined[i], value, mForm.joined[i] != 0 ? lengthOf(i) - 1 - round : round);
        }
        return Done{};
    }

    Result<Done> makeJoined(size_t index, HostTensor const& value)
    {
        if (!mJoined[index].extents.empty())
            return Done{};
        std::vector<int64_t> extents = value.extents;
        extents.insert(extents.begin(), lengthOf(index));
        mJoined[index] = HostTensor{value.dtype, std::move(extents)};
        return Done{};
    }

    //! Without any round, the shape of what one would give.
    Result<HostTensor> joinedOf(size_t index)
    {
        if (!mJoined[index].extents.empty())
            return std::move(mJoined[index]);
        TensorType const& type = mBody.typeOf(mBody.outputs()[mForm.joinedValue(index)].value);
        std::vector<int64_t> extents{lengthOf(index)};
        for (ShapeExpr const& extent : type.shape)
            extents.push_back(extent.constant().value_or(0));
        return HostTensor{type.dtype, std::move(extents)};
    }

    LoopForm const& mForm;
    Graph const& mBody;
    HostTensors const& mIn;
    int64_t mTrips{0};
    std::vector<HostTensor> mCarried;
    std::vector<HostTensor> mJoined;
};
} // namespace

Result<std::vector<TensorType>> Loop::infer(Inputs const& in) const
{
    if (bodies.size() != 1 || !isWhole(loop, *bodies.front(), in.size()))
        return layerError(in, kName, "its body does not fit its operands");
    if (!in.has(0) && !loop.hasCondition)
        return layerError(in, kName, "nothing ends it: it has neither a count nor a condition");
    return LoopTypes{in, loop, *bodies.front()}.find();
}

Result<std::vector<HostTensor>> Loop::reference(HostTensors const& in) const
{
    if (bodies.size() != 1 || !isWhole(loop, *bodies.front(), static_cast<int32_t>(in.size())))
        return badArgument("the body of a loop does not fit its operands");
    return PlainLoop{loop, *bodies.front(), in}.run();
}

} // namespace tenon
