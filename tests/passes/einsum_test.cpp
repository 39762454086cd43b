// lower-einsum before and after: what an equation becomes, and that it computes what it computed.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

namespace tenon::test
{

TEST(LowerEinsum, attentionScoresAreOneProduct)
{
    expectRewrite("lower-einsum", R"(
input %q : float32[N,2,5,4]
input %k : float32[N,2,6,4]
%y = Einsum(%q, %k) {Equation="bhid,bhjd->bhij"}
output %y
)",
        R"(
input %q : float32[N,2,5,4]
input %k : float32[N,2,6,4]
%t = Shuffle(%k) {FirstTranspose=[0,1,3,2,4,5,6,7]}
%y = MatrixMultiply(%q, %t)
output %y
)");
}

TEST(LowerEinsum, groupsOfAxesAreOneAxisOfTheProduct)
{
    expectRewrite("lower-einsum", R"(
input %x : float32[N,7,6]
const %w : float32[6,2,3] = random(3)
%y = Einsum(%x, %w) {Equation="bsd,dhe->bshe"}
output %y
)",
        R"(
input %x : float32[N,7,6]
const %w : float32[6,2,3] = random(3)
%f = Shuffle(%x) {ReshapeDimensions=(-1,6), ZeroIsPlaceholder=false}
%g = Shuffle(%w) {ReshapeDimensions=(6,6), ZeroIsPlaceholder=false}
%m = MatrixMultiply(%f, %g)
%y = Shuffle(%m) {ReshapeDimensions=(-1,7,2,3), ZeroIsPlaceholder=false}
output %y
)");
}

TEST(LowerEinsum, axesOfOneOperandAreSummedFirst)
{
    expectRewrite("lower-einsum", R"(
input %x : float32[N,3,4]
input %y : float32[N,5]
%z = Einsum(%x, %y) {Equation="abc,ad->a"}
output %z
)",
        R"(
input %x : float32[N,3,4]
input %y : float32[N,5]
%a = Reduce(%x) {ReduceAxes=6}
%b = Reduce(%y) {ReduceAxes=2}
%z = ElementWise(%a, %b) {Operation=1}
output %z
)");
}

TEST(LowerEinsum, aDiagonalIsASlice)
{
    expectRewrite("lower-einsum", R"(
input %x : float32[3,N,3]
%y = Einsum(%x) {Equation="iji->ij"}
output %y
)",
        R"(
input %x : float32[3,N,3]
%t = Shuffle(%x) {FirstTranspose=[1,0,2,3,4,5,6,7]}
%f = Shuffle(%t) {ReshapeDimensions=(-1,9), ZeroIsPlaceholder=false}
%d = Slice(%f) {Start=(0), Size=(3), Stride=(4), Axes=(1)}
%y = Shuffle(%d) {FirstTranspose=[1,0,2,3,4,5,6,7]}
output %y
)");
}

//! Two extents that only the run tells: the reshape reads them from the operands.
TEST(LowerEinsum, extentsOfTheRunComeFromTheOperands)
{
    expectGone("lower-einsum", R"(
input %x : float32[N,S,6]
input %w : float32[6,2,3]
%y = Einsum(%x, %w) {Equation="bsd,dhe->bhse"}
output %y
)",
        "Einsum");
    expectGone("lower-einsum", R"(
input %x : float32[N,S,6]
input %w : float32[N,S,2,3]
%y = Einsum(%x, %w) {Equation="bsd,bshe->dhe"}
output %y
)",
        "Einsum");
}

//! The summed axes are joined beside an extent that is copied, and is 0 for an input of one row.
TEST(LowerEinsum, whatIsSummedMayBeEmpty)
{
    expectGone("", R"(
input %x : float32[1,8,S=1..7,S]
const %w : float32[8,3,1,3] = random(893)
%t = Deconvolution(%x, %w) {NbOutputMaps=6, KernelSizeNd=(1,3), NbGroups=2, PrePadding=(1,0), PostPadding=(1,0)}
%y = Einsum(%t, %t) {Equation="abcd,abcd->c"}
output %y
)",
        "Einsum");
    expectGone("", R"(
input %x : float32[N=0..4,S=0..4,6]
%y = Einsum(%x, %x) {Equation="nsd,nsd->n"}
output %y
)",
        "Einsum");
}

TEST(LowerEinsum, threeOperandsEllipsesAndBroadcasts)
{
    expectGone("lower-einsum", R"(
input %x : float32[N,1,3,4]
input %y : float32[5,4,6]
input %z : float32[6]
%r = Einsum(%x, %y, %z) {Equation="...ij,...jk,k->...i"}
output %r
)",
        "Einsum");
    expectGone("lower-einsum", R"(
input %x : float32[3,1]
input %y : float32[3,4]
%r = Einsum(%x, %y) {Equation="ij,ij->i"}
output %r
)",
        "Einsum");
    expectGone("lower-einsum", R"(
input %x : float32[1,4]
input %y : float32[3,4,2]
%r = Einsum(%x, %y) {Equation="ij,ijk->ikj"}
output %r
)",
        "Einsum");
    expectGone("lower-einsum", R"(
input %x : float32[3,3,3,2]
%r = Einsum(%x) {Equation="iiij->ji"}
output %r
)",
        "Einsum");
}

TEST(LowerEinsum, integersStay)
{
    expectUnchanged("lower-einsum", R"(
input %x : int32[2,3]
%y = Einsum(%x) {Equation="ij->ji"}
output %y
)");
}

} // namespace tenon::test
