// What a header's numbers of 8 and 4 bits are and answer. "facts" prints what is made of what; else doubles in a file
// are read and each function's answers written: a line with its name and their count, and 8 bytes each.
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#if !defined(__CUDA_FP8_H__) || !defined(__CUDA_FP8_TYPES_EXIST__) || !defined(__CUDA_FP4_TYPES_EXIST__)
#error "programs ask for these"
#endif

namespace
{
// What is made of what, and what implicitly.

template <typename A, typename B>
void made(char const* a, char const* b)
{
    std::printf("%s of %s: %d %d\n", a, b, std::is_constructible<A, B>::value, std::is_convertible<B, A>::value);
}

template <typename A>
void facts(char const* name)
{
    std::printf("%s: size %zu, alignment %zu, trivial %d, trivially copied %d\n", name, sizeof(A), alignof(A),
        std::is_trivially_default_constructible<A>::value, std::is_trivially_copyable<A>::value);
#define OF(type)                                                                                                       \
    made<A, type>(name, #type);                                                                                        \
    made<type, A>(#type, name);
    OF(bool)
    OF(char)
    OF(signed char)
    OF(unsigned char)
    OF(short)
    OF(unsigned short)
    OF(int)
    OF(unsigned int)
    OF(long)
    OF(unsigned long)
    OF(long long)
    OF(unsigned long long)
    OF(float)
    OF(double)
    OF(__half)
    OF(__nv_bfloat16)
    OF(__half2)
    OF(__nv_bfloat162)
    OF(float2)
    OF(double2)
    OF(float4)
    OF(double4_16a)
    OF(double4_32a)
    OF(__half_raw)
#undef OF
    std::printf("%s of two halves: %d, of two bfloat162: %d\n", name, std::is_constructible<A, __half2, __half2>::value,
        std::is_constructible<A, __nv_bfloat162, __nv_bfloat162>::value);
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

void say(std::string const& name, std::vector<std::uint64_t> const& answers)
{
    std::printf("%s %zu\n", name.c_str(), answers.size());
    std::fwrite(answers.data(), sizeof(std::uint64_t), answers.size(), stdout);
}

std::vector<double> gDoubles;

#define FROM(name, expression)                                                                                         \
    {                                                                                                                  \
        std::vector<std::uint64_t> answers;                                                                            \
        for (double const value : gDoubles)                                                                            \
            answers.push_back(bits(expression));                                                                       \
        say(name, answers);                                                                                            \
    }
#define HALVES(name, expression)                                                                                       \
    {                                                                                                                  \
        std::vector<std::uint64_t> answers;                                                                            \
        for (unsigned i = 0; i < 0x10000; ++i)                                                                         \
        {                                                                                                              \
            __half_raw half{};                                                                                         \
            __nv_bfloat16_raw bfloat{};                                                                                \
            half.x = bfloat.x = static_cast<unsigned short>(i);                                                        \
            static_cast<void>(half);                                                                                   \
            static_cast<void>(bfloat);                                                                                 \
            answers.push_back(bits(expression));                                                                       \
        }                                                                                                              \
        say(name, answers);                                                                                            \
    }

//! Doubles that an integer can be made of.
long long whole(double value)
{
    return value > -9e18 && value < 9e18 ? static_cast<long long>(value) : 77;
}

template <typename T>
void single(std::string const& name, unsigned count)
{
    FROM(name + " double", T(value).__x)
    FROM(name + " float", T(static_cast<float>(value)).__x)
    HALVES(name + " half", T(__half(half)).__x)
    HALVES(name + " bfloat", T(__nv_bfloat16(bfloat)).__x)
#define INTEGER(type) FROM(name + " " #type, T(static_cast<type>(whole(value))).__x)
    INTEGER(short)
    INTEGER(unsigned short)
    INTEGER(int)
    INTEGER(unsigned int)
    INTEGER(long)
    INTEGER(unsigned long)
    INTEGER(long long)
    INTEGER(unsigned long long)
#undef INTEGER
    std::vector<std::uint64_t> answers;
    for (unsigned i = 0; i < count; ++i)
    {
        T number;
        number.__x = static_cast<decltype(number.__x)>(i);
#define TO(type) answers.push_back(bits(static_cast<type>(number)));
        TO(float)
        TO(double)
        TO(__half)
        TO(__nv_bfloat16)
        TO(bool)
        TO(char)
        TO(signed char)
        TO(unsigned char)
        TO(short)
        TO(unsigned short)
        TO(int)
        TO(unsigned int)
        TO(long)
        TO(unsigned long)
        TO(long long)
        TO(unsigned long long)
#undef TO
    }
    say(name + " to", answers);
}

double next(double const& value)
{
    return &value == &gDoubles.back() ? gDoubles.front() : *(&value + 1);
}

template <typename Pair, typename Four, typename Wide>
void several(std::string const& name, unsigned count)
{
    std::vector<std::uint64_t> answers;
    for (double const& value : gDoubles)
    {
        float const low = static_cast<float>(value);
        float const high = static_cast<float>(next(value));
        __half2 const halves(low, high);
        __nv_bfloat162 const bfloats(low, high);
        double4_16a const four{value, next(value), 3.0, -2.0};
        double4_32a const more{value, next(value), 3.0, -2.0};
        answers.push_back(bits(Pair(make_double2(value, next(value)))));
        answers.push_back(bits(Pair(make_float2(low, high))));
        answers.push_back(bits(Pair(halves)));
        answers.push_back(bits(Pair(bfloats)));
        answers.push_back(bits(Four(make_float4(low, high, 1.5F, low))));
        answers.push_back(bits(Four(four)));
        answers.push_back(bits(Four(more)));
        answers.push_back(bits(Four(halves, __half2(high, low))));
        answers.push_back(bits(Four(bfloats, __nv_bfloat162(high, low))));
    }
    say(name + " several", answers);
    answers.clear();
    for (unsigned i = 0; i < count; ++i)
    {
        Pair pair;
        Four four;
        pair.__x = static_cast<decltype(pair.__x)>(i);
        four.__x = static_cast<decltype(four.__x)>(i * 0x9E3779B1U);
        answers.push_back(bits(static_cast<float2>(pair)));
        answers.push_back(bits(static_cast<Wide>(pair)));
        float4 const all = static_cast<float4>(four);
        answers.push_back(bits(make_float2(all.x, all.y)));
        answers.push_back(bits(make_float2(all.z, all.w)));
    }
    say(name + " several to", answers);
}

void functionsOf8()
{
    for (__nv_fp8_interpretation_t const kind : {__NV_E4M3, __NV_E5M2})
    {
        std::string const name = kind == __NV_E4M3 ? "e4m3" : "e5m2";
        for (__nv_saturation_t const mode : {__NV_NOSAT, __NV_SATFINITE})
        {
            std::string const text = name + (mode == __NV_NOSAT ? " open" : " saturated");
            FROM(text + " double", __nv_cvt_double_to_fp8(value, mode, kind))
            FROM(text + " float", __nv_cvt_float_to_fp8(static_cast<float>(value), mode, kind))
            HALVES(text + " half", __nv_cvt_halfraw_to_fp8(half, mode, kind))
            HALVES(text + " bfloat", __nv_cvt_bfloat16raw_to_fp8(bfloat, mode, kind))
            FROM(text + " pair", __nv_cvt_double2_to_fp8x2(make_double2(value, -value), mode, kind))
            FROM(text + " floats", __nv_cvt_float2_to_fp8x2(make_float2(static_cast<float>(value), 0.3F), mode, kind))
        }
        HALVES(name + " halves", __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(i), kind))
        HALVES(name + " one", __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(i), kind))
    }
    for (cudaRoundMode const rounding : {cudaRoundZero, cudaRoundPosInf})
        for (__nv_saturation_t const mode : {__NV_NOSAT, __NV_SATFINITE})
        {
            std::string const text = std::string{"e8m0 "} + (rounding == cudaRoundZero ? "down" : "up")
                + (mode == __NV_NOSAT ? " open" : " saturated");
            FROM(text + " double", __nv_cvt_double_to_e8m0(value, mode, rounding))
            FROM(text + " float", __nv_cvt_float_to_e8m0(static_cast<float>(value), mode, rounding))
            HALVES(text + " bfloat", __nv_cvt_bfloat16raw_to_e8m0(bfloat, mode, rounding))
            FROM(text + " pair", __nv_cvt_double2_to_e8m0x2(make_double2(value, 5.0), mode, rounding))
        }
    HALVES("e8m0 bfloats", __nv_cvt_e8m0x2_to_bf162raw(static_cast<__nv_fp8x2_storage_t>(i)))
}

void functionsOf4()
{
    for (cudaRoundMode const rounding : {cudaRoundNearest, cudaRoundZero})
    {
        std::string const text = rounding == cudaRoundNearest ? "e2m1" : "e2m1 down";
        FROM(text + " double", __nv_cvt_double_to_fp4(value, __NV_E2M1, rounding))
        FROM(text + " float", __nv_cvt_float_to_fp4(static_cast<float>(value), __NV_E2M1, rounding))
        HALVES(text + " half", __nv_cvt_halfraw_to_fp4(half, __NV_E2M1, rounding))
        HALVES(text + " bfloat", __nv_cvt_bfloat16raw_to_fp4(bfloat, __NV_E2M1, rounding))
        FROM(text + " pair", __nv_cvt_double2_to_fp4x2(make_double2(value, -value), __NV_E2M1, rounding))
    }
    HALVES("e2m1 halves", __nv_cvt_fp4x2_to_halfraw2(static_cast<__nv_fp4x2_storage_t>(i), __NV_E2M1))
}
} // namespace

int main(int, char** arguments)
{
#define EACH(f)                                                                                                        \
    f(__nv_fp8_e4m3) f(__nv_fp8_e5m2) f(__nv_fp8_e8m0) f(__nv_fp4_e2m1) f(__nv_fp8x2_e4m3) f(__nv_fp8x2_e5m2)          \
        f(__nv_fp8x2_e8m0) f(__nv_fp4x2_e2m1) f(__nv_fp8x4_e4m3) f(__nv_fp8x4_e5m2) f(__nv_fp8x4_e8m0)                 \
            f(__nv_fp4x4_e2m1)
#define FACTS(type) facts<type>(#type);
    if (std::string{arguments[1]} == "facts")
    {
        EACH(FACTS)
        return 0;
    }
    std::FILE* const file = std::fopen((std::string{arguments[1]} + "/doubles").c_str(), "rb");
    double value{0.0};
    while (file != nullptr && std::fread(&value, sizeof value, 1, file) == 1)
        gDoubles.push_back(value);
    single<__nv_fp8_e4m3>("e4m3", 256);
    single<__nv_fp8_e5m2>("e5m2", 256);
    single<__nv_fp8_e8m0>("e8m0", 256);
    single<__nv_fp4_e2m1>("e2m1", 16);
    several<__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __half2>("e4m3", 0x10000);
    several<__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __half2>("e5m2", 0x10000);
    several<__nv_fp8x2_e8m0, __nv_fp8x4_e8m0, __nv_bfloat162>("e8m0", 0x10000);
    several<__nv_fp4x2_e2m1, __nv_fp4x4_e2m1, __half2>("e2m1", 256);
    functionsOf8();
    functionsOf4();
    return 0;
}
