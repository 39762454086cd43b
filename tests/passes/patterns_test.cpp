// Rules that find the patterns of exporters, before and after.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

namespace tenon::test
{

TEST(Patterns, attentionReadsItsOperandsWhereTheyLie)
{
    expectRewrite("fuse-attention", R"(
input %x : float32[N=1..8,S=1..16,6]
input %y : float32[N,S,6]
input %z : float32[N,S,6]
input %mask : float32[N,1,S,S]
%q = Shuffle(%x) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,1,3,4,5,6,7]}
%k = Shuffle(%y) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,3,1,4,5,6,7]}
%v = Shuffle(%z) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,1,3,4,5,6,7]}
%s = MatrixMultiply(%q, %k) {alpha=0.5}
%m = ElementWise(%s, %mask) {Operation=0}
%p = SoftMax(%m) {Axes=8}
%o = MatrixMultiply(%p, %v)
output %o
)",
        R"(
input %x : float32[N=1..8,S=1..16,6]
input %y : float32[N,S,6]
input %z : float32[N,S,6]
input %mask : float32[N,1,S,S]
%q = Shuffle(%x) {ReshapeDimensions=(0,0,2,3)}
%k = Shuffle(%y) {ReshapeDimensions=(0,0,2,3)}
%v = Shuffle(%z) {ReshapeDimensions=(0,0,2,3)}
%a = Attention(%q, %k, %v, %mask) {scale=0.5, q={axes=[0,2,1,3]}, k={axes=[0,2,1,3]}, v={axes=[0,2,1,3]}, outputAxes=[0,2,1,3]}
%o = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %o
)");
}

TEST(Patterns, attentionTakesTheGuardOfMaskedRows)
{
    expectRewrite("fuse-attention", R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
input %v : float32[2,2,5,3]
const %mask : float32[1,1,4,5] = random(5)
const %zero : float32[1,1,1,1] = 0
%s = MatrixMultiply(%q, %k) {operation1=1}
%m = ElementWise(%mask, %s) {Operation=0}
%p = SoftMax(%m) {Axes=8}
%n = Unary(%p) {Operation=24}
%g = Select(%n, %zero, %p)
%o = MatrixMultiply(%g, %v)
output %o
)",
        R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
input %v : float32[2,2,5,3]
const %mask : float32[1,1,4,5] = random(5)
%a = Attention(%q, %k, %v, %mask) {outputAxes=[0,2,1,3], maskedRowsAreZero=true}
%o = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %o
)");
}

TEST(Patterns, attentionLeavesWeightsThatOthersRead)
{
    expectUnchanged("fuse-attention", R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
input %v : float32[2,2,5,3]
%s = MatrixMultiply(%q, %k) {operation1=1}
%p = SoftMax(%s) {Axes=8}
%o = MatrixMultiply(%p, %v)
output %o
output %p
)");
}

TEST(Patterns, attentionReadsPartsOfAJointProjection)
{
    expectRewrite("fuse-attention", R"(
input %x : float32[N=1..8,S=1..16,18]
%a = Slice(%x) {Start=(0), Size=(6), Stride=(1), Axes=(2)}
%b = Slice(%x) {Start=(6), Size=(6), Stride=(1), Axes=(2)}
%c = Slice(%x) {Start=(12), Size=(6), Stride=(1), Axes=(2)}
%q = Shuffle(%a) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,1,3,4,5,6,7]}
%k = Shuffle(%b) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,1,3,4,5,6,7]}
%v = Shuffle(%c) {ReshapeDimensions=(0,0,2,3), SecondTranspose=[0,2,1,3,4,5,6,7]}
%s = MatrixMultiply(%q, %k) {operation1=1}
%p = SoftMax(%s) {Axes=8}
%o = MatrixMultiply(%p, %v)
output %o
)",
        R"(
input %x : float32[N=1..8,S=1..16,18]
%q = Shuffle(%x) {ReshapeDimensions=(0,0,6,3)}
%k = Shuffle(%x) {ReshapeDimensions=(0,0,6,3)}
%v = Shuffle(%x) {ReshapeDimensions=(0,0,6,3)}
%a = Attention(%q, %k, %v) {q={axes=[0,2,1,3], heads=2}, k={axes=[0,2,1,3], firstHead=2, heads=2}, v={axes=[0,2,1,3], firstHead=4, heads=2}, outputAxes=[0,2,1,3]}
%o = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %o
)");
}

