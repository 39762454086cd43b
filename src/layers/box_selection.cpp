// BoxSelection: rules, and the selection of one image, which the reference and the CPU's kernel have in common.
#include "layers/box_selection.h"

#include "layers/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon
{

namespace
{
constexpr int64_t kCorners{4};

bool isBetter(BoxSelection::Scored const& a, BoxSelection::Scored const& b) noexcept
{
    return a.score != b.score ? a.score > b.score : a.rank < b.rank;
}

float areaOf(BoxSelection::Box const& box) noexcept
{
    float const width = box.x2 - box.x1;
    float const height = box.y2 - box.y1;
    return width > 0.0F && height > 0.0F ? width * height : 0.0F;
}

//! Of a box whose sides count `more` beside their difference.
float sidesOf(BoxSelection::Box const& box, float more) noexcept
{
    return box.x2 < box.x1 || box.y2 < box.y1 ? 0.0F : (box.x2 - box.x1 + more) * (box.y2 - box.y1 + more);
}

//! Puts the best ones in front, in order.
void sortBest(BoxSelection::Scored* scored, int64_t count, int64_t all)
{
    if (count < all)
        std::nth_element(scored, scored + count, scored + all, isBetter);
    std::sort(scored, scored + count, isBetter);
}

BoxSelection::Box cornersOf(BoxSelection::Box const& centre) noexcept
{
    float const halfWidth = 0.5F * centre.x2; // The second pair is width and height.
    float const halfHeight = 0.5F * centre.y2;
    return {centre.x1 - halfWidth, centre.y1 - halfHeight, centre.x1 + halfWidth, centre.y1 + halfHeight};
}
} // namespace

BoxSelection::Box BoxSelection::Box::ordered() const noexcept
{
    return {std::min(x1, x2), std::min(y1, y2), std::max(x1, x2), std::max(y1, y2)};
}

int64_t BoxSelection::room(Extents const& extents) const noexcept
{
    bool const isTogether = rule == BoxRule::kTogether;
    int64_t const looked = std::min(candidates, isTogether ? extents.boxes * extents.classes : extents.boxes);
    return isTogether ? looked + 1 : looked * extents.classes + 1; // One more is being looked at.
}

float BoxSelection::lowestScore() const noexcept
{
    if (!areLogits)
        return scoreThreshold;
    if (scoreThreshold >= 1.0F)
        return std::numeric_limits<float>::infinity();
    return std::log(scoreThreshold / (1.0F - scoreThreshold)); // −∞ for 0.
}

BoxSelection::Box BoxSelection::decoded(Box const& box, Box const* anchor) const noexcept
{
    bool const isCentre = form == BoxForm::kCentre;
    if (anchor == nullptr)
        return isCentre ? cornersOf(box) : box;
    if (isCentre)
        return cornersOf({box.x1 * anchor->x2 + anchor->x1, box.y1 * anchor->y2 + anchor->y1,
            anchor->x2 * std::exp(box.x2), anchor->y2 * std::exp(box.y2)});
    Box const offset = box.ordered();
    Box const base = anchor->ordered();
    return {base.x1 + offset.x1, base.y1 + offset.y1, base.x2 + offset.x2, base.y2 + offset.y2};
}

BoxSelection::Box BoxSelection::boxOf(
    Extents const& extents, Memory const& memory, int64_t image, int64_t box, int64_t label) const noexcept
{
    auto const at = [](float const* numbers, int64_t index) {
        float const* const first = numbers + kCorners * index;
        return Box{first[0], first[1], first[2], first[3]};
    };
    int64_t const row = image * extents.boxes + box;
    Box const own = at(memory.boxes, row * extents.boxClasses + (extents.boxClasses == 1 ? 0 : label));
    if (extents.anchorImages == 0)
        return decoded(own, nullptr);
    Box const anchor = at(memory.anchors, extents.anchorImages == 1 ? box : row);
    return decoded(own, &anchor);
}

float BoxSelection::overlap(Box const& first, Box const& second) const noexcept
{
    Box const a = first.ordered();
    Box const b = second.ordered();
    bool const isApart = b.x1 > a.x2 || b.x2 < a.x1 || b.y1 > a.y2 || b.y2 < a.y1;
    Box const common =
        isApart ? Box{} : Box{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
    if (rule == BoxRule::kTogether)
    {
        float const shared = areaOf(common);
        float const all = areaOf(a) + areaOf(b) - shared;
        return shared > 0.0F && all > 0.0F ? shared / all : 0.0F;
    }
    float const more = arePixels ? 1.0F : 0.0F;
    float const width = common.x2 - common.x1 + (haveOneInCommon ? more : 0.0F);
    float const height = common.y2 - common.y1 + (haveOneInCommon ? more : 0.0F);
    if (!(width > 0.0F && height > 0.0F))
        return 0.0F;
    float const shared = width * height;
    return shared / (sidesOf(a, more) + sidesOf(b, more) - shared);
}

bool BoxSelection::covers(Kept const& better, Kept const& one) const noexcept
{
    if (rule == BoxRule::kByClass)
        return overlap(better.box, one.box) > overlapThreshold;
    return (isAgnostic || better.label == one.label) && overlap(one.box, better.box) >= overlapThreshold;
}

int64_t BoxSelection::keepTogether(Extents const& extents, Memory const& memory, int64_t image) const
{
    float const lowest = lowestScore();
    float const* scores = memory.scores + image * extents.boxes * extents.classes;
    int64_t found{0};
    for (int64_t rank = 0; rank < extents.boxes * extents.classes; ++rank)
        if (scores[rank] >= lowest && rank % extents.classes != background) // Never a NaN.
            memory.scored[found++] = {scores[rank], rank};
    int64_t const looked = std::min(found, candidates);
    sortBest(memory.scored, looked, found);
    std::fill_n(memory.ofClass, extents.classes, 0);
    int64_t covering{0};
    int64_t count{0};
    for (int64_t i = 0; i < looked && count < most; ++i)
    {
        Scored const& from = memory.scored[i];
        int64_t const label = from.rank % extents.classes;
        Kept& one = memory.kept[covering];
        one = {boxOf(extents, memory, image, from.rank / extents.classes, label), from, label};
        if (std::any_of(memory.kept, memory.kept + covering, [&](Kept const& kept) { return covers(kept, one); }))
            continue;
        ++covering;
        if (mostOfClass > 0 && memory.ofClass[label]++ >= mostOfClass)
            continue;
        write(memory, image * most + count++, one);
    }
    return count;
}

int64_t BoxSelection::keepByClass(Extents const& extents, Memory const& memory, int64_t image) const
{
    float const* const scores = memory.scores + image * extents.boxes * extents.classes;
    auto const isBefore = [](Kept const& a, Kept const& b) { return isBetter(a.from, b.from); };
    Kept* kept = memory.kept;
    Scored bar{-std::numeric_limits<float>::infinity(), INT64_MAX}; // What is not better than it does not come out.
    for (int64_t label = 0; label < extents.classes; ++label)
    {
        if (label == background)
            continue;
        int64_t found{0};
        for (int64_t box = 0; box < extents.boxes; ++box)
            if (float const score = scores[box * extents.classes + label]; score > scoreThreshold && score >= bar.score)
                memory.scored[found++] = {score, box};
        int64_t const looked = std::min(found, candidates);
        sortBest(memory.scored, looked, found);
        Kept* const first = kept;
        for (int64_t i = 0; i < looked; ++i)
        {
            Scored const& from = memory.scored[i];
            if (!isBetter({from.score, label * extents.boxes + from.rank}, bar))
                break; // It would cover worse ones only.
            *kept = {boxOf(extents, memory, image, from.rank, label), {from.score, label * extents.boxes + from.rank},
                label};
            if (std::none_of(first, kept, [&](Kept const& better) { return covers(better, *kept); }))
                ++kept;
        }
        if (kept - memory.kept >= most)
        {
            std::nth_element(memory.kept, memory.kept + most - 1, kept, isBefore);
            kept = memory.kept + most;
            bar = memory.kept[most - 1].from;
        }
    }
    int64_t const count = std::min<int64_t>(kept - memory.kept, most);
    std::partial_sort(memory.kept, memory.kept + count, kept, isBefore);
    for (int64_t i = 0; i < count; ++i)
        write(memory, image * most + i, memory.kept[i]);
    return count;
}

void BoxSelection::write(Memory const& memory, int64_t at, Kept const& one) const noexcept
{
    float* to = memory.outBoxes + kCorners * at;
    for (float const side : {one.box.x1, one.box.y1, one.box.x2, one.box.y2})
        *to++ = clips ? std::max(std::min(side, 1.0F), 0.0F) : side;
    memory.outScores[at] = areLogits ? 1.0F / (1.0F + std::exp(-one.from.score)) : one.from.score;
    memory.outClasses[at] = static_cast<int32_t>(one.label);
}

void BoxSelection::selectImage(Extents const& extents, Memory const& memory, int64_t image) const
{
    std::fill_n(memory.outBoxes + image * most * kCorners, most * kCorners, 0.0F);
    std::fill_n(memory.outScores + image * most, most, 0.0F);
    std::fill_n(memory.outClasses + image * most, most, emptyClass);
    int64_t const count =
        rule == BoxRule::kTogether ? keepTogether(extents, memory, image) : keepByClass(extents, memory, image);
    memory.counts[image] = static_cast<int32_t>(count);
}

BoxSelection::Extents BoxSelection::extentsOf(
    std::vector<int64_t> const& boxes, std::vector<int64_t> const& scores, std::vector<int64_t> const* anchors)
{
    return {scores.at(0), scores.at(1), scores.at(2), boxes.at(2), anchors == nullptr ? 0 : anchors->at(0)};
}

Result<Done> BoxSelection::verify() const
{
    if (rule > BoxRule::kByClass || form > BoxForm::kCentre)
        return badArgument("an unknown rule or form of boxes");
    constexpr int64_t kMost{INT32_MAX};
    if (candidates < 1 || candidates > kMost || most < 1 || most > kMost || mostOfClass < 0)
        return badArgument("{} candidates, {} boxes, {} of a class", candidates, most, mostOfClass);
    return Done{};
}

Result<std::vector<TensorType>> BoxSelection::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2, 3).rank(0, 4).rank(1, 3).rank(2, 3);
    for (int32_t i = 0; i < 3; ++i)
        check.types(i, {DType::kFLOAT});
    TENON_TRY(check.done());
    Shape const& scores = in.type(1).shape;
    check.extent(0, 0, scores[0]).extent(0, 1, scores[1]).extent(0, 3, kCorners);
    if (in.type(0).shape[2] != ShapeExpr{1})
        check.extent(0, 2, scores[2]);
    if (in.has(2))
    {
        check.extent(2, 1, scores[1]).extent(2, 2, kCorners);
        if (in.type(2).shape[0] != ShapeExpr{1})
            check.extent(2, 0, scores[0]);
    }
    TENON_TRY(check.done());
    ShapeExpr const& images = scores[0];
    return std::vector<TensorType>{{DType::kINT32, {images, 1}}, {DType::kFLOAT, {images, most, kCorners}},
        {DType::kFLOAT, {images, most}}, {DType::kINT32, {images, most}}};
}

