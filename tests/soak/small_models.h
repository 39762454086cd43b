// Models with the layers of large ones at small extents, written to files: what a refit packs and a run reads is of the
// same kinds, and a run ends in milliseconds, under ThreadSanitizer, too.
#pragma once

#include <string>

namespace apitest
{

//! Convolutions, dense and by channels, each with a norm, residuals, a pool and a product, as in resnet50.
std::string smallResnet();
//! Tokens, attention with a mask, layer norms and products, as in bert_base.
std::string smallBert();
//! Weights in the bodies of an If whose condition comes with the run, as in ssdlite320.
std::string smallConditional();

} // namespace apitest
