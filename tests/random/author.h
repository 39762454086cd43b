// Author: writes a random graph line by line. A line stays when the graph is sound with it and its errors are known.
#pragma once

#include "random/known.h"

#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test
{

//! A graph's text, and what decides everything about its runs that the text does not say.
struct RandomGraph
{
    std::string text;
    uint32_t seed{0};
};

//! The graph of a text; an error names the line.
Result<Graph> graphOf(std::string const& text);
//! Inputs of the graph: extents of symbols differ from one `round` to the next; numbers are after the first letter of
//! the input's name. g: quarters, r: real numbers, p: positive ones, i: small whole numbers, b: truth values.
std::vector<HostTensor> inputsOf(Graph const& graph, uint32_t seed, int32_t round);

//! A tensor that lines to come may read.
struct Written
{
    std::string name; //!< With its percent sign.
    TensorType type;
    Known known;

    size_t rank() const
    {
        return type.shape.size();
    }
    int64_t extent(size_t axis) const
    {
        return known.value.extents[axis];
    }
    bool isStatic(size_t axis) const
    {
        return type.shape[axis].isConstant();
    }
    bool isStatic() const
    {
        return staticExtents(type.shape).has_value();
    }
    bool isReal() const
    {
        return type.dtype == DType::kFLOAT || type.dtype == DType::kHALF || type.dtype == DType::kBF16;
    }
    bool isIndex() const
    {
        return type.dtype == DType::kINT32 || type.dtype == DType::kINT64;
    }
};

class Author
{
  public:
    explicit Author(uint32_t seed);

    //! A graph of about so many layers.
    RandomGraph write(int32_t layers);

    // ---- what proposals draw
    int64_t draw(int64_t low, int64_t high)
    {
        return std::uniform_int_distribution<int64_t>{low, high}(mRandom);
    }
    bool chance(int32_t percent)
    {
        return draw(0, 99) < percent;
    }
    double real(double low, double high)
    {
        return std::uniform_real_distribution<double>{low, high}(mRandom);
    }
    //! A tensor that fits, mostly one of the last; null: there is none.
    template <typename Fits>
    Written const* any(Fits&& fits)
    {
        std::vector<Written const*> found;
        for (Written const& each : mWritten)
            if (fits(each))
                found.push_back(&each);
        if (found.empty())
            return nullptr;
        auto const count = static_cast<int64_t>(found.size());
        return found[static_cast<size_t>(
            chance(60) ? draw(std::max<int64_t>(count - 4, 0), count - 1) : draw(0, count - 1))];
    }

    // ---- lines; constants stay only with the node behind them
    //! "%c7" of a constant with this behind the equals sign.
    std::string constant(DType type, std::vector<int64_t> const& extents, std::string const& values);
    std::string randomConstant(DType type, std::vector<int64_t> const& extents);
    std::string wholeConstant(DType type, std::vector<int64_t> const& extents, int64_t low, int64_t high);
    std::string listConstant(DType type, std::vector<int64_t> const& extents, std::vector<double> const& values);
    //! False: the graph is as it was. `bodies`: their lines, braces included.
    bool node(std::string_view kind, std::vector<std::string> const& operands, std::string const& fields = {},
        size_t outputs = 1, std::string const& bodies = {});
    //! Outputs of the last node.
    Written const& made(size_t output = 0) const
    {
        return mWritten[mWritten.size() - mMade + output];
    }
    std::deque<Written> const& written() const
    {
        return mWritten;
    }
    std::string freshName()
    {
        return "%v" + std::to_string(mNames++);
    }
    //! The type of the graph's real numbers.
    DType realType() const
    {
        return mRealType;
    }

  private:
    void writeInputs();
    void writeInput(std::string const& prefix, DType type, std::vector<std::string> const& extents);
    std::string axisText(int64_t extent, bool mayBeDynamic);
    bool isFit(std::vector<Known> const& made) const;
    bool add(std::string const& lines, std::vector<std::string> const& names);

    std::mt19937 mRandom;
    uint32_t mSeed;
    bool mMayBeEmpty; //!< Extents that are known at run time only can be 0.
    DType mRealType{DType::kFLOAT};
    std::string mText;
    std::string mPending;         //!< Constants of the node to come.
    std::deque<Written> mWritten; //!< Proposals point at them while they write.
    std::vector<std::string> mSymbols;
    size_t mMade{0};
    int32_t mNames{0};
};

//! A layer or a few that belong together; false: nothing fits.
using Proposal = bool (*)(Author& author);
std::span<std::pair<std::string_view, Proposal> const> allProposals() noexcept;

//! "(1,2)" of extents.
std::string listed(std::vector<int64_t> const& values);

} // namespace tenon::test
