// LayerArgs: what KernelSpec::args of a normal kernel holds: the layer with its fields, and the choices of the
// candidate.
//
// Build:  spec.args = encodeLayerArgs(problem, offer, MyChoices{…});
// Load:   LayerArgs const args = TENON_TRY(decodeLayerArgs(source.args));
//         Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args));        or loadLayer(args.layer,
//         args.fields) MyChoices const choices = TENON_TRY(choicesOf<MyChoices>(args));
// Prepare: TENON_TRY(checkShapes(…)) of backend/check_shapes.h.
//
// An operand that the offer calls unread arrives, when its contents are known symbolically or as a constant, as an
// absent TensorArg (present is false) of integer type whose `extents` are those contents, row-major: kernels of Slice,
// Shuffle, Fill, Resize and the like know their starts, sizes and dims when they are prepared. An unread operand of
// unknown contents is plainly absent (kFLOAT, no extents).
#pragma once

#include "backend/candidate.h"
#include "base/fields.h"

#include <string>

namespace tenon
{

struct LayerArgs
{
    std::string layer;  //!< Kind, as in the table of layers.
    Bytes fields;       //!< Layer::stored().
    Bytes choices;      //!< The candidate's own struct with fields, stored; empty: none.
    uint32_t unread{0}; //!< Offer::unread.

    bool isUnread(size_t input) const noexcept
    {
        return isUnreadIn(unread, input);
    }
};

Bytes encodeLayerArgs(LayerArgs const& args);
Result<LayerArgs> decodeLayerArgs(ByteView args);

inline Bytes encodeLayerArgs(Problem const& problem, Offer const& offer)
{
    return encodeLayerArgs(LayerArgs{std::string{problem.layer().name()}, problem.layer().stored(), {}, offer.unread});
}
template <HasFields C>
Bytes encodeLayerArgs(Problem const& problem, Offer const& offer, C const& choices)
{
    return encodeLayerArgs(
        LayerArgs{std::string{problem.layer().name()}, problem.layer().stored(), stored(choices), offer.unread});
}

namespace detail
{
template <HasFields S>
Result<S> loadWhole(ByteView bytes, std::string_view what)
{
    ByteReader reader{bytes};
    S value;
    TENON_TRY(load(reader, value));
    if (reader.left() != 0)
        return badArgument("{} is stored with {} bytes too many", what, reader.left());
    return value;
}
} // namespace detail

//! The layer's fields; an error when the arguments are another layer's, or not valid.
template <typename L>
Result<L> fieldsOf(LayerArgs const& args)
{
    if (args.layer != L::kName)
        return badArgument("kernel arguments of layer kind '{}' where '{}' is expected", args.layer, L::kName);
    L value = TENON_TRY(detail::loadWhole<L>(args.fields, L::kName));
    if constexpr (requires { value.verify(); })
        TENON_TRY(value.verify());
    return value;
}

//! The candidate's choices; default-made when none are stored.
template <HasFields C>
Result<C> choicesOf(LayerArgs const& args)
{
    if (args.choices.empty())
        return C{};
    return detail::loadWhole<C>(args.choices, "the kernel's choices");
}

} // namespace tenon
