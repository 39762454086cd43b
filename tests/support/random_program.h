// Random valid plans of toy kernels: what property tests and fuzzers start from.
#pragma once

#include "support/device.h"
#include "support/program_builder.h"

namespace tenon::test
{

//! A DAG of float steps over [n, 3] with weights, views, in-place steps and several outputs; some end in a nonzero.
class RandomProgram
{
  public:
    explicit RandomProgram(uint32_t seed)
        : mRandom{seed}
    {
    }

    std::shared_ptr<Plan> make()
    {
        int32_t const inputs = upTo(3) + 1;
        for (int32_t i = 0; i < inputs; ++i)
            mLive.push_back(mBuilder.input("in" + std::to_string(i), {-1, 3}, 1, 8));
        mExtents = mBuilder.extentsOf(0);
        for (int32_t i = 1; i < inputs; ++i)
            mBuilder.setExtents(i, mExtents);
        mFlat = mBuilder.compute(PlanShapeOp::kMul, mExtents[0], mExtents[1]);
        int32_t const steps = upTo(10) + 2;
        for (int32_t i = 0; i < steps; ++i)
            addStep();
        addOutputs();
        describeGraph();
        return mBuilder.finish();
    }

  private:
    int32_t upTo(int32_t most)
    {
        return static_cast<int32_t>(mRandom() % static_cast<uint32_t>(most));
    }
    int32_t anyLive()
    {
        return mLive[static_cast<size_t>(upTo(static_cast<int32_t>(mLive.size())))];
    }
    void addStep()
    {
        int32_t const out = mBuilder.activation(mExtents);
        if (upTo(2) == 0)
            mBuilder.step("add", {anyLive(), anyLive()}, {out});
        else
            mBuilder.step("scale", {anyLive()}, {out}).args = ProgramBuilder::args(0.25F * static_cast<float>(upTo(9)));
        mLive.push_back(out);
    }
    void addOutputs()
    {
        int32_t const last = mLive.back();
        int32_t const between = mBuilder.activation(mExtents);
        mBuilder.step("scale", {last}, {between}).inPlace = {{0, 0}};
        int32_t const flat = mBuilder.view(between, {mFlat});
        mBuilder.step("scale", {flat}, {mBuilder.output("flat", {mFlat})}).args = ProgramBuilder::args(1.5F);
        mBuilder.step("add", {mLive.front(), mLive.front()}, {mBuilder.output("twice", mExtents)});
        if (upTo(2) == 0)
            return;
        Reg const found = mBuilder.dataSymbol(mFlat);
        int32_t const positions = mBuilder.activation({found}, DType::kINT32);
        mBuilder.step("nonzero", {flat}, {positions}).produces = {found.index};
        mBuilder.step("negate", {positions}, {mBuilder.output("positions", {found}, DType::kINT32)});
    }
    //! A portable graph, a weight and a decision, so that every table of the file has entries.
    void describeGraph()
    {
        mBuilder.weight(randomFloats(8, 1), {2, 4});
        Plan& plan = mBuilder.plan();
        plan.graph.values = {{"a", -1}, {"b", -1}, {"w", 0}};
        PlanNode node;
        node.layer = "ElementWise";
        node.name = "sum";
        node.origins = {"sum", "relu"};
        node.fields = {1, 2, 3, 4};
        node.inputs = {0, 2, -1};
        node.outputs = {1};
        plan.graph.nodes = {node};
        plan.io[0].graphValue = 0;
        plan.decisions = {{"fuse", "sum", "relu joins sum"}};
        plan.plugins = {{"Plug", "1", "space", "libplug.so"}};
        plan.memoryPerProfile = {4096};
        plan.networkLayers = 7;
    }

    std::mt19937 mRandom;
    ProgramBuilder mBuilder;
    std::vector<int32_t> mLive;
    std::vector<Reg> mExtents;
    Reg mFlat;
};

inline std::shared_ptr<Plan> randomPlan(uint32_t seed)
{
    return RandomProgram{seed}.make();
}

} // namespace tenon::test
