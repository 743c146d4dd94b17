#include "normal.hpp"

#include <cmath>
#include <cstddef>

namespace layerloom {
namespace {

/// A quotient of polynomials. Coefficients begin with the highest power.
struct Rational {
    double above[8], below[8];

    double at(double x) const {
        double a = above[0], b = below[0];
        for (std::size_t i = 1; i < 8; ++i) {
            a = a * x + above[i];
            b = b * x + below[i];
        }
        return a / b;
    }
};

// Algorithm AS 241 (Wichura, Applied Statistics 37(3), 1988), PPND16: middle and tails. No word reaches the
// outer tails (r > 5), which begin at a share of 2⁻³⁶.
constexpr Rational kMiddle{
    {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
     1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0},
    {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
     5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0}};
constexpr Rational kTail{{7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                          1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                          4.63033784615654529590e+0, 1.42343711074968357734e+0},
                         {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                          1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                          2.05319162663775882187e+0, 1.0}};
/// The natural logarithm of a positive normal number. Libraries' own differ in the last bit.
double logarithm(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2;
        --exponent;
    }
    // ln m = 2·artanh(s) with |s| ≤ 0.172; powers from the 25th on are below rounding.
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int power = 23; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
    return exponent * 0.69314718055994530942 + 2 * s * sum;
}

}  // namespace

double normalOf(std::uint32_t word) {
    const double share = (word + 0.5) * 0x1p-32, q = share - 0.5;
    if (std::fabs(q) <= 0.425) return q * kMiddle.at(0.180625 - q * q);
    const double r = std::sqrt(-logarithm(q < 0 ? share : 1 - share));
    const double z = kTail.at(r - 1.6);
    return q < 0 ? -z : z;
}

}  // namespace layerloom
