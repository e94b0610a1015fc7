// A quantizer that rotates the inputs of linears, around one that does not know of it. With R
// orthogonal, x Wᵀ = (x R)(W R)ᵀ: the quantizer observes rows x R and quantizes W R, so that its
// statistics, its errors and its op are those of the rotated linear. What it makes becomes
//
//   a weight Ŵ of W R:  Ŵ Rᵀ, which multiplies x as Ŵ multiplies x R; nothing is done online
//   an op y = f(x R):   the same op behind a rotation of x
//
// It stands in front of the quantizer's table, where all that passes is a tensor.
#pragma once

#include "quantizers/rotated/settings.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// An instance that owns `inner`, which is one of the table `functions`, and calls `destroy` if it
// throws. INVALID_ARGUMENT with `id` for one that runs blocks, whose weights are not rotated.
quench_quantizer* make_rotatable(const quench_quantizer_table& functions, quench_quantizer* inner,
                                 const char* id, const RotationParameters& parameters);

// The functions of such instances, of those that `inner` has, with this `create`.
quench_quantizer_table rotatable_table(const quench_quantizer_table& inner,
                                       decltype(quench_quantizer_table::create) create);

// The item of a quantizer class whose `Params` are RotationParameters, too.
template <typename Plugin>
class Rotatable {
 public:
  static quench_item item(const kit::About& about) {
    quench_item made = kit::quantizer<Plugin>(about);
    id_ = about.id;
    inner_ = static_cast<const quench_quantizer_table*>(made.table);
    static const quench_quantizer_table kTable = rotatable_table(*inner_, create);
    made.table = &kTable;
    return made;
  }

 private:
  static quench_status create(const char* json, uint64_t bytes, quench_quantizer** out,
                              quench_error* error) noexcept {
    return kit::guard(error, [&] {
      const typename Plugin::Params params =
          kit::fields_of<typename Plugin::Params>().parse(json, bytes);
      quench_quantizer* inner = nullptr;
      quench_error said{sizeof said, 0, {}};
      kit::check(inner_->create(json, bytes, &inner, &said), said);
      *out = make_rotatable(*inner_, inner, id_, params);
    });
  }

  static inline const quench_quantizer_table* inner_ = nullptr;
  static inline const char* id_ = nullptr;
};

template <typename Plugin>
quench_item rotatable(const kit::About& about) {
  return Rotatable<Plugin>::item(about);
}

}  // namespace quench::quantizers
