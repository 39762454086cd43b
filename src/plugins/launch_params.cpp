// LaunchParams and KernelArguments: checked when they are set.
#include "plugins/launch_params.h"

#include <exception>

namespace tenon::plugins
{

using nvinfer1::ISymExpr;

namespace
{
constexpr int32_t kMaxArguments{4096};
}

Result<ShapeExpr> valueOf(ShapeBuilder const& builder, ISymExpr* number)
{
    if (number == nullptr)
        return badArgument("it is null");
    if (number->getType() != nvinfer1::PluginArgType::kINT
        || number->getDataType() != nvinfer1::PluginArgDataType::kINT32)
        return badArgument("it is no int32");
    nvinfer1::DimsExprs one{};
    one.nbDims = 1;
    one.d[0] = static_cast<nvinfer1::IDimensionExpr const*>(number->getExpr());
    return TENON_TRY(builder.shapeOf(one)).front();
}

LaunchParams::LaunchParams(ShapeBuilder const& builder)
    : mBuilder{builder}
{
    mImpl = this;
}

bool LaunchParams::set(size_t index, ISymExpr* value) noexcept
{
    static constexpr std::array<char const*, 7> kNames{"the grid's x", "the grid's y", "the grid's z", "the block's x",
        "the block's y", "the block's z", "the shared memory"};
    try
    {
        auto const found = valueOf(mBuilder, value);
        if (found)
        {
            mGiven[index] = value;
            mValues[index] = *found;
            return true;
        }
        mProblem = fmt::format("{}: {}", kNames[index], found.error().message);
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
    }
    return false;
}

ISymExpr* LaunchParams::getGridX() noexcept
{
    return mGiven[0];
}

bool LaunchParams::setGridX(ISymExpr* gridX) noexcept
{
    return set(0, gridX);
}

ISymExpr* LaunchParams::getGridY() noexcept
{
    return mGiven[1];
}

bool LaunchParams::setGridY(ISymExpr* gridY) noexcept
{
    return set(1, gridY);
}

ISymExpr* LaunchParams::getGridZ() noexcept
{
    return mGiven[2];
}

bool LaunchParams::setGridZ(ISymExpr* gridZ) noexcept
{
    return set(2, gridZ);
}

ISymExpr* LaunchParams::getBlockX() noexcept
{
    return mGiven[3];
}

bool LaunchParams::setBlockX(ISymExpr* blockX) noexcept
{
    return set(3, blockX);
}

ISymExpr* LaunchParams::getBlockY() noexcept
{
    return mGiven[4];
}

bool LaunchParams::setBlockY(ISymExpr* blockY) noexcept
{
    return set(4, blockY);
}

ISymExpr* LaunchParams::getBlockZ() noexcept
{
    return mGiven[5];
}

bool LaunchParams::setBlockZ(ISymExpr* blockZ) noexcept
{
    return set(5, blockZ);
}

ISymExpr* LaunchParams::getSharedMem() noexcept
{
    return mGiven[6];
}

bool LaunchParams::setSharedMem(ISymExpr* sharedMem) noexcept
{
    return set(6, sharedMem);
}

KernelArguments::KernelArguments(ShapeBuilder const& builder)
    : mBuilder{builder}
{
    mImpl = this;
}

Result<std::vector<ShapeExpr>> KernelArguments::values() const
{
    if (!mProblem.empty())
        return badArgument("{}", mProblem);
    for (size_t i = 0; i < mGiven.size(); ++i)
        if (mGiven[i] == nullptr)
            return badArgument("extra argument {} of {} was not set", i, mGiven.size());
    return mValues;
}

ISymExpr* KernelArguments::getSymExpr(int32_t index) const noexcept
{
    return index < 0 || index >= getNbSymExprs() ? nullptr : mGiven[static_cast<size_t>(index)];
}

bool KernelArguments::setSymExpr(int32_t index, ISymExpr* symExpr) noexcept
{
    try
    {
        if (index < 0 || index >= getNbSymExprs())
            return false;
        auto const found = valueOf(mBuilder, symExpr);
        if (found)
        {
            mGiven[static_cast<size_t>(index)] = symExpr;
            mValues[static_cast<size_t>(index)] = *found;
            return true;
        }
        mProblem = fmt::format("extra argument {}: {}", index, found.error().message);
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
    }
    return false;
}

int32_t KernelArguments::getNbSymExprs() const noexcept
{
    return static_cast<int32_t>(mGiven.size());
}

bool KernelArguments::setNbSymExprs(int32_t count) noexcept
{
    try
    {
        if (count < 0 || count > kMaxArguments)
            return false;
        mGiven.assign(static_cast<size_t>(count), nullptr);
        mValues.assign(static_cast<size_t>(count), 0);
        return true;
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
        return false;
    }
}

} // namespace tenon::plugins