//! A decoder's: keys of the past before the new one, each head for two of q, a mask whose length has a name of its own.
TEST(Patterns, attentionReadsHeadsThatAreShared)
{
    expectRewrite("fuse-attention", R"(
input %q : float32[1,4,1,3]
input %k : float32[1,2,T=3..3,3]
input %v : float32[1,2,T,3]
input %mask : float32[1,1,1,M=3..3]
%k5 = Shuffle(%k) {ReshapeDimensions=(1,2,1,-1,3)}
%v5 = Shuffle(%v) {ReshapeDimensions=(1,2,1,-1,3)}
%kx = Slice(%k5) {Start=(0), Size=(2), Stride=(0), Axes=(2)}
%vx = Slice(%v5) {Start=(0), Size=(2), Stride=(0), Axes=(2)}
%kt = Shuffle(%kx) {ReshapeDimensions=(1,4,-1,3), SecondTranspose=[0,1,3,2,4,5,6,7]}
%vt = Shuffle(%vx) {ReshapeDimensions=(1,4,-1,3)}
%s = MatrixMultiply(%q, %kt) {alpha=0.5}
%m = ElementWise(%s, %mask) {Operation=0}
%p = SoftMax(%m) {Axes=8}
%o = MatrixMultiply(%p, %vt)
output %o
)",
        R"(
input %q : float32[1,4,1,3]
input %k : float32[1,2,T=3..3,3]
input %v : float32[1,2,T,3]
input %mask : float32[1,1,1,M=3..3]
%k5 = Shuffle(%k) {ReshapeDimensions=(1,2,1,-1,3)}
%v5 = Shuffle(%v) {ReshapeDimensions=(1,2,1,-1,3)}
%k4 = Shuffle(%k5) {ReshapeDimensions=(1,2,-1,3)}
%v4 = Shuffle(%v5) {ReshapeDimensions=(1,2,-1,3)}
%a = Attention(%q, %k4, %v4, %mask) {scale=0.5, outputAxes=[0,2,1,3]}
%o = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %o
)");
}

TEST(Patterns, projectionsBecomeOne)
{
    expectRewrite("merge-projections", R"(
input %x : float32[N=1..8,S=1..16,4]
const %wq : float32[1,4,6] = random(1)
const %wk : float32[1,4,6] = random(2)
const %wv : float32[1,4,6] = random(3)
const %bq : float32[6] = random(4)
const %bv : float32[6] = random(5)
%mq = MatrixMultiply(%x, %wq, %bq)
%mk = MatrixMultiply(%x, %wk)
%mv = MatrixMultiply(%x, %wv, %bv)
%q = Shuffle(%mq) {ReshapeDimensions=(0,0,2,3)}
%k = Shuffle(%mk) {ReshapeDimensions=(0,0,2,3)}
%v = Shuffle(%mv) {ReshapeDimensions=(0,0,2,3)}
%o = Attention(%q, %k, %v) {q={axes=[0,2,1,3]}, k={axes=[0,2,1,3]}, v={axes=[0,2,1,3]}, outputAxes=[0,2,1,3]}
output %o
)",
        R"(
input %x : float32[N=1..8,S=1..16,4]
const %w : float32[1,4,18] = random(1)
const %b : float32[18] = random(4)
%m = MatrixMultiply(%x, %w, %b)
%p = Shuffle(%m) {ReshapeDimensions=(0,0,6,3)}
%o = Attention(%p, %p, %p) {q={axes=[0,2,1,3], heads=2}, k={axes=[0,2,1,3], firstHead=2, heads=2}, v={axes=[0,2,1,3], firstHead=4, heads=2}, outputAxes=[0,2,1,3]}
output %o
)");
}

