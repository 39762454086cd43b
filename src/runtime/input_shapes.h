// InputShapes: a profile, the input shapes that are set in it, and what follows from them.
#pragma once

#include "runtime/engine_state.h"

namespace tenon
{

//! A value: whoever derives several things from shapes that another thread may set derives them from one copy.
class InputShapes
{
  public:
    using Dims = nvinfer1::Dims64;

    //! Profile 0, and no shape of a dynamic input (Q1).
    explicit InputShapes(EngineState const& engine);

    int32_t profile() const noexcept
    {
        return mProfile;
    }
    //! Forgets the shapes of all dynamic inputs (Q3).
    void select(int32_t profile);
    //! Refused unless it fits network and profile, also wherever other inputs have its dimensions by name.
    Result<Done> set(int32_t input, Dims const& dims);

    //! Per input: as it is set, with what profile and dimension names imply; −1 where nothing is known.
    std::span<Dims const> dims() const noexcept
    {
        return mDims;
    }
    bool isSet(size_t input) const noexcept;
    bool areSet() const noexcept;
    //! Intervals of all symbols; values of shape tensors are read from `from` where an address is, else the profile's.
    void findSymbols(std::span<void* const> from, std::span<Span> into) const;
    //! The same of all symbols of the program.
    std::vector<Span> symbolsFor(std::span<void* const> from) const;
    //! All registers that follow from symbols; what only running tells lies within its bounds.
    std::vector<Span> registersFor(std::span<Span const> symbols) const;
    //! Of an input or output: −1 in each extent that is not known yet.
    Dims shapeOf(int32_t io, std::span<Span const> registers) const;
    //! Values of shape tensors lie within the profile.
    Result<Done> checkValues(std::span<Span const> symbols) const;

  private:
    Result<Done> checkExtents(int32_t input, Dims const& dims) const;
    Result<Done> checkNamed(int32_t input, Dims const& dims) const;
    std::string_view nameOfExtent(size_t input, int32_t axis) const;
    int64_t extentByName(std::string_view name) const;
    void imply();

    EngineState const* mEngine;
    int32_t mProfile{0};
    std::vector<Dims> mSet; //!< Per input: as the user set it; −1 where nothing is set.
    std::vector<Dims> mDims;
};

} // namespace tenon