Result<std::vector<HostTensor>> BoxSelection::reference(HostTensors const& in) const
{
    auto const floatsOf = [](HostTensor const& tensor) {
        std::vector<float> values;
        for (double const value : tensor.reals)
            values.push_back(static_cast<float>(value));
        return values;
    };
    bool const hasAnchors = in.size() > 2 && in[2] != nullptr;
    std::vector<float> const boxes = floatsOf(*in[0]);
    std::vector<float> const scores = floatsOf(*in[1]);
    std::vector<float> const anchors = hasAnchors ? floatsOf(*in[2]) : std::vector<float>{};
    Extents const extents = extentsOf(in[0]->extents, in[1]->extents, hasAnchors ? &in[2]->extents : nullptr);
    std::vector<HostTensor> out{{DType::kINT32, {extents.images, 1}}, {DType::kFLOAT, {extents.images, most, kCorners}},
        {DType::kFLOAT, {extents.images, most}}, {DType::kINT32, {extents.images, most}}};
    std::vector<int32_t> counts(static_cast<size_t>(extents.images));
    std::vector<float> outBoxes(static_cast<size_t>(extents.images * most * kCorners));
    std::vector<float> outScores(static_cast<size_t>(extents.images * most));
    std::vector<int32_t> outClasses(static_cast<size_t>(extents.images * most));
    std::vector<Scored> scored(static_cast<size_t>(extents.boxes * extents.classes));
    std::vector<Kept> kept(static_cast<size_t>(room(extents)));
    std::vector<int64_t> ofClass(static_cast<size_t>(extents.classes));
    for (int64_t image = 0; image < extents.images; ++image)
        selectImage(extents,
            {boxes.data(), scores.data(), anchors.data(), counts.data(), outBoxes.data(), outScores.data(),
                outClasses.data(), scored.data(), kept.data(), ofClass.data()},
            image);
    out[0].integers.assign(counts.begin(), counts.end());
    out[1].reals.assign(outBoxes.begin(), outBoxes.end());
    out[2].reals.assign(outScores.begin(), outScores.end());
    out[3].integers.assign(outClasses.begin(), outClasses.end());
    return out;
}

} // namespace tenon
