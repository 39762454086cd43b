// PlanMutator: one wrong thing in a plan, from flipped bytes to fields that lie.
#pragma once

#include "plan/plan.h"

#include <random>

namespace tenon::test
{

class PlanMutator
{
  public:
    explicit PlanMutator(uint32_t seed)
        : mRandom{seed}
    {
    }

    uint64_t below(uint64_t most)
    {
        return most == 0 ? 0 : mRandom() % most;
    }
    //! Flips, overwrites or cuts; checksums are left wrong.
    void damage(Bytes& blob);
    //! Changes words of the metadata section and recomputes all checksums.
    void rewriteWords(Bytes& blob);
    //! Changes one to three fields: extents, operands, sizes, layer fields, shape program, profiles, …
    void changeFields(Plan& plan);

  private:
    int64_t oddNumber();
    void changeNumber(int32_t& number);
    void changeNumber(int64_t& number);
    void changeList(std::vector<int32_t>& list);
    void changeBytes(Bytes& bytes);
    void changeStored(Bytes& fields);
    void changeArgs(PlanStep& step, Plan const& plan);
    void changeKernel(PlanStep& step, Program const& program);
    void changeStep(PlanStep& step, Program const& program);
    void changeTensor(PlanTensor& tensor);
    void changeInstruction(PlanShapeInstruction& instruction);
    void changeSymbol(PlanSymbol& symbol);
    void changeIO(Plan& plan);
    void changeProfile(PlanProfileInput& input);
    void changeWeight(Plan& plan);
    void changeRest(Plan& plan);
    void changeField(Plan& plan);
    template <typename T>
    T* anyOf(std::vector<T>& list)
    {
        return list.empty() ? nullptr : &list[below(list.size())];
    }

    std::mt19937_64 mRandom;
};

} // namespace tenon::test
