// Matrix products. Lanes run along the result's columns, so that sums are in order of k on every instruction
// set.
#include "kernels.hpp"

namespace layerloom {
namespace {

template <class V>
struct Narrow {
    using Vector = typename V::Floats;
    static constexpr std::size_t rows = V::lanes >= 16 ? 8 : 4;
    static Vector all(float x) { return V::floats(x); }
    static Vector load(const float* at) { return V::loadFloats(reinterpret_cast<const std::byte*>(at)); }
    static typename V::Wide widen(Vector x) { return V::widen(x); }
};

template <class V>
struct Broad {
    using Vector = typename V::Wide;
    static constexpr std::size_t rows = V::lanes >= 16 ? 4 : V::lanes >= 8 ? 3 : 2;
    static Vector all(double x) { return V::wides(x); }
    static Vector load(const double* at) { return V::loadWide(at); }
    static Vector widen(Vector x) { return x; }
};

/// Computes `Rows` rows of the result in one panel, with sums in registers.
template <class V, class Of, std::size_t Rows, class Number>
[[gnu::always_inline]] inline void addRows(const PanelProduct<Number>& product, std::size_t i, std::size_t p) {
    constexpr std::size_t vectors = kPanel / V::lanes;
    typename Of::Vector sums[Rows][vectors];
    for (std::size_t row = 0; row < Rows; ++row)
        for (std::size_t v = 0; v < vectors; ++v) sums[row][v] = Of::all(0);
    const Number* a = product.a + i * product.across;
    const Number* b = product.b + p * product.panel;
    for (std::size_t k = 0; k < product.depth; ++k, a += product.along, b += kPanel) {
        typename Of::Vector of[vectors];
        for (std::size_t v = 0; v < vectors; ++v) of[v] = Of::load(b + v * V::lanes);
        for (std::size_t row = 0; row < Rows; ++row) {
            const auto by = Of::all(a[row * product.across]);
            for (std::size_t v = 0; v < vectors; ++v)
                sums[row][v] = V::add(sums[row][v], V::multiply(by, of[v]));
        }
    }
    double* to = product.sums + i * product.panels * kPanel + p * kPanel;
    for (std::size_t row = 0; row < Rows; ++row, to += product.panels * kPanel)
        for (std::size_t v = 0; v < vectors; ++v)
            V::storeWide(V::add(V::loadWide(to + v * V::lanes), Of::widen(sums[row][v])), to + v * V::lanes);
}

template <class V, class Of, class Number>
void addInPanels(const PanelProduct<Number>& product) {
    for (std::size_t p = 0; p < product.panels; ++p) {
        std::size_t i = 0;
        for (; i + Of::rows <= product.rows; i += Of::rows) addRows<V, Of, Of::rows>(product, i, p);
        for (; i < product.rows; ++i) addRows<V, Of, 1>(product, i, p);
    }
}

template <class V>
void addProduct(const PanelProduct<float>& product) {
    addInPanels<V, Narrow<V>>(product);
}

template <class V>
void addWideProduct(const PanelProduct<double>& product) {
    addInPanels<V, Broad<V>>(product);
}

}  // namespace
}  // namespace layerloom
