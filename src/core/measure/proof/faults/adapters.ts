import { beyondRounding, combined, dot, fits, isCopy, minus } from '../agreement.js';
import type { Evidence, Finding, Sampled } from '../evidence.js';
import { rounded } from '../precision.js';
import type { Source } from '../sources.js';
import {
  counted,
  type FaultKind,
  fault,
  figure,
  finding,
  isConstant,
  layersIn,
  listed,
  median,
} from './kind.js';
import { rankOfRows } from './rank.js';

// Faults of a base with an adapter. The change is known: expected − base.

/** A tensor that the adapter changes, and the factor of this change in the output. */
interface Changed {
  readonly sample: Sampled;
  readonly base: Float32Array;
  /** expected − base */
  readonly change: Float32Array;
  /** output − base */
  readonly found: Float32Array;
  /** Factor of the change that best gives output − base, by least squares. */
  readonly factor: number;
  /** True if base + factor·change explains the output. */
  readonly isExplained: boolean;
  readonly scale: number | undefined;
  readonly rank: number | undefined;
}

interface OfAdapter {
  readonly adapted: Source;
  readonly base: Source;
}

const adapterOf = ({ sources }: Evidence): OfAdapter | undefined => {
  const adapted = sources.filter(({ isAdapted }) => isAdapted);
  const [only] = adapted;
  const base = only === undefined ? undefined : sources[sources.indexOf(only) + 1];
  return only === undefined || base === undefined || adapted.length > 1 ? undefined : { adapted: only, base };
};

const changedIn = (evidence: Evidence, names: readonly string[]): Promise<readonly Changed[]> =>
  evidence.once(`changed ${names.length} ${names[0]}`, async () => {
    const pair = adapterOf(evidence);
    if (pair === undefined) return [];
    const changed: Changed[] = [];
    for (const sample of await evidence.sampled(names)) {
      const base = sample.sources.get(pair.base);
      if (base === undefined || pair.adapted.isChanged(sample.name) !== 'changed') continue;
      const [change, found] = [minus(sample.wanted, base), minus(sample.found, base)];
      const length = dot(change, change);
      if (!(length > 0)) continue;
      const factor = dot(found, change) / length;
      const fit = combined([base, change], [1, factor]);
      const { scale, rank } = pair.adapted.scaleOf(sample.name) ?? {};
      const terms = [base, change.map((value) => value * factor), sample.found];
      changed.push({
        ...{ sample, base, change, found, factor, scale, rank },
        isExplained: sample.copyOf.includes(pair.base) || fits(sample.found, fit, sample.grain, terms),
      });
    }
    return changed;
  });

/** Relative tolerance of factors: bfloat16 rounds small changes. */
const tolerance = 0.04;

const isNear = (value: number, wanted: number): boolean =>
  Math.abs(value - wanted) <= tolerance * Math.max(Math.abs(wanted), 0.5);

const notApplied = async (evidence: Evidence, names: readonly string[]) => {
  const pair = adapterOf(evidence);
  if (pair === undefined) return undefined;
  const without = (await evidence.sampled(names)).filter(
    ({ name, copyOf }) => copyOf.includes(pair.base) && pair.adapted.isChanged(name) !== undefined,
  );
  const ofAdapter = [...evidence.expected.keys()].filter(
    (name) => pair.adapted.isChanged(name) !== undefined,
  );
  return without.length === 0 ? undefined : { without, ofAdapter, pair };
};

export const adapterNotApplied = fault('adapter_not_applied', async (evidence, names) => {
  const found = await notApplied(evidence, names);
  if (found === undefined || found.without.length < found.ofAdapter.length) return undefined;
  return {
    tensors: found.without.map(({ name }) => name),
    figures: { tensors: found.without.length, factor: 0 },
    sentence: `the adapter was not applied: all ${counted(found.without.length, 'tensor')} that it changes are those of ${found.pair.base.name}`,
  };
});

export const savedModulesIgnored = fault('modules_to_save_ignored', async (evidence, names) => {
  const found = await notApplied(evidence, names);
  const whole = found?.without.filter(({ name }) => found.pair.adapted.isChanged(name) === 'replaced') ?? [];
  if (found === undefined || whole.length === 0 || whole.length < found.without.length) return undefined;
  return finding(
    whole.map(({ name }) => name),
    `modules that the adapter saves whole (modules_to_save) were not taken over: ${listed(whole.map(({ name }) => name))}`,
  );
});

export const adapterPartlyApplied = fault('adapter_partly_applied', async (evidence, names) => {
  const found = await notApplied(evidence, names);
  if (found === undefined) return undefined;
  const { without, ofAdapter } = found;
  const layers = without.map(({ layer }) => layer);
  const modules = [...new Set(without.map(({ module }) => module))];
  return {
    tensors: without.map(({ name }) => name),
    figures: {
      applied: ofAdapter.length - without.length,
      of: ofAdapter.length,
      layers: [...new Set(layers)].join(', '),
      modules: modules.join(', '),
    },
    sentence: `the adapter was applied to ${ofAdapter.length - without.length} of ${ofAdapter.length} tensors only: it is not in ${layersIn(layers)}, ${listed(modules)}`,
  };
});

