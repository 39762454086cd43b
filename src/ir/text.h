// Text form of graphs: for dumps, and for rules' before/after tests.
//
//   input %x : float32[N=1..8,3,8,8]             names stand for symbols; =min..max where a name stands first, else
//                                                1..4096
//   const %w : float32[8,3,3,3] = random(7)      reals of -1..1; or whole(7,-3,3), = 0.5 (all elements), = [1,2,3]
//   %y = Convolution(%x, %w, _) {NbOutputMaps=8, KernelSizeNd=(3,3)}      _: optional input that is absent
//   output %y
//
// Behind a node that runs bodies each of them stands between lines "{" and "}"; inputs have the types of the operands.
#pragma once

#include "ir/graph.h"

#include <functional>
#include <string>
#include <string_view>

namespace tenon
{

//! A layer of a kind from "name=value, …}": what follows the opening brace, the closing one included.
using LayerParser = std::function<Result<LayerPtr>(std::string_view kind, std::string_view fields)>;

struct TextOptions
{
    bool types{true};
    bool names{
        true}; //!< False: results are numbered and constants stand in their places, so that texts can be compared.
};

std::string print(Graph const& graph, TextOptions const& options = {});
//! Errors name the line.
Result<Graph> parseGraph(std::string_view text, LayerParser const& parser);

} // namespace tenon