TEST(Patterns, projectionsOfTwoTensorsStayApart)
{
    expectUnchanged("merge-projections", R"(
input %x : float32[2,5,4]
input %y : float32[2,5,4]
const %wq : float32[1,4,6] = random(1)
const %wk : float32[1,4,6] = random(2)
const %wv : float32[1,4,6] = random(3)
%mq = MatrixMultiply(%x, %wq)
%mk = MatrixMultiply(%y, %wk)
%mv = MatrixMultiply(%y, %wv)
%q = Shuffle(%mq) {ReshapeDimensions=(2,5,2,3)}
%k = Shuffle(%mk) {ReshapeDimensions=(2,5,2,3)}
%v = Shuffle(%mv) {ReshapeDimensions=(2,5,2,3)}
%o = Attention(%q, %k, %v) {q={axes=[0,2,1,3]}, k={axes=[0,2,1,3]}, v={axes=[0,2,1,3]}, outputAxes=[0,2,1,3]}
output %o
)");
}

TEST(Patterns, layerNormWrittenOut)
{
    expectRewrite("recognize-layer-norm", R"(
input %x : float32[N=1..8,5,4]
const %two : float32[1,1,1] = 2
const %eps : float32[1,1,1] = 0.00001
%m = Reduce(%x) {Operation=4, ReduceAxes=4, KeepDimensions=true}
%d = ElementWise(%x, %m) {Operation=4}
%q = ElementWise(%d, %two) {Operation=6}
%v = Reduce(%q) {Operation=4, ReduceAxes=4, KeepDimensions=true}
%e = ElementWise(%v, %eps) {Operation=0}
%r = Unary(%e) {Operation=2}
%y = ElementWise(%d, %r) {Operation=5}
output %y
)",
        R"(
input %x : float32[N=1..8,5,4]
const %one : float32[1,1,4] = 1
%y = Normalization(%x, %one) {Axes=4, V2=true}
output %y
)");
}

TEST(Patterns, rootMeanSquareNormWrittenOut)
{
    expectRewrite("recognize-layer-norm", R"(
input %x : float32[N=1..8,5,4]
const %one : float32[1,1,1] = 1
const %eps : float32[1,1,1] = 0.00001
%q = ElementWise(%x, %x) {Operation=1}
%v = Reduce(%q) {Operation=4, ReduceAxes=4, KeepDimensions=true}
%e = ElementWise(%eps, %v) {Operation=0}
%r = Unary(%e) {Operation=2}
%i = ElementWise(%one, %r) {Operation=5}
%y = ElementWise(%x, %i) {Operation=1}
%z = ElementWise(%y, %x) {Operation=0}
output %z
)",
        R"(
input %x : float32[N=1..8,5,4]
const %one : float32[1,1,4] = 1
%y = Normalization(%x, %one) {Axes=4, V2=true, rms=true}
%z = ElementWise(%y, %x) {Operation=0}
output %z
)");
}

TEST(Patterns, groupNormThroughInstanceNorm)
{
    expectRewrite("recognize-group-norm", R"(
input %x : float32[N=1..8,4,H=2..8,3]
const %one : float32[1,2,1] = 1
const %zero : float32[1,2,1] = 0
%s = Shape(%x)
%a = Shuffle(%x) {ReshapeDimensions=(0,2,-1)}
%n = Normalization(%a, %one, %zero) {Axes=4}
%y = Shuffle(%n, %s)
output %y
)",
        R"(
input %x : float32[N=1..8,4,H=2..8,3]
const %one : float32[1,4,1,1] = 1
const %zero : float32[1,4,1,1] = 0
%y = Normalization(%x, %one, %zero) {Axes=12, NbGroups=2, V2=true}
output %y
)");
}

TEST(Patterns, scaleAndShiftBecomeTheNormalizationsOwn)
{
    expectRewrite("fold-affine-into-normalization", R"(
input %x : float32[N=1..8,5,4]
const %one : float32[1,1,4] = 1
const %g : float32[1,1,4] = [1,2,3,4]
const %b : float32[1,1,4] = [5,6,7,8]
%n = Normalization(%x, %one) {Axes=4}
%m = ElementWise(%n, %g) {Operation=1}
%y = ElementWise(%b, %m) {Operation=0}
output %y
)",
        R"(
input %x : float32[N=1..8,5,4]
const %g : float32[1,1,4] = [1,2,3,4]
const %b : float32[1,1,4] = [5,6,7,8]
%y = Normalization(%x, %g, %b) {Axes=4}
output %y
)");
}