const byFactor = (
  kind: string,
  isThis: (changed: Changed, evidence: Evidence) => boolean,
  sentence: (factor: number, changed: Changed) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const all = (await changedIn(evidence, names)).filter(({ isExplained }) => isExplained);
    const found = all.filter((changed) => isThis(changed, evidence));
    const [first] = found;
    if (first === undefined || found.length < all.length * 0.9) return undefined;
    const factor = median(found.map((changed) => changed.factor));
    return findingOf(found, factor, sentence(figure(factor), first));
  });

const findingOf = (found: readonly Changed[], factor: number, sentence: string): Finding => {
  const scale = median(found.flatMap((changed) => changed.scale ?? []));
  return {
    tensors: found.map(({ sample }) => sample.name),
    figures: {
      factor: figure(factor),
      ...(scale > 0 ? { scale: figure(scale), foundScale: figure(scale * factor) } : {}),
      tensors: found.length,
    },
    sentence,
  };
};

/** True if the change was added twice, with a rounding each, rather than once at twice the scale. */
const inTwoSteps = ({ sample, base, change }: Changed): boolean => {
  const [dtype = 'F32'] = sample.grain;
  const steps = base.map((value, at) =>
    rounded(rounded(value + (change[at] ?? 0), dtype) + (change[at] ?? 0), dtype),
  );
  const once = base.map((value, at) => rounded(value + 2 * (change[at] ?? 0), dtype));
  const apart = (other: Float32Array) => sample.found.filter((value, at) => value !== other[at]).length;
  return apart(steps) < apart(once);
};

const isScaleIgnored = ({ factor, scale }: Changed): boolean =>
  scale !== undefined && !isNear(scale, 1) && isNear(factor * scale, 1);

export const adapterTwice = byFactor(
  'adapter_twice',
  (changed) => isNear(changed.factor, 2) && (!isScaleIgnored(changed) || inTwoSteps(changed)),
  (factor) => `the adapter was applied twice: its change is in the output ${factor} times`,
);

export const alphaIgnored = byFactor(
  'alpha_ignored',
  isScaleIgnored,
  (factor, { scale = 1 }) =>
    `the adapter’s scale was ignored: the output has B · A with a factor of ${figure(factor * scale)} instead of ${figure(scale)} (lora_alpha by r)`,
);

export const rankNotDivided = byFactor(
  'rank_not_divided',
  ({ factor, rank = 0 }) => rank > 2 && isNear(factor, rank),
  (factor, { scale = 1, rank = 1 }) =>
    `lora_alpha was not divided by the rank ${rank}: the scale is ${figure(factor * scale)} instead of ${figure(scale)}`,
);

export const rsLoraConfused = byFactor(
  'rslora_confused',
  ({ factor, rank = 0 }) =>
    rank > 1 && (isNear(factor, Math.sqrt(rank)) || isNear(factor, 1 / Math.sqrt(rank))),
  (factor, { scale = 1, rank = 1 }) =>
    `the scale is ${figure(factor * scale)} instead of ${figure(scale)}: lora_alpha was divided by ${factor > 1 ? `√${rank} instead of ${rank}` : `${rank} instead of √${rank}`} (use_rslora)`,
);

export const adapterSubtracted = byFactor(
  'adapter_subtracted',
  ({ factor }) => isNear(factor, -1),
  () => 'the adapter was subtracted instead of added',
);

const isOtherFactor = ({ isExplained, factor }: Changed): boolean =>
  isExplained && !isNear(factor, 0) && Math.abs(factor - 1) > 0.02;

export const wrongScale = fault('wrong_scale', async (evidence, names) => {
  const found = (await changedIn(evidence, names)).filter(isOtherFactor);
  const factors = found.map(({ factor }) => factor);
  if (found.length === 0 || !isConstant(factors)) return undefined;
  const [factor, scale] = [median(factors), found[0]?.scale];
  return findingOf(
    found,
    factor,
    `the adapter was applied with ${figure(factor)} times its scale${scale === undefined ? '' : ` (${figure(scale * factor)} instead of ${figure(scale)})`}`,
  );
});

export const scalesDiffer = fault('scale_by_tensor', async (evidence, names) => {
  const found = (await changedIn(evidence, names)).filter(isOtherFactor);
  if (found.length === 0) return undefined;
  const factors = found.map(({ factor }) => factor).toSorted((a, b) => a - b);
  const [least = 0, most = 0] = [factors[0], factors.at(-1)];
  return findingOf(
    found,
    median(factors),
    `the adapter was applied with another wrong scale for each tensor, ${figure(least)} to ${figure(most)} times the right one (rank_pattern or alpha_pattern)`,
  );
});

