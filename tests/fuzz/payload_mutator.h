// PayloadMutator: wrong things in what a plugin has stored, from flipped bytes to fields that say something else.
#pragma once

#include "plugins/field_bytes.h"

#include <random>

namespace tenon::test
{

class PayloadMutator
{
  public:
    explicit PayloadMutator(uint32_t seed)
        : mRandom{seed}
    {
    }

    //! `other` is a payload to take pieces from.
    Bytes mutated(Bytes payload, Bytes const& other);
    uint64_t below(uint64_t most)
    {
        return most == 0 ? 0 : mRandom() % most;
    }
    //! So that it shuffles.
    using result_type = uint64_t;
    static constexpr uint64_t min()
    {
        return std::mt19937_64::min();
    }
    static constexpr uint64_t max()
    {
        return std::mt19937_64::max();
    }
    uint64_t operator()()
    {
        return mRandom();
    }
    bool once(uint64_t in)
    {
        return below(in) == 0;
    }

  private:
    struct Field
    {
        std::string name;
        nvinfer1::PluginFieldType type{};
        int32_t length{0};
        Bytes data;
    };

    void damage(Bytes& bytes, Bytes const& other);
    void overwrite(Bytes& bytes);
    Bytes withOtherFields(Bytes const& payload);
    void change(std::vector<Field>& fields);
    void change(Field& field);
    void resize(Field& field);

    std::mt19937_64 mRandom;
};

} // namespace tenon::test
