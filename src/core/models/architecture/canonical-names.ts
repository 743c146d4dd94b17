/**
 * Leading parts of names that stand for a whole model, or for the language model of a larger one: transformers'
 * `base_model_prefix`, which files of the base class lack, and the places to which its versions have moved the language
 * model of models with other towers.
 */
const wholes = new Set([
  ...['model', 'transformer', 'language_model', 'backbone', 'gpt_neox', 'rwkv', 'biogpt'],
  ...['bert', 'roberta', 'electra', 'distilbert', 'mpnet', 'deberta', 'albert', 'longformer', 'rembert'],
  ...['roformer', 'convbert', 'mobilebert', 'ernie', 'esm', 'layoutlm', 'nystromformer', 'luke'],
]);

/** True for a part of a name that stands for a whole model in some class. */
export const isWhole = (part: string): boolean => wholes.has(part);

/** Parts of names that files call otherwise than transformers 5 does (`conversion_mapping.py`). */
const renamed: readonly (readonly [inFiles: RegExp, inModel: string])[] = [
  [/LayerNorm\.gamma$/, 'LayerNorm.weight'],
  [/LayerNorm\.beta$/, 'LayerNorm.bias'],
  [/^embed_out\./, 'lm_head.'],
  [/^((?:model\.)?vision_tower)\.vision_model\./, '$1.'],
];

/**
 * Returns the name of a parameter that is the same for every class and every version by which transformers writes a
 * model: `h.0.ln_1.weight` for `transformer.h.0.ln_1.weight` too.
 */
export const canonicalName = (name: string): string => {
  let rest = renamed.reduce((spelt, [inFiles, inModel]) => spelt.replace(inFiles, inModel), name);
  for (let dot = rest.indexOf('.'); dot > 0 && wholes.has(rest.slice(0, dot)); dot = rest.indexOf('.'))
    rest = rest.slice(dot + 1);
  return rest;
};

/** Returns names by their canonical ones; a canonical name that several have is left out. */
export const byCanonicalName = (names: Iterable<string>): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const several = new Set<string>();
  for (const name of names) {
    const canonical = canonicalName(name);
    if (found.has(canonical)) several.add(canonical);
    found.set(canonical, name);
  }
  for (const canonical of several) found.delete(canonical);
  return found;
};

/**
 * Returns how names of one model are spelt in the manner of another, for those that the other spells otherwise. Names that
 * the other does not have, such as those of further layers, stand where its like do.
 *
 * @param like names of the model whose spelling is wanted
 */
export const spellingsLike = (
  names: Iterable<string>,
  like: Iterable<string>,
): ReadonlyMap<string, string> => {
  const [own, known] = [new Set(names), new Set(like)];
  if ([...own].every((name) => known.has(name))) return new Map();
  const canonical = byCanonicalName(known);
  const places = placesIn(canonical);
  const spelt = new Map<string, string>();
  const taken = new Set(own);
  for (const [plain, name] of byCanonicalName(own)) {
    if (known.has(name)) continue;
    const place = /\d/.test(plain) ? places.get(firstPart(plain)) : undefined;
    const there = canonical.get(plain) ?? (place === undefined ? undefined : place + plain);
    if (there === undefined || taken.has(there)) continue;
    taken.add(there);
    spelt.set(name, there);
  }
  return spelt;
};

/**
 * Returns the prefixes before canonical names in a model's own, by the first parts of the canonical ones; undefined where
 * there are several.
 */
const placesIn = (canonical: ReadonlyMap<string, string>): ReadonlyMap<string, string | undefined> => {
  const places = new Map<string, string | undefined>();
  for (const [plain, name] of canonical) {
    const [first, place] = [firstPart(plain), prefixOf(name, plain)];
    places.set(first, !places.has(first) || places.get(first) === place ? place : undefined);
  }
  return places;
};

const firstPart = (name: string): string => name.slice(0, Math.max(0, name.indexOf('.')));

/** Returns the prefix before a canonical name in a name; undefined where that ends otherwise. */
export const prefixOf = (name: string, plain: string): string | undefined =>
  name.endsWith(plain) ? name.slice(0, name.length - plain.length) : undefined;