export const adapterTransposed = fault('adapter_transposed', async (evidence, names) => {
  const found = (await changedIn(evidence, names)).filter(({ sample, change, found: own, isExplained }) => {
    const [rows = 0, columns = 0] = sample.shape;
    if (isExplained || rows !== columns || sample.found.length !== rows * columns) return false;
    const turned = change.map((_, at) => change[(at % columns) * columns + Math.floor(at / columns)] ?? 0);
    const length = dot(turned, turned);
    return length > 0 && isNear(dot(own, turned) / length, 1) && cosine(own, turned) > 0.95;
  });
  if (found.length === 0) return undefined;
  return findingOf(
    found,
    1,
    `the product B · A was added transposed (fan_in_fan_out): ${listed(found.map(({ sample }) => sample.name))}`,
  );
});

const cosine = (a: Float32Array, b: Float32Array): number =>
  dot(a, b) / Math.max(Math.sqrt(dot(a, a) * dot(b, b)), Number.MIN_VALUE);

const otherAdapter = (
  kind: string,
  isThis: (rank: number, wanted: number) => boolean,
  sentence: (rank: number, wanted: number, count: number) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const unknown = (await changedIn(evidence, names)).filter(({ isExplained }) => !isExplained);
    const found: { changed: Changed; rank: number }[] = [];
    for (const changed of unknown) {
      const { sample, found: own } = changed;
      const rank = rankOfRows(own, sample.shape.at(-1) ?? 1, sample);
      if (rank !== undefined && isThis(rank, changed.rank ?? 0)) found.push({ changed, rank });
    }
    const [first] = found;
    if (first === undefined) return undefined;
    const rank = median(found.map((one) => one.rank));
    const towards = median(found.map(({ changed }) => cosine(changed.found, changed.change)));
    return {
      tensors: found.map(({ changed }) => changed.sample.name),
      figures: {
        rank,
        expectedRank: first.changed.rank ?? 0,
        cosine: figure(towards),
        tensors: found.length,
      },
      sentence: sentence(rank, first.changed.rank ?? 0, found.length),
    };
  });

export const adapterOfOtherRank = otherAdapter(
  'adapter_of_other_rank',
  (rank, wanted) => rank !== wanted,
  (rank, wanted, count) =>
    `${counted(count, 'tensor')} have a change of rank ${rank} added to the base, and the adapter is of rank ${wanted}: another adapter, or a part of this one`,
);

export const otherAdapterApplied = otherAdapter(
  'other_adapter',
  (rank, wanted) => rank === wanted,
  (rank, _, count) =>
    `${counted(count, 'tensor')} have a change of rank ${rank} added to the base that is not this adapter’s: another adapter was applied`,
);

/** Another base was used: tensors that the adapter does not change differ from the base too. */
export const anotherBaseOfAdapter = fault('another_base', async (evidence, names) => {
  const pair = adapterOf(evidence);
  if (pair === undefined) return undefined;
  const samples = (await evidence.sampled(names)).filter(
    ({ found, wanted, grain, name }) =>
      pair.adapted.isChanged(name) === undefined && beyondRounding(found, wanted, grain) > 0,
  );
  if (samples.length === 0) return undefined;
  const changed = (await changedIn(evidence, names)).filter(({ isExplained }) => !isExplained);
  const along = changed.filter(({ factor }) => Math.abs(factor) > 0.5).length;
  const wrong = new Set(names);
  const untouched = [...evidence.expected.keys()].filter(
    (name) => pair.adapted.isChanged(name) === undefined,
  );
  if (untouched.filter((name) => wrong.has(name)).length < untouched.length / 2) return undefined;
  return {
    tensors: [...samples, ...changed.map(({ sample }) => sample)].map(({ name }) => name),
    figures: { untouched: samples.length, adapted: changed.length, withChange: along },
    sentence: `${counted(samples.length, 'tensor')} that the adapter does not change differ from ${pair.base.name}: the output is of another base, or was trained further`,
  };
});

export const doraIgnored = fault('dora_magnitude_ignored', async (evidence, names) => {
  const pair = adapterOf(evidence);
  if (pair === undefined) return undefined;
  const found: string[] = [];
  for (const sample of await evidence.sampled(names)) {
    const plain = pair.adapted.withoutMagnitudes(sample.name);
    if (plain === undefined) continue;
    const values = await evidence.read(plain, sample.shape, sample.slices);
    if (
      isCopy(sample.found, values, sample.dtype) ||
      fits(sample.found, values, sample.grain, [...sample.sources.values()])
    )
      found.push(sample.name);
  }
  return finding(
    found,
    `the adapter’s magnitudes (DoRA) were ignored in ${counted(found.length, 'tensor')}: only the product B · A was added`,
  );
});
