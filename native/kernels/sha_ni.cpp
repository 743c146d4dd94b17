#include <immintrin.h>

#include <utility>

#include "sha256.hpp"

namespace layerloom {
namespace {

/// First 32 bits of the fractions of the cube roots of the first 64 primes.
alignas(16) constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// State of a stream. The instructions take words as (f, e, b, a) and (h, g, d, c), lowest first.
struct Stream {
    __m128i abef, cdgh;
    __m128i words[4];  ///< the last 16 words of the message schedule

    explicit Stream(const std::uint32_t* state) {
        const auto* from = reinterpret_cast<const __m128i*>(state);
        const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(from), 0xB1);
        const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(from + 1), 0x1B);
        abef = _mm_alignr_epi8(badc, hgfe, 8);
        cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
    }

    void store(std::uint32_t* state) const {
        auto* to = reinterpret_cast<__m128i*>(state);
        const __m128i abef3 = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
        _mm_storeu_si128(to, _mm_blend_epi16(abef3, dchg, 0xF0));
        _mm_storeu_si128(to + 1, _mm_alignr_epi8(dchg, abef3, 8));
    }

    /// Loads a block, whose words are big-endian.
    void load(const std::byte* block) {
        const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
        for (int i = 0; i < 4; ++i)
            words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), bigEndian);
    }

    /// Does rounds 4·quarter to 4·quarter + 3.
    template <int quarter>
    void rounds() {
        __m128i& word = words[quarter % 4];
        if constexpr (quarter >= 4) {
            const __m128i last = words[(quarter + 3) % 4];
            const __m128i seventh = _mm_alignr_epi8(last, words[(quarter + 2) % 4], 4);
            word = _mm_sha256msg1_epu32(word, words[(quarter + 1) % 4]);
            word = _mm_sha256msg2_epu32(_mm_add_epi32(word, seventh), last);
        }
        const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds) + quarter);
        const __m128i added = _mm_add_epi32(word, constants);
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0E));
    }
};

template <std::size_t count>
inline void hash(const std::array<std::uint32_t*, count>& states,
                 const std::array<const std::byte*, count>& blocks, std::size_t length) {
    const auto all = [&]<std::size_t... s>(std::index_sequence<s...>) {
        Stream streams[] = {Stream(states[s])...};
        for (std::size_t block = 0; block < length; ++block) {
            const __m128i abef[] = {streams[s].abef...}, cdgh[] = {streams[s].cdgh...};
            (streams[s].load(blocks[s] + block * kSha256Block), ...);
            const auto quarter = [&]<int q>(std::integral_constant<int, q>) {
                (streams[s].template rounds<q>(), ...);
            };
            [&]<int... q>(std::integer_sequence<int, q...>) {
                (quarter(std::integral_constant<int, q>()), ...);
            }(std::make_integer_sequence<int, 16>());
            ((streams[s].abef = _mm_add_epi32(streams[s].abef, abef[s])), ...);
            ((streams[s].cdgh = _mm_add_epi32(streams[s].cdgh, cdgh[s])), ...);
        }
        (streams[s].store(states[s]), ...);
    };
    all(std::make_index_sequence<count>());
}

void hashOne(std::uint32_t* state, const std::byte* blocks, std::size_t count) {
    hash<1>({state}, {blocks}, count);
}

}  // namespace

extern const Sha256 kShaNi;
constinit const Sha256 kShaNi = {hashOne, hash<2>};

}  // namespace layerloom
