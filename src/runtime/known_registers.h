// KnownRegisters: all registers for what is set in a context, for whoever asks again while nothing is set anew.
#pragma once

#include "runtime/input_shapes.h"

#include <memory>
#include <mutex>

namespace tenon
{

//! Queries come one per tensor or step, and each would evaluate the whole program.
class KnownRegisters
{
  public:
    //! For these shapes and values of shape tensors at these addresses.
    std::shared_ptr<std::vector<Span> const> find(InputShapes const& shapes, std::span<void* const> from)
    {
        std::vector<Span> symbols = shapes.symbolsFor(from);
        std::scoped_lock const lock{mMutex};
        if (mLast == nullptr || symbols != mSymbols)
        {
            mLast = std::make_shared<std::vector<Span> const>(shapes.registersFor(symbols));
            mSymbols = std::move(symbols);
        }
        return mLast;
    }

  private:
    std::mutex mMutex;
    std::vector<Span> mSymbols; //!< What mLast follows from.
    std::shared_ptr<std::vector<Span> const> mLast;
};

} // namespace tenon
