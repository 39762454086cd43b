// NMS: an image's pairs of box and class by score, each compared with those of its class that were kept.
#include "layers/nms.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfNMS(Problem const& problem)
{
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        if (i != 2 && problem.hasInput(i) && problem.input(i).dtype != DType::kFLOAT)
            return refuse("greedy", fmt::format("takes float32, this is {}", nameOf(problem.input(i).dtype)));
    auto const scores = static_cast<double>(volumeOf(problem.typicalExtents(problem.input(1))));
    return std::vector<Offer>{{.candidate = "greedy",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear, Layout::kLinear},
        .cost = costOf(problem, scores * 100.0, bytesOf(problem))}};
}

//! Scratch memory: the numbers of the boxes kept of an image, those of a class side by side; its candidates; those that
//! were kept; and where each class begins and how many it has.
template <typename Index>
class NMSStep final : public HostPrepared
{
  public:
    NMSStep(NMS layer, std::vector<int64_t> const& scores, bool boxesPerClass, int64_t room, size_t inputs)
        : mLayer{layer},
          mInputs{inputs},
          mImages{scores[0]},
          mBoxes{scores[1]},
          mClasses{scores[2]},
          mIsPerClass{boxesPerClass},
          mRoom{room},
          mRoomOfImage{std::min<int64_t>(mBoxes * mClasses, layer.topKBoxLimit)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return KeptBoxes::bytes(mRoomOfImage) + static_cast<size_t>(mBoxes * mClasses) * sizeof(NMS::Scored)
            + static_cast<size_t>(mRoomOfImage) * sizeof(NMS::Scored) + static_cast<size_t>(mClasses) * sizeof(OfClass);
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        Search search{.boxes = static_cast<float const*>(call.inputs[0]),
            .most = *static_cast<int32_t const*>(call.inputs[2]),
            .overlap = numberAt(call, 3),
            .keptBoxes = KeptBoxes::at(static_cast<double*>(call.scratch), mRoomOfImage)};
        auto* const behind = static_cast<std::byte*>(call.scratch) + KeptBoxes::bytes(mRoomOfImage);
        search.candidates = reinterpret_cast<NMS::Scored*>(behind);
        search.kept = search.candidates + mBoxes * mClasses;
        search.classes = reinterpret_cast<OfClass*>(search.kept + mRoomOfImage);
        auto const* scores = static_cast<float const*>(call.inputs[1]);
        auto const limit = static_cast<float>(numberAt(call, 4));
        auto* out = static_cast<Index*>(call.outputs[0]);
        int64_t found{0};
        for (int64_t image = 0; image < mImages; ++image)
        {
            int64_t count{0};
            for (int64_t i = 0; i < mBoxes * mClasses; ++i)
                if (float const score = scores[image * mBoxes * mClasses + i]; score > limit)
                    search.candidates[count++] = {static_cast<double>(score), static_cast<int32_t>(i % mClasses),
                        static_cast<int32_t>(i / mClasses)};
            int64_t const kept =
                select(search, image, mLayer.sortBest({search.candidates, static_cast<size_t>(count)}));
            if (found + kept > mRoom)
                return badArgument("{} boxes are selected where the plan has room for {}", found + kept, mRoom);
            for (int64_t i = 0; i < kept; ++i, out += 3)
            {
                out[0] = static_cast<Index>(image);
                out[1] = static_cast<Index>(search.kept[i].classIndex);
                out[2] = static_cast<Index>(search.kept[i].box);
            }
            found += kept;
        }
        *static_cast<int32_t*>(call.outputs[1]) = static_cast<int32_t>(found);
        if (call.produced != nullptr)
            call.produced[0] = found;
        return Done{};
    }

  private:
    struct OfClass
    {
        int64_t first;
        int64_t count;
    };
    struct Search
    {
        float const* boxes;
        int64_t most;
        double overlap;
        KeptBoxes keptBoxes;
        NMS::Scored* candidates{nullptr};
        NMS::Scored* kept{nullptr};
        OfClass* classes{nullptr};
    };

    double numberAt(Call const& call, size_t input) const
    {
        bool const isThere = input < mInputs && call.inputs[input] != nullptr;
        return isThere ? static_cast<double>(*static_cast<float const*>(call.inputs[input])) : 0.0;
    }

    //! Room for all candidates of each class.
    void partClasses(Search const& search, int64_t count) const
    {
        std::fill(search.classes, search.classes + mClasses, OfClass{0, 0});
        for (int64_t i = 0; i < count; ++i)
            ++search.classes[search.candidates[i].classIndex].count;
        int64_t first{0};
        for (int64_t c = 0; c < mClasses; ++c)
            first += std::exchange(search.classes[c], {first, 0}).count;
    }

    //! How many of the sorted candidates are kept.
    int64_t select(Search const& search, int64_t image, int64_t count) const
    {
        partClasses(search, count);
        int64_t kept{0};
        for (int64_t i = 0; i < count; ++i)
        {
            NMS::Scored const& one = search.candidates[i];
            OfClass& own = search.classes[one.classIndex];
            if (own.count >= search.most)
                continue;
            int64_t const row = image * mBoxes + one.box;
            float const* const numbers = search.boxes + (mIsPerClass ? row * mClasses + one.classIndex : row) * 4;
            NMS::Box const box = mLayer.boxOf({static_cast<double>(numbers[0]), static_cast<double>(numbers[1]),
                static_cast<double>(numbers[2]), static_cast<double>(numbers[3])});
            int64_t const end = own.first + own.count;
            if (isaFunctions().overlapsAny(box, search.keptBoxes, own.first, end, search.overlap))
                continue;
            search.keptBoxes.set(end, box);
            search.kept[kept++] = one;
            ++own.count;
        }
        return kept;
    }

    NMS mLayer;
    size_t mInputs;
    int64_t mImages;
    int64_t mBoxes;
    int64_t mClasses;
    bool mIsPerClass;
    int64_t mRoom;
    int64_t mRoomOfImage; //!< The most candidates that are looked at.
};

Step stepOfNMS(StepOf<NMS> const& from)
{
    for (size_t i = 0; i < from.inputs.size(); ++i)
        if (from.inputs[i].present
            && (from.inputs[i].layout != Layout::kLinear || (i != 2 && from.inputs[i].dtype != DType::kFLOAT)))
            return badArgument("the kernel of NMS takes row-major float32");
    std::vector<int64_t> const& scores = from.inputs[1].extents;
    if (scores[1] > INT32_MAX || scores[2] > INT32_MAX)
        return badArgument("{} boxes of {} classes", scores[1], scores[2]);
    bool const isPerClass = from.inputs[0].extents.size() == 4;
    int64_t const room = from.outputs[0].extents[0];
    if (from.layer().indicesType == DType::kINT64)
        return std::make_shared<NMSStep<int64_t> const>(from.layer(), scores, isPerClass, room, from.inputs.size());
    return std::make_shared<NMSStep<int32_t> const>(from.layer(), scores, isPerClass, room, from.inputs.size());
}

using NMSFile = StepFile<"nms", "greedy", offersOfNMS, stepOfNMS>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(NMS, NMSFile::kCandidates, NMSFile::kKernels);
