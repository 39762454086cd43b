// lower-recurrence and mask-padded-keys before and after: what they make, and that it computes what was computed.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

namespace tenon::test
{

TEST(LowerRecurrence, oneLayerStandsBetweenTransposes)
{
    expectRewrite("lower-recurrence", R"(
input %x : float32[N,4,3]
const %w : float32[1,5,3] = random(1)
const %r : float32[1,5,5] = random(2)
const %b : float32[1,10] = random(3)
%y, %h = StackedRecurrence(%x, _, _, _, %w, %r, %b) {Cell=0}
output %y
output %h
)",
        R"(
input %x : float32[N,4,3]
const %w : float32[1,5,3] = random(1)
const %r : float32[1,5,5] = random(2)
const %b : float32[1,10] = random(3)
%t = Shuffle(%x) {FirstTranspose=[1,0,2,3,4,5,6,7]}
%a, %l = RecurrentNetwork(%t, %w, %r, %b) {Cell=0, Activations=[{Type=2}]}
%s = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7], ReshapeDimensions=(0,0,5)}
%y = Shuffle(%s) {FirstTranspose=[1,0,2,3,4,5,6,7]}
%h = Shuffle(%l) {FirstTranspose=[1,0,2,3,4,5,6,7]}
output %y
output %h
)");
}

TEST(LowerRecurrence, layersOfBothWaysTakeTheirStates)
{
    expectGone("lower-recurrence", R"(
input %x : float32[N,4,3]
input %h : float32[N,4,5]
input %c : float32[N,4,5]
const %w : float32[2,20,3] = random(1)
const %r : float32[2,20,5] = random(2)
const %b : float32[2,40] = random(3)
const %v : float32[2,20,10] = random(4)
const %s : float32[2,20,5] = random(5)
%y, %lastH, %lastC = StackedRecurrence(%x, _, %h, %c, %w, %r, %b, %v, %s) {Cell=2, IsBothWays=true, Layers=2}
output %y
output %lastH
output %lastC
)",
        "StackedRecurrence");
}

TEST(LowerRecurrence, severalAxesInFrontAreJoined)
{
    expectGone("lower-recurrence", R"(
input %x : float32[N,2,4,3]
input %l : int32[N,2]
const %w : float32[1,15,3] = random(1)
const %r : float32[1,15,5] = random(2)
%y, %h = StackedRecurrence(%x, %l, _, _, %w, %r) {Cell=1}
output %y
output %h
)",
        "StackedRecurrence");
    expectGone("lower-recurrence", R"(
input %x : float32[4,3]
const %w : float32[1,15,3] = random(1)
const %r : float32[1,15,5] = random(2)
%y, %h = StackedRecurrence(%x, _, _, _, %w, %r) {Cell=1}
output %y
output %h
)",
        "StackedRecurrence");
}

TEST(LowerRecurrence, axesThatCannotBeJoinedStayInTheReference)
{
    expectUnchanged("lower-recurrence", R"(
input %x : float32[N,M,4,3]
const %w : float32[1,15,3] = random(1)
const %r : float32[1,15,5] = random(2)
%y, %h = StackedRecurrence(%x, _, _, _, %w, %r) {Cell=1}
output %y
output %h
)");
}

TEST(MaskPaddedKeys, countsOfKeysAreAMask)
{
    expectRewrite("mask-padded-keys", R"(
input %q : float32[2,4,3,8]
input %k : float32[2,2,5,8]
input %v : float32[2,2,5,6]
const %l : int32[2] = [5,2]
%y = RaggedAttention(%q, %k, %v, _, _, _, %l) {Causal=1}
output %y
)",
        R"(
input %q : float32[2,4,3,8]
input %k : float32[2,2,5,8]
input %v : float32[2,2,5,6]
const %l : int32[2] = [5,2]
const %p : int32[1,1,1,5] = [0,1,2,3,4]
%c = Shuffle(%l) {ReshapeDimensions=(-1,1,1,1), ZeroIsPlaceholder=false}
%m = ElementWise(%p, %c) {Operation=13}
%y = Attention(%q, %k, %v, %m) {causal=1, maskedRowsAreZero=true}
output %y
)");
}

TEST(MaskPaddedKeys, theLastQuerySeesTheLastKeyThatCounts)
{
    expectGone("mask-padded-keys", R"(
input %q : float32[3,2,4,8]
input %k : float32[3,2,6,8]
input %v : float32[3,2,6,8]
const %l : int64[3] = [6,2,0]
const %m : bool[1,1,4,6] = 1
%y = RaggedAttention(%q, %k, %v, %m, _, _, %l) {Causal=2}
output %y
)",
        "RaggedAttention");
}

TEST(MaskPaddedKeys, packedSequencesStay)
{
    expectUnchanged("mask-padded-keys", R"(
input %q : float32[5,2,8]
input %k : float32[6,2,8]
const %a : int32[3] = [0,3,5]
const %b : int32[3] = [0,2,6]
%y = RaggedAttention(%q, %k, %k, _, _, %a, %b) {QueryForm=1, KeyValueForm=1}
output %y
)");
}

} // namespace tenon::test
