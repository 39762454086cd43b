// WrittenTensors: what steps have written for sure by a step, whichever way loops and conditionals have gone.
#pragma once

#include "plan/plan.h"

namespace tenon
{

//! Walks over the steps of a program whose controls have been checked, from the first to the last.
class WrittenTensors
{
  public:
    explicit WrittenTensors(Program const& program);

    //! Before step `index`; at the end once more, with one past the last.
    void enter(int32_t index);
    //! The step at hand writes that memory. `isSlice`: a slice of it, by rounds of a loop that are as many as there
    //! are slices.
    void write(int32_t root, bool isSlice);
    //! Whether the step at hand lies in a loop or a conditional.
    bool isControlled() const noexcept
    {
        return !mOpen.empty();
    }
    bool isWritten(int32_t root) const noexcept
    {
        return mIsWritten[static_cast<size_t>(root)];
    }

  private:
    //! A loop or conditional that the step at hand lies in.
    struct Open
    {
        int32_t control;
        size_t begin; //!< Where its writes begin in mOrder.
        bool isBehindMiddle{false};
        size_t middle{0};            //!< Of a loop: where those of its second part begin.
        std::vector<int32_t> before; //!< Of a conditional: what its first branch has written.
    };

    PlanControl const& controlOf(Open const& open) const
    {
        return mProgram.controls[static_cast<size_t>(open.control)];
    }
    void passMiddle(Open& open);
    void close(Open open);
    //! What has been written from `begin` on counts no more.
    void forgetFrom(size_t begin);

    Program const& mProgram;
    size_t mNext{0}; //!< Control.
    std::vector<Open> mOpen;
    std::vector<bool> mIsWritten; //!< By root.
    std::vector<bool> mIsSliced;  //!< By root: a round has written a slice.
    std::vector<int32_t> mOrder;  //!< Roots as they were written.
};

} // namespace tenon
