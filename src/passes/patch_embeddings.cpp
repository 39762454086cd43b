// Rules fuse-patch-embedding, for the entry of vision transformers, and undo-patch-embedding.
#include "ir/replaceable.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/element_wise.h"
#include "layers/image_convolution.h"
#include "layers/patch_embedding.h"
#include "layers/slice.h"
#include "passes/image_patches.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>
#include <cmath>

namespace tenon::passes
{

namespace
{
using nvinfer1::ElementWiseOperation;
constexpr size_t kRank{3}; //!< Of rows: images, rows, maps.

//! A convolution whose windows lie side by side, and what brings its pixels into rows.
struct PatchRows
{
    Node const* convolution{nullptr};
    Node const* shuffle{nullptr};

    Convolution const& layer() const
    {
        auto const* const image = layerOf<ImageConvolution>(convolution);
        return image != nullptr ? image->product : *layerOf<Convolution>(convolution);
    }
};

bool isPatchConvolution(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const image = as<ImageConvolution>(*node.layer);
    auto const* const conv = image != nullptr ? &image->product : as<Convolution>(*node.layer);
    if (conv == nullptr || (image != nullptr && image->isPooled()) || !conv->epilogue.empty()
        || !isOfPatches(graph, node, *conv, limits))
        return false;
    Window const window = conv->window();
    for (size_t axis = 0; axis < window.rank(); ++axis) // An embedding leaves out no window.
        if (window.post[axis] != 0 || !graph.typeOf(node.input(0)).shape[2 + axis].constant())
            return false;
    return true;
}

//! Whether the node makes pixels rows of maps: [n, maps, h, w] to [n, h · w, maps].
bool isRowsOfPixels(Graph const& graph, Node const& node)
{
    auto const* const shuffle = as<Shuffle>(*node.layer);
    Shape const& from = graph.typeOf(node.input(0)).shape;
    Shape const& to = graph.typeOf(node.output()).shape;
    if (shuffle == nullptr || from.size() != 4 || to.size() != kRank || to[0] != from[0] || to[2] != from[1])
        return false;
    Shape const middle = middleShape(graph, node);
    constexpr AxisOrder kLast{0, 2, 3, 1, 4, 5, 6, 7};
    constexpr AxisOrder kTurned{0, 2, 1, 3, 4, 5, 6, 7};
    bool const isTurnedBehind = isIdentity(shuffle->firstTranspose) && middle.size() == kRank && middle[1] == from[1]
        && shuffle->secondTranspose == kTurned;
    bool const isTurnedInFront =
        shuffle->firstTranspose == kLast && middle == to && isIdentity(shuffle->secondTranspose);
    return isTurnedBehind || isTurnedInFront;
}

//! None: the value is made in another way, or something else reads what lies between.
std::optional<PatchRows> patchRowsOf(Graph const& graph, ValueId value, FusionLimits const& limits)
{
    Node const* const shuffle = graph.producerOf(value);
    if (shuffle == nullptr || !isRowsOfPixels(graph, *shuffle) || !isReadOnce(graph, value))
        return std::nullopt;
    Node const* const conv = graph.producerOf(shuffle->input(0));
    if (conv == nullptr || !isReadOnce(graph, conv->output()) || !isPatchConvolution(graph, *conv, limits))
        return std::nullopt;
    return PatchRows{conv, shuffle};
}

//! Whether a node repeats rows of one image for all images.
bool isRepeating(Graph const& graph, Node const* node)
{
    auto const* const slice = layerOf<Slice>(node);
    if (slice == nullptr)
        return false;
    Shape const& from = graph.typeOf(node->input(0)).shape;
    Shape const& to = graph.typeOf(node->output()).shape;
    Result<Slice::Cut> const cut = slice->cut(operandsOf(graph, *node));
    if (!cut || from.size() != kRank || from[0] != ShapeExpr{1})
        return false;
    for (size_t axis = 1; axis < kRank; ++axis)
    {
        bool const isStepped = from[axis] == ShapeExpr{1} || cut->stride[axis] == ShapeExpr{1}; // One has no next.
        if (from[axis] != to[axis] || !isStepped || cut->start[axis] != ShapeExpr{0})
            return false;
    }
    return cut->start[0] == ShapeExpr{0}
    && (cut->stride[0] == ShapeExpr{0} || slice->mode == nvinfer1::SampleMode::kWRAP);
}

//! Rows that are the same in front of each image's.
struct LeadingRows
{
    Node const* repeating{nullptr}; //!< Null: a constant is there for all images.
    ValueId constant{kNone};
};

LeadingRows leadingRowsOf(Graph const& graph, ValueId value)
{
    Node const* const node = graph.producerOf(value);
    return isRepeating(graph, node) ? LeadingRows{node, node->input(0)} : LeadingRows{nullptr, value};
}

//! One image's; null: they are no constant, or not the same for all images.
std::shared_ptr<HostTensor const> rowsOfAllImages(Graph const& graph, LeadingRows const& leading)
{
    Constant const* const rows = graph.constantOf(leading.constant);
    if (rows == nullptr || rows->extents.size() != kRank || rows->count() == 0)
        return nullptr;
    if (rows->extents[0] != 1 && isReplaceable(*rows))
        return nullptr; // A refit may bring others for each image.
    HostTensor const all = HostTensor::fromConstant(*rows);
    auto one = std::make_shared<HostTensor>(rows->dtype, std::vector<int64_t>{1, rows->extents[1], rows->extents[2]});
    for (int64_t i = 0; i < all.count(); ++i)
        if (i < one->count())
            one->set(i, all.real(i));
        else if (all.real(i) != all.real(i % one->count()))
            return nullptr;
    return one;
}

//! What is added to each row of windows or stands in their place; null: the type has no number for some of it.
std::shared_ptr<Constant const> tableOf(
    HostTensor table, HostTensor const* leading, HostTensor const* bias, bool mayBeOthers)
{
    int64_t const maps = table.extents.back();
    int64_t const others = leading == nullptr ? 0 : leading->count();
    for (int64_t i = 0; i < table.count(); ++i)
    {
        double const more = i < others ? leading->real(i) : bias != nullptr ? bias->real(i % maps) : 0.0;
        double const exact = table.real(i) + more;
        table.set(i, exact);
        if (std::isfinite(exact) && !std::isfinite(table.real(i)) && !mayBeOthers)
            return nullptr;
    }
    return table.toConstant();
}

bool areFinite(Constant const& weights)
{
    HostTensor const all = HostTensor::fromConstant(weights);
    return std::ranges::all_of(all.reals, [](double weight) { return std::isfinite(weight); });
}

//! Rows behind each other, as a concatenation has them, or a shuffle alone.
struct RowsOfImages
{
    Node const* concatenation{nullptr}; //!< Null: there are no other rows.
    ValueId windows{kNone};
};
std::optional<RowsOfImages> rowsOf(Graph const& graph, ValueId value)
{
    Node const* const node = graph.producerOf(value);
    auto const* const joined = layerOf<Concatenation>(node);
    if (joined == nullptr)
        return RowsOfImages{nullptr, value};
    if (joined->axis != 1 || node->inputs.size() != 2 || !isReadOnce(graph, value))
        return std::nullopt;
    return RowsOfImages{node, node->input(1)};
}
} // namespace

Rewrite fusePatchEmbedding(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const sum = as<ElementWise>(*node.layer);
    if (sum == nullptr || sum->operation != ElementWiseOperation::kSUM || limits.imagePatch == 0)
        return skip();
    size_t const tableInput = graph.constantOf(node.input(1)) != nullptr ? 1 : 0;
    Constant const* const table = graph.constantOf(node.input(tableInput));
    TensorType const& type = graph.typeOf(node.output());
    if (table == nullptr || type.rank() != static_cast<int32_t>(kRank))
        return skip();
    std::optional<RowsOfImages> const rows = rowsOf(graph, node.input(1 - tableInput));
    std::optional<PatchRows> const windows = rows ? patchRowsOf(graph, rows->windows, limits) : std::nullopt;
    if (!windows)
        return skip();
    if (table->extents[0] != 1
        || shapeOf({1, table->extents[1], table->extents[2]}) != Shape{ShapeExpr{1}, type.shape[1], type.shape[2]})
        return skip("what is added is not a row for each row of an image");
    std::vector<NodeId> covered{windows->convolution->id, windows->shuffle->id};
    std::shared_ptr<HostTensor const> leading;
    if (rows->concatenation != nullptr)
    {
        LeadingRows const all = leadingRowsOf(graph, rows->concatenation->input(0));
        leading = rowsOfAllImages(graph, all);
        if (leading == nullptr)
            return skip("the rows in front of the windows' are no constants that all images share");
        if (all.repeating != nullptr && !isReadOnce(graph, all.repeating->output()))
            return skip("another layer reads the rows in front of the windows'");
        if (all.repeating != nullptr)
            covered.push_back(all.repeating->id); // What it reads goes into the table: a refit has to know.
        covered.push_back(rows->concatenation->id);
    }
    covered.push_back(node.id);
    Node const& conv = *windows->convolution;
    Constant const* const kernel = graph.constantOf(conv.input(1));
    Constant const* const bias = graph.constantOf(conv.input(2));
    if (kernel == nullptr || (bias == nullptr && conv.input(2) != kNone))
        return skip("kernel or bias are not constant");
    if (leading != nullptr && !isReplaceable(*kernel) && !areFinite(*kernel))
        return skip("a weight is not finite"); // Zeros stand for the rows in front, and would become NaN.
    std::optional<HostTensor> const biases =
        bias == nullptr ? std::nullopt : std::optional{HostTensor::fromConstant(*bias)};
    bool const mayBeOthers =
        std::ranges::any_of(covered, [&](NodeId id) { return readsReplaceable(graph, graph.node(id)); });
    auto made = tableOf(HostTensor::fromConstant(*table), leading.get(), biases ? &*biases : nullptr, mayBeOthers);
    if (made == nullptr)
        return skip("the type has no number for a row and what is added to it");
    Patch patch{graph, node};
    patch.covers(std::move(covered));
    patch.replace(node.output(),
        patch.add(PatchEmbedding{windows->layer().kernelSize},
            {conv.input(0), conv.input(1), patch.constant(graph.value(node.input(tableInput)).name, std::move(made))}));
    return patch;
}

Rewrite undoPatchEmbedding(Graph const& graph, Node const& node)
{
    auto const* const embedding = as<PatchEmbedding>(*node.layer);
    if (embedding == nullptr)
        return skip();
    Shape const& image = graph.typeOf(node.input(0)).shape;
    TensorType const& type = graph.typeOf(node.output());
    std::optional<int64_t> const height = image[2].constant();
    std::optional<int64_t> const width = image[3].constant();
    std::optional<int64_t> const rows = type.shape[1].constant();
    std::optional<int64_t> const maps = type.shape[2].constant();
    if (!height || !width || !rows || !maps)
        return skip("its extents are not known");
    int64_t const windows = *height / embedding->patch.d[0] * (*width / embedding->patch.d[1]);
    Patch patch{graph, node};
    ValueId x = node.input(0);
    if (graph.typeOf(x).dtype != type.dtype)
        x = patch.add(Cast{type.dtype}, {x});
    x = patch.add(embedding->convolution(*maps), {x, node.input(1)});
    Shuffle shuffle = Shuffle::reshape({0, *maps, windows});
    shuffle.zeroIsPlaceholder = true;
    std::swap(shuffle.secondTranspose[1], shuffle.secondTranspose[2]);
    x = patch.add(shuffle, {x});
    if (windows < *rows) // Zeros in front, to which the table's rows are added.
    {
        Slice slice;
        slice.mode = nvinfer1::SampleMode::kFILL;
        slice.start = nvinfer1::Dims{1, {windows - *rows}};
        slice.size = nvinfer1::Dims{1, {*rows}};
        slice.stride = nvinfer1::Dims{1, {1}};
        slice.axes = nvinfer1::Dims{1, {1}};
        x = patch.add(slice, {x});
    }
    patch.replace(
        node.output(), patch.add(ElementWise{ElementWiseOperation::kSUM}, {x, node.input(PatchEmbedding::kTable)}));
    return patch;
}

} // namespace tenon::passes
