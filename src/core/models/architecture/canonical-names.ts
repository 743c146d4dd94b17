/**
 * Prefixes of all of a model's names, or of its language model's. They are transformers' `base_model_prefix`,
 * which files of the base class lack, and prefixes that its versions gave to multimodal models.
 */
const wholes = new Set([
  ...['model', 'transformer', 'language_model', 'text_model', 'backbone', 'gpt_neox', 'rwkv', 'biogpt'],
  ...['bert', 'roberta', 'electra', 'distilbert', 'mpnet', 'deberta', 'albert', 'longformer', 'rembert'],
  ...['roformer', 'convbert', 'mobilebert', 'ernie', 'esm', 'layoutlm', 'nystromformer', 'luke'],
]);

export const isWhole = (part: string): boolean => wholes.has(part);

/** Parts of names that files spell differently from transformers 5 (`conversion_mapping.py`). */
const renamed: readonly (readonly [inFiles: RegExp, inModel: string])[] = [
  [/LayerNorm\.gamma$/, 'LayerNorm.weight'],
  [/LayerNorm\.beta$/, 'LayerNorm.bias'],
  [/^embed_out\./, 'lm_head.'],
  [/^((?:model\.)?vision_tower)\.vision_model\./, '$1.'],
];

/** Removes prefixes that depend on class and transformers version: `transformer.h.0` → `h.0`. */
export const canonicalName = (name: string): string => {
  let rest = renamed.reduce((spelt, [inFiles, inModel]) => spelt.replace(inFiles, inModel), name);
  for (let dot = rest.indexOf('.'); dot > 0 && wholes.has(rest.slice(0, dot)); dot = rest.indexOf('.'))
    rest = rest.slice(dot + 1);
  return rest;
};

/** Returns a head that transformers misses because it renames `embed_out.` only at the start of a name. */
export const lostHead = (names: Iterable<string>): string | undefined =>
  [...names].find(
    (name) => /^(?:\w+\.)+embed_out\.weight$/.test(name) && canonicalName(name).startsWith('embed_out.'),
  );

/** Maps canonical names to names; leaves out ambiguous ones. */
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
 * Maps names of a model to another model's spelling where the two differ. A name that the other model lacks gets the
 * prefix of similar names.
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
 * Maps the first part of canonical names (`h` in `h.0.attn`) to the prefix that their full names add;
 * undefined if these have different prefixes.
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

/** Returns the prefix before a canonical name; undefined if `name` does not end with `plain`. */
export const prefixOf = (name: string, plain: string): string | undefined =>
  name.endsWith(plain) ? name.slice(0, name.length - plain.length) : undefined;
