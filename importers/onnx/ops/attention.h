// Attention and rotary embedding, for the operators of both domains that compute them.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

//! softmax(scale · q · kᵀ + mask) · v over [batch, heads, rows, columns]; k and v may have fewer heads.
struct AttentionParts
{
    Value q;
    Value k;
    Value v;
    double scale{1.0};
    double softcap{0.0};
    Value visible;       //!< Booleans, broadcast to the products; absent: all.
    Value bias;          //!< Added to the products; may be absent.
    bool mayHide{false}; //!< Rows that see nothing are possible: they become 0.
    DataType softmaxType{DataType::kFLOAT};
};

//! Which keys a query may see by position: query i stands at i + offset.
struct Sight
{
    bool isCausal{false};
    int64_t left{-1};  //!< Keys before its own position; −1: all.
    int64_t right{-1}; //!< Behind it.
    Extent offset{0};
    Value offsets; //!< One per batch, int64 [batch, 1, 1, 1], instead.
    Value lengths; //!< Of the keys, so; may be absent.
};

//! Booleans [batch or 1, 1, rows, keys]; absent: all.
Value visibleBy(Node& node, Sight const& sight, Extent const& rows, Extent const& keys);
Value bothOf(Node& node, Value const& a, Value const& b);

Value attend(Node& node, AttentionParts const& parts);

//! [batch, rows, heads · columns] as [batch, heads, rows, columns], and back.
Value headsApart(Node& node, Value const& x, int64_t heads);
Value headsTogether(Node& node, Value const& x);
//! Behind each other along the axis; `first` may be absent.
Value joinedWith(Node& node, Value const& first, Value const& second, int32_t axis);

//! 1/√columns, unless the attribute says otherwise.
double scaleOf(Node& node, Value const& q);

struct Rotation
{
    Value cosines; //!< [count, pairs], or without positions [batch, rows, pairs].
    Value sines;
    Value positions; //!< int64 [batch, rows]; may be absent.
    bool interleaved{false};
    int64_t columns{0}; //!< That are turned; 0: all.
};
//! x [batch, heads, rows, columns].
Value rotated(Node& node, Value const& x, Rotation const& rotation);

} // namespace tenon::onnx
