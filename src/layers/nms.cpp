// NMS: rules, what a box is, and plain loops.
#include "layers/nms.h"

#include "base/cancellation.h"
#include "layers/check.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <map>

namespace tenon
{

using nvinfer1::BoundingBoxFormat;

Result<Done> NMS::verify() const
{
    if (boundingBoxFormat != BoundingBoxFormat::kCORNER_PAIRS && boundingBoxFormat != BoundingBoxFormat::kCENTER_SIZES)
        return badArgument("unknown format of boxes {}", static_cast<int32_t>(boundingBoxFormat));
    if (topKBoxLimit < 0)
        return badArgument("a limit of {} boxes", topKBoxLimit);
    if (indicesType != DType::kINT32 && indicesType != DType::kINT64)
        return badArgument("indices cannot be {}", nameOf(indicesType));
    return Done{};
}

NMS::Box NMS::boxOf(std::array<double, kCorners> const& numbers) const noexcept
{
    Box box{};
    for (size_t axis = 0; axis < 2; ++axis)
    {
        double const a = numbers[axis];
        double const b = numbers[axis + 2];
        bool const isCorners = boundingBoxFormat == BoundingBoxFormat::kCORNER_PAIRS;
        box.low[axis] = isCorners ? std::min(a, b) : a - b / 2.0;
        box.high[axis] = isCorners ? std::max(a, b) : a + b / 2.0;
    }
    return box;
}

bool NMS::overlap(Box const& a, Box const& b, double threshold) noexcept
{
    double common{1.0};
    for (size_t axis = 0; axis < 2; ++axis)
        common *= std::max(0.0, std::min(a.high[axis], b.high[axis]) - std::max(a.low[axis], b.low[axis]));
    double const both = a.area() + b.area() - common;
    return both > 0.0 && common > threshold * both;
}

int64_t NMS::sortBest(std::span<Scored> candidates) const
{
    auto const count = std::min<int64_t>(static_cast<int64_t>(candidates.size()), topKBoxLimit);
    std::partial_sort(
        candidates.begin(), candidates.begin() + count, candidates.end(), [](Scored const& a, Scored const& b) {
            if (a.score != b.score)
                return a.score > b.score;
            return a.classIndex != b.classIndex ? a.classIndex < b.classIndex : a.box < b.box;
        });
    return count;
}

Result<std::vector<TensorType>> NMS::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, 5).floating(0).sameType(1, 0).rank(0, 3, 4).rank(1, 3);
    check.types(2, {DType::kINT32}).rank(2, 0);
    for (int32_t i = 3; i < 5; ++i)
        check.floating(i).rank(i, 0);
    if (check)
    {
        Shape const& scores = in.type(1).shape;
        check.extent(0, 0, scores[0]).extent(0, 1, scores[1]).extent(0, in.type(0).rank() - 1, kCorners);
        if (in.type(0).rank() == 4)
            check.extent(0, 2, scores[2]);
    }
    TENON_TRY(check.done());
    Shape const& scores = in.type(1).shape;
    ShapeExpr perClass = scores[1];
    if (std::optional<std::vector<int64_t>> const most = constantValues(in, 2))
        perClass = min(perClass, ShapeExpr{std::max<int64_t>(most->front(), 0)});
    ShapeExpr const upper = scores[0] * min(scores[2] * perClass, ShapeExpr{topKBoxLimit});
    return std::vector<TensorType>{{indicesType, {in.dataExtent(0, upper), 3}}, {DType::kINT32, {}}};
}

Result<std::vector<HostTensor>> NMS::reference(HostTensors const& in) const
{
    HostTensor const& boxes = *in[0];
    HostTensor const& scores = *in[1];
    int64_t const images = scores.extents[0];
    int64_t const perImage = scores.extents[1];
    int64_t const classes = scores.extents[2];
    bool const isPerClass = boxes.extents.size() == 4;
    int64_t const most = in[2]->integer(0);
    double const overlapLimit = in.size() > 3 && in[3] != nullptr ? in[3]->real(0) : 0.0;
    double const scoreLimit = in.size() > 4 && in[4] != nullptr ? in[4]->real(0) : 0.0;
    std::vector<std::array<int64_t, 3>> selected;
    for (int64_t image = 0; image < images; ++image)
    {
        std::vector<Scored> candidates;
        for (int64_t i = 0; i < perImage * classes; ++i)
            if (double const score = scores.real(image * perImage * classes + i); score > scoreLimit)
                candidates.push_back({score, static_cast<int32_t>(i % classes), static_cast<int32_t>(i / classes)});
        candidates.resize(static_cast<size_t>(sortBest(candidates)));
        std::map<int32_t, std::vector<Box>> kept; // By class.
        for (Scored const& one : candidates)
        {
            cancellationPoint();
            int64_t const row = image * perImage + one.box;
            int64_t const first = (isPerClass ? row * classes + one.classIndex : row) * static_cast<int64_t>(kCorners);
            Box const box =
                boxOf({boxes.real(first), boxes.real(first + 1), boxes.real(first + 2), boxes.real(first + 3)});
            std::vector<Box>& others = kept[one.classIndex];
            bool const isHidden = std::any_of(
                others.begin(), others.end(), [&](Box const& other) { return overlap(box, other, overlapLimit); });
            if (isHidden || static_cast<int64_t>(others.size()) >= most)
                continue;
            others.push_back(box);
            selected.push_back({image, one.classIndex, one.box});
        }
    }
    HostTensor indices{indicesType, {static_cast<int64_t>(selected.size()), 3}};
    for (int64_t i = 0; i < indices.count(); ++i)
        indices.setInteger(i, selected[static_cast<size_t>(i / 3)][static_cast<size_t>(i % 3)]);
    HostTensor count{DType::kINT32, {}};
    count.setInteger(0, static_cast<int64_t>(selected.size()));
    return std::vector<HostTensor>{std::move(indices), std::move(count)};
}

} // namespace tenon
