// What a header's halves are and answer. "facts" prints types and overloads; else numbers in three files are read and
// each function's answers written: a line with its name and their count, and 8 bytes each.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(__CUDA_FP16_H__) || !defined(__CUDA_FP16_TYPES_EXIST__)
#error "programs ask for these"
#endif

namespace
{

constexpr __half kONE{__half_raw{0x3C00}};
constexpr __half2 kPAIR(kONE, __half(__half_raw{0x8000}));
static_assert(kONE && !kPAIR.y && !static_cast<bool>(kPAIR.y), "");

// Types and overloads.

template <typename T>
struct Name;
#define NAME(...)                                                                                                      \
    template <>                                                                                                        \
    struct Name<__VA_ARGS__>                                                                                           \
    {                                                                                                                  \
        static std::string text()                                                                                      \
        {                                                                                                              \
            return #__VA_ARGS__;                                                                                       \
        }                                                                                                              \
    };
NAME(bool)
NAME(char)
NAME(signed char)
NAME(unsigned char)
NAME(short)
NAME(unsigned short)
NAME(int)
NAME(unsigned int)
NAME(long)
NAME(unsigned long)
NAME(long long)
NAME(unsigned long long)
NAME(float)
NAME(double)
NAME(long double)
NAME(half)
NAME(half2)
NAME(__half_raw)
NAME(__half2_raw)
NAME(__half volatile)
NAME(float2)
template <typename T>
struct Name<T&>
{
    static std::string text()
    {
        return Name<T>::text() + "&";
    }
};

// The type of an expression, or "-" where there is none or more than one meaning.
#define ASK(name, expression)                                                                                          \
    template <typename A, typename B>                                                                                  \
    auto name(A& a, B& b, int)->decltype(static_cast<void>(expression), std::string{})                                 \
    {                                                                                                                  \
        static_cast<void>(sizeof a + sizeof b);                                                                        \
        return Name<decltype(expression)>::text();                                                                     \
    }                                                                                                                  \
    template <typename A, typename B>                                                                                  \
    std::string name(A&, B&, long)                                                                                     \
    {                                                                                                                  \
        return "-";                                                                                                    \
    }
ASK(sum, a + b)
ASK(difference, a - b)
ASK(product, a* b)
ASK(quotient, a / b)
ASK(added, a += b)
ASK(subtracted, a -= b)
ASK(multiplied, a *= b)
ASK(divided, a /= b)
ASK(assigned, a = b)
ASK(equal, a == b)
ASK(unequal, a != b)
ASK(less, a < b)
ASK(greater, a > b)
ASK(notGreater, a <= b)
ASK(notLess, a >= b)
ASK(chosen, b ? a : b)
ASK(both, a&& b)
ASK(plus, +a)
ASK(minus, -a)
ASK(no, !a)
ASK(stepUp, ++a)
ASK(stepDown, --a)
ASK(stepUpLater, a++)
ASK(stepDownLater, a--)
ASK(maximum, __hmax(a, b))
ASK(compared, __hgt(a, b))
ASK(made, make_half2(a, b))
ASK(asFloat, __half2float(b))
ASK(asHalf, __float2half(b))
ASK(asPair, __float22half2_rn(b))

template <typename A, typename B>
void overloads()
{
    A a{};
    B b{};
    std::string const answers[]{sum(a, b, 0), difference(a, b, 0), product(a, b, 0), quotient(a, b, 0), added(a, b, 0),
        subtracted(a, b, 0), multiplied(a, b, 0), divided(a, b, 0), assigned(a, b, 0), equal(a, b, 0), unequal(a, b, 0),
        less(a, b, 0), greater(a, b, 0), notGreater(a, b, 0), notLess(a, b, 0), both(a, b, 0), maximum(a, b, 0),
        compared(a, b, 0), made(a, b, 0), asFloat(a, b, 0), asHalf(a, b, 0), asPair(a, b, 0)};
    std::printf("%s, %s:", Name<A>::text().c_str(), Name<B>::text().c_str());
    for (std::string const& answer : answers)
        std::printf(" %s", answer.c_str());
    std::printf("; made %d, implicitly %d\n", std::is_constructible<A, B>::value, std::is_convertible<B, A>::value);
}

template <typename A>
void type()
{
    A a{};
    std::printf("%s: size %zu, alignment %zu, trivial %d, trivially copied %d, standard layout %d\n",
        Name<A>::text().c_str(), sizeof(A), alignof(A), std::is_trivially_default_constructible<A>::value,
        std::is_trivially_copyable<A>::value, std::is_standard_layout<A>::value);
    std::printf("+ %s, - %s, ! %s, ++ %s, -- %s, later ++ %s, -- %s, chosen %s\n", plus(a, a, 0).c_str(),
        minus(a, a, 0).c_str(), no(a, a, 0).c_str(), stepUp(a, a, 0).c_str(), stepDown(a, a, 0).c_str(),
        stepUpLater(a, a, 0).c_str(), stepDownLater(a, a, 0).c_str(), chosen(a, a, 0).c_str());
}

template <typename A>
void withEach()
{
    overloads<A, bool>();
    overloads<A, char>();
    overloads<A, signed char>();
    overloads<A, unsigned char>();
    overloads<A, short>();
    overloads<A, unsigned short>();
    overloads<A, int>();
    overloads<A, unsigned int>();
    overloads<A, long>();
    overloads<A, unsigned long>();
    overloads<A, long long>();
    overloads<A, unsigned long long>();
    overloads<A, float>();
    overloads<A, double>();
    overloads<A, long double>();
    overloads<A, half>();
    overloads<A, half2>();
    overloads<A, __half_raw>();
    overloads<A, __half2_raw>();
    overloads<A, float2>();
}

void facts()
{
    type<half>();
    type<half2>();
    type<__half_raw>();
    type<__half2_raw>();
    withEach<half>();
    withEach<half2>();
    overloads<__half_raw, half>();
    overloads<__half_raw, __half volatile>();
    overloads<__half volatile, __half_raw>();
    overloads<__half2_raw, half2>();
    overloads<bool, half>();
    overloads<char, half>();
    overloads<int, half>();
    overloads<unsigned long, half>();
    overloads<float, half>();
    overloads<double, half>();
    overloads<long double, half>();
    overloads<float2, half2>();
}

// Numbers.

template <typename T>
std::uint64_t bits(T value)
{
    std::uint64_t all{0};
    static_assert(sizeof value <= sizeof all, "");
    std::memcpy(&all, static_cast<void const*>(&value), sizeof value);
    return all;
}

template <typename T>
std::vector<T> read(std::string const& path)
{
    std::vector<T> values;
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    T value;
    while (file != nullptr && std::fread(&value, sizeof value, 1, file) == 1)
        values.push_back(value);
    if (file != nullptr)
        std::fclose(file);
    return values;
}

void say(char const* name, std::vector<std::uint64_t> const& answers)
{
    std::printf("%s %zu\n", name, answers.size());
    std::fwrite(answers.data(), sizeof(std::uint64_t), answers.size(), stdout);
}

template <typename T, typename F>
void each(char const* name, std::vector<T> const& values, F answer)
{
    std::vector<std::uint64_t> answers;
    answers.reserve(values.size());
    for (T const value : values)
        answers.push_back(bits(answer(value)));
    say(name, answers);
}

// A function of one half, of all 65536.
#define ONE(name, expression)                                                                                          \
    {                                                                                                                  \
        std::vector<std::uint64_t> answers;                                                                            \
        for (unsigned i = 0; i < 0x10000; ++i)                                                                         \
        {                                                                                                              \
            half a = __ushort_as_half(static_cast<unsigned short>(i));                                                 \
            answers.push_back(bits(expression));                                                                       \
        }                                                                                                              \
        say(name, answers);                                                                                            \
    }
// Of two, each pair.
#define TWO(name, expression)                                                                                          \
    {                                                                                                                  \
        std::vector<std::uint64_t> answers;                                                                            \
        for (std::size_t i = 0; i < pairs.size(); ++i)                                                                 \
        {                                                                                                              \
            half a = __ushort_as_half(pairs[i].x);                                                                     \
            half b = __ushort_as_half(pairs[i].y);                                                                     \
            static_cast<void>(b);                                                                                      \
            answers.push_back(bits(expression));                                                                       \
        }                                                                                                              \
        say(name, answers);                                                                                            \
    }
// Of two pairs: one pair in the low halves and the next in the high ones.
#define FOUR(name, expression)                                                                                         \
    {                                                                                                                  \
        std::vector<std::uint64_t> answers;                                                                            \
        for (std::size_t i = 0; i < pairs.size(); ++i)                                                                 \
        {                                                                                                              \
            ushort2 const low = pairs[i];                                                                              \
            ushort2 const high = pairs[(i + 1) % pairs.size()];                                                        \
            half2 a(__ushort_as_half(low.x), __ushort_as_half(high.x));                                                \
            half2 b = __half2_raw{low.y, high.y};                                                                      \
            static_cast<void>(b);                                                                                      \
            answers.push_back(bits(expression));                                                                       \
        }                                                                                                              \
        say(name, answers);                                                                                            \
    }
#define FROM(name, type, values, expression)                                                                           \
    each(name, values, [](type value) {                                                                                \
        half a{};                                                                                                      \
        static_cast<void>(a);                                                                                          \
        return expression;                                                                                             \
    });
#define COMPARED(name)                                                                                                 \
    TWO(#name, __h##name(a, b))                                                                                        \
    TWO(#name "u", __h##name##u(a, b))                                                                                 \
    FOUR("ones " #name, __h##name##2(a, b))                                                                            \
    FOUR("ones " #name "u", __h##name##u2(a, b))                                                                       \
    FOUR("masks " #name, __h##name##2_mask(a, b))                                                                      \
    FOUR("masks " #name "u", __h##name##u2_mask(a, b))                                                                 \
    FOUR("both " #name, __hb##name##2(a, b))                                                                           \
    FOUR("both " #name "u", __hb##name##u2(a, b))
#define COMPUTED(name, op)                                                                                             \
    TWO(#name, a op b)                                                                                                 \
    TWO(#name, (a op## = b))                                                                                           \
    TWO(#name, __h##name(a, b))                                                                                        \
    FOUR("each " #name, a op b)                                                                                        \
    FOUR("each " #name, (a op## = b))
#define VARIED(name)                                                                                                   \
    TWO(#name, __h##name##_rn(a, b))                                                                                   \
    TWO(#name "_sat", __h##name##_sat(a, b))                                                                           \
    FOUR("each " #name, __h##name##2(a, b))                                                                            \
    FOUR("each " #name, __h##name##2_rn(a, b))                                                                         \
    FOUR("each " #name "_sat", __h##name##2_sat(a, b))
#define NEAREST(name, type)                                                                                            \
    FROM("rn " #type, type, type##s, half(value))                                                                      \
    FROM("rn " #type, type, type##s, (a = value))                                                                      \
    FROM("rn " #type, type, type##s, __##name##2half_rn(value))
#define ROUNDED(name, type)                                                                                            \
    NEAREST(name, type)                                                                                                \
    FROM("rz " #type, type, type##s, __##name##2half_rz(value))                                                        \
    FROM("rd " #type, type, type##s, __##name##2half_rd(value))                                                        \
    FROM("ru " #type, type, type##s, __##name##2half_ru(value))
#define TRUNCATED(name, type)                                                                                          \
    ONE("to " #type, __half2##name##_rz(a))                                                                            \
    ONE("to " #type, static_cast<type>(a))

template <typename T>
std::vector<T> narrowed(std::vector<long long> const& values)
{
    std::vector<T> all;
    for (long long const value : values)
        all.push_back(static_cast<T>(value));
    return all;
}

void numbers(std::string const& folder)
{
    typedef unsigned short ushort;
    typedef unsigned int uint;
    typedef long long ll;
    typedef unsigned long long ull;
    typedef signed char schar;
    typedef unsigned char uchar;
    std::vector<ushort2> const pairs = read<ushort2>(folder + "/pairs");
    std::vector<double> const doubles = read<double>(folder + "/doubles");
    std::vector<float> floats;
    for (double const value : doubles)
        floats.push_back(static_cast<float>(value));
    std::vector<ll> const lls = read<ll>(folder + "/integers");
    std::vector<ull> const ulls = narrowed<ull>(lls);
    std::vector<int> const ints = narrowed<int>(lls);
    std::vector<uint> const uints = narrowed<uint>(lls);
    std::vector<short> const shorts = narrowed<short>(lls);
    std::vector<ushort> const ushorts = narrowed<ushort>(lls);

    FROM("rn double", double, doubles, half(value))
    FROM("rn double", double, doubles, (a = value))
    FROM("rn double", double, doubles, __double2half(value))
    FROM("rn float", float, floats, __float2half(value))
    ROUNDED(float, float)
    ROUNDED(short, short)
    ROUNDED(ushort, ushort)
    ROUNDED(int, int)
    ROUNDED(uint, uint)
    ROUNDED(ll, ll)
    ROUNDED(ull, ull)
    FROM("rn ll", ll, lls, half(static_cast<long>(value)))
    FROM("rn ull", ull, ulls, half(static_cast<unsigned long>(value)))
    FROM("twice float", float, floats, __float2half2_rn(value))
    FROM("twice float", float, floats, __floats2half2_rn(value, value))
    FROM("twice float", float, floats, __float22half2_rn(make_float2(value, value)))

    TRUNCATED(char, schar)
    TRUNCATED(uchar, uchar)
    TRUNCATED(short, short)
    TRUNCATED(ushort, ushort)
    TRUNCATED(int, int)
    TRUNCATED(uint, uint)
    TRUNCATED(ll, ll)
    TRUNCATED(ull, ull)
    ONE("to ll", static_cast<long>(a))
    ONE("to ull", static_cast<unsigned long>(a))
    ONE("to char", static_cast<char>(a))
    ONE("to float", static_cast<float>(a))
    ONE("to float", __half2float(a))
    ONE("to float", __low2float(half2(a, kONE)))
    ONE("to float", __high2float(half2(kONE, a)))
    ONE("to double", static_cast<double>(a))
    ONE("to bool", static_cast<bool>(a))
    ONE("same", static_cast<__half_raw>(a))
    ONE("same", +a)
    ONE("same", __half_as_ushort(a))
    ONE("same", static_cast<unsigned short>(__half_as_short(a)))
    ONE("same", __short_as_half(__half_as_short(a)))
    ONE("same", a++)
    ONE("same", a--)
    ONE("up", ++a)
    ONE("up", (a++, a))
    ONE("down", --a)
    ONE("down", (a--, a))
    ONE("neg", -a)
    ONE("neg", __hneg(a))
    ONE("abs", __habs(a))
    ONE("isnan", __hisnan(a))
    ONE("isinf", __hisinf(a))

    COMPUTED(add, +)
    COMPUTED(sub, -)
    COMPUTED(mul, *)
    COMPUTED(div, /)
    VARIED(add)
    VARIED(sub)
    VARIED(mul)
    FOUR("each div", __h2div(a, b))
    COMPARED(eq)
    COMPARED(ne)
    COMPARED(lt)
    COMPARED(gt)
    COMPARED(le)
    COMPARED(ge)
    TWO("eq", a == b)
    TWO("neu", a != b)
    TWO("lt", a < b)
    TWO("gt", a > b)
    TWO("le", a <= b)
    TWO("ge", a >= b)
    FOUR("both eq", a == b)
    FOUR("both neu", a != b)
    FOUR("both lt", a < b)
    FOUR("both gt", a > b)
    FOUR("both le", a <= b)
    FOUR("both ge", a >= b)
    TWO("max", __hmax(a, b))
    TWO("min", __hmin(a, b))
    TWO("max_nan", __hmax_nan(a, b))
    TWO("min_nan", __hmin_nan(a, b))
    FOUR("each max", __hmax2(a, b))
    FOUR("each min", __hmin2(a, b))
    FOUR("each max_nan", __hmax2_nan(a, b))
    FOUR("each min_nan", __hmin2_nan(a, b))
    FOUR("each neg_a", -a)
    FOUR("each neg_a", __hneg2(a))
    FOUR("each abs_a", __habs2(a))
    FOUR("ones isnan_a", __hisnan2(a))
    FOUR("each up_a", ++a)
    FOUR("each up_a", (a++, a))
    FOUR("each down_a", --a)
    FOUR("each down_a", (a--, a))
    FOUR("each a", a++)
    FOUR("each a", a--)
    FOUR("each a", +a)
    FOUR("each a", (b = a))
    FOUR("each a", static_cast<__half2_raw>(a))
    FOUR("each a", __lowhigh2highlow(__lowhigh2highlow(a)))
    FOUR("each a", __lowhigh2highlow(make_half2(a.y, a.x)))
    FOUR("each a", __halves2half2(__low2half(a), __high2half(a)))
    FOUR("each float_a", __half22float2(a))
    TWO("a twice", __half2half2(a))
    TWO("a twice", __low2half2(half2(a, b)))
    TWO("a twice", __high2half2(half2(b, a)))
    TWO("a twice", __lows2half2(half2(a, b), half2(a, b)))
    TWO("a twice", __highs2half2(half2(b, a), half2(b, a)))
    ONE("constants", a = CUDART_INF_FP16)
    ONE("constants", a = CUDART_NAN_FP16)
    ONE("constants", a = CUDART_MIN_DENORM_FP16)
    ONE("constants", a = CUDART_MAX_NORMAL_FP16)
    ONE("constants", a = CUDART_NEG_ZERO_FP16)
    ONE("constants", a = CUDART_ZERO_FP16)
    ONE("constants", a = CUDART_ONE_FP16)
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2)
        return 2;
    if (std::strcmp(argv[1], "facts") == 0)
        facts();
    else
        numbers(argv[1]);
    return 0;
}
