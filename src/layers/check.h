// Check: the rules that layers set for their inputs, chained; the first one broken makes the error, which names the
// layer, the input and the tensor.
#pragma once

#include "ir/evaluate.h"
#include "ir/layer.h"

#include <initializer_list>
#include <optional>
#include <string>

namespace tenon
{

//! Use: TENON_TRY(Check(in, kName).count(1).floating(0).done()). Absent optional inputs pass every rule but count().
class Check
{
  public:
    Check(Inputs const& in, std::string_view kind)
        : mIn{in},
          mKind{kind}
    {
    }

    //! Inputs [0, least) are present, and there are at most `most`.
    Check& count(int32_t least, int32_t most);
    Check& count(int32_t exact)
    {
        return count(exact, exact);
    }
    Check& types(int32_t i, std::initializer_list<DType> allowed);
    Check& floating(int32_t i)
    {
        return types(i, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64});
    }
    //! kINT32 or kINT64.
    Check& index(int32_t i)
    {
        return types(i, {DType::kINT32, DType::kINT64});
    }
    Check& boolean(int32_t i)
    {
        return types(i, {DType::kBOOL});
    }
    Check& sameType(int32_t i, int32_t as);
    Check& rank(int32_t i, int32_t least, int32_t most);
    Check& rank(int32_t i, int32_t exact)
    {
        return rank(i, exact, exact);
    }
    Check& sameRank(int32_t i, int32_t as);
    //! Input i has the rank of `shape` and per axis its extent or 1.
    Check& broadcastsTo(int32_t i, Shape const& shape);
    //! Extents known on both sides are equal.
    Check& extent(int32_t i, int32_t axis, ShapeExpr const& expected);
    //! Axis lies in [0, rank of input i).
    Check& axis(int32_t i, int32_t axis);
    //! Input i is not larger than input `of` on an axis that both have.
    Check& within(int32_t i, int32_t of, int32_t axis);
    //! Mask has bits only for axes of input i; one at least, or exactly one.
    Check& axes(int32_t i, uint32_t mask, bool exactlyOne = false);
    template <typename... Args>
    Check& that(bool holds, fmt::format_string<Args...> format, Args&&... args)
    {
        if (!mError && !holds)
            fail(-1, fmt::format(format, std::forward<Args>(args)...));
        return *this;
    }
    template <typename... Args>
    Check& input(int32_t i, bool holds, fmt::format_string<Args...> format, Args&&... args)
    {
        if (!mError && !holds)
            fail(i, fmt::format(format, std::forward<Args>(args)...));
        return *this;
    }
    //! What a layer says of its own fields.
    Check& fields(Result<Done> verified);

    //! False once a rule is broken: what follows may not rely on it.
    explicit operator bool() const noexcept
    {
        return !mError;
    }
    Result<Done> done() const;
    Result<TensorType> sameAs(int32_t i) const;

  private:
    void fail(int32_t input, std::string const& why);
    bool skips(int32_t i) const noexcept
    {
        return mError || !mIn.has(i);
    }

    Inputs const& mIn;
    std::string_view mKind;
    std::optional<Error> mError;
};

//! The error of a layer about itself, or about one input.
Error layerError(Inputs const& in, std::string_view kind, std::string const& why);
Error inputError(Inputs const& in, std::string_view kind, int32_t i, std::string const& why);

//! Broadcast of two inputs; the error names the layer.
Result<Shape> broadcastInputs(Inputs const& in, std::string_view kind, Shape const& a, int32_t other);

} // namespace tenon