TEST(Patterns, transposeSinksBelowAProductWithWeights)
{
    expectRewrite("sink-transpose-below-matmul", R"(
input %x : float32[N=1..8,5,4]
const %w : float32[1,4,6] = random(1)
%t = Shuffle(%x) {FirstTranspose=[1,0,2,3,4,5,6,7]}
%y = MatrixMultiply(%t, %w)
output %y
)",
        R"(
input %x : float32[N=1..8,5,4]
const %w : float32[1,4,6] = random(1)
%m = MatrixMultiply(%x, %w)
%y = Shuffle(%m) {FirstTranspose=[1,0,2,3,4,5,6,7]}
output %y
)");
}

TEST(Patterns, transposeSinksBelowArithmeticBehindAProduct)
{
    expectRewrite("sink-transpose-below-pointwise", R"(
input %x : float32[N=1..8,2,3,4]
input %z : float32[N,6,2,3]
const %w : float32[1,1,4,6] = random(1)
%m = MatrixMultiply(%x, %w)
%t = Shuffle(%m) {FirstTranspose=[0,3,1,2,4,5,6,7]}
%y = ElementWise(%t, %z) {Operation=0}
output %y
)",
        R"(
input %x : float32[N=1..8,2,3,4]
input %z : float32[N,6,2,3]
const %w : float32[1,1,4,6] = random(1)
%m = MatrixMultiply(%x, %w)
%u = Shuffle(%z) {FirstTranspose=[0,2,3,1,4,5,6,7]}
%a = ElementWise(%m, %u) {Operation=0}
%y = Shuffle(%a) {FirstTranspose=[0,3,1,2,4,5,6,7]}
output %y
)");
}

TEST(Patterns, aPartOfASplitAxisIsASlice)
{
    expectRewrite("slice-before-split", R"(
input %x : float32[5,N=1..8,6]
const %one : int32[] = 1
%s = Shuffle(%x) {ReshapeDimensions=(5,0,3,2), SecondTranspose=[2,0,1,3,4,5,6,7]}
%y = Gather(%s, %one)
output %y
)",
        R"(
input %x : float32[5,N=1..8,6]
%a = Slice(%x) {Start=(2), Size=(2), Stride=(1), Axes=(2)}
%y = Shuffle(%a) {ReshapeDimensions=(5,0,2)}
output %y
)");
}

TEST(Patterns, factorsOfQueriesAndKeysBecomeAlpha)
{
    expectRewrite("fold-operand-factor", R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
const %half : float32[1,1,1,1] = 0.5
const %four : float32[1,1,1,1] = 4
%a = ElementWise(%q, %half) {Operation=1}
%b = ElementWise(%k, %four) {Operation=5}
%y = MatrixMultiply(%a, %b) {operation1=1}
output %y
)",
        R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
%y = MatrixMultiply(%q, %k) {operation1=1, alpha=0.125}
output %y
)");
}

TEST(Patterns, reshapeGoesBeforeTranspose)
{
    expectRewrite("reshape-before-transpose", R"(
input %x : float32[5,N=1..8,2,3]
%y = Shuffle(%x) {FirstTranspose=[1,0,2,3,4,5,6,7], ReshapeDimensions=(0,5,6)}
output %y
)",
        R"(
input %x : float32[5,N=1..8,2,3]
%y = Shuffle(%x) {ReshapeDimensions=(5,0,6), SecondTranspose=[1,0,2,3,4,5,6,7]}
output %y
)");
}

TEST(Patterns, splittingAfterATransposeIsOneShuffle)
{
    expectRewrite("merge-shuffles", R"(
input %x : float32[7,N=1..8,6]
%a = Shuffle(%x) {ReshapeDimensions=(7,-1,3), SecondTranspose=[1,0,2,3,4,5,6,7]}
%y = Shuffle(%a) {ReshapeDimensions=(-1,2,7,3)}
output %y
)",
        R"(
input %x : float32[7,N=1..8,6]
%y = Shuffle(%x) {ReshapeDimensions=(7,0,2,3), SecondTranspose=[1,2,0,3,4,5,6,7]}
output %y
)");
}

} // namespace tenon::test
