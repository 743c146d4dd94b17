import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import { formatPercent, inWords } from '../../../core/base/format.js';
import type { ExpertRoles } from '../../../core/measure/analysis/advice/expert-roles.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import type { Shares } from '../../../core/measure/analysis/shares.js';
import type { Side } from '../../../core/methods/framework/part-names.js';
import { groupsOfPairs, isNamedByRoles } from '../components/data/pair-groups.js';

/** A share that differs from an even spread by less than this fraction counts as even. */
const even = 0.1;

const inSwap: Readonly<Record<Side, Readonly<Record<How, string>>>> = {
  task: {
    less: "a swap replaces these by the language expert's, and keeps the layers changed most",
    more: "a swap replaces these by the language expert's, and with them much of what was learnt; try fewer (--bottom, --top)",
    same: "a swap replaces these by the language expert's",
  },
  language: {
    less: 'a swap takes these, but leaves out the layers changed most',
    more: 'a swap takes these, which hold much of what was learnt',
    same: 'a swap takes these',
  },
};

type How = 'less' | 'more' | 'same';

interface Finding {
  readonly name: string;
  readonly role: Side | undefined;
  /** `nothing`: no layer changed; `no others`: no layers lie between the first and the last ones. */
  readonly how: How | 'nothing' | 'no others';
  readonly share: number;
  readonly whole: Readonly<Record<'ends' | 'middle' | 'outside', number>>;
}

const spanned = (values: readonly number[], show: (value: number) => string): string => {
  const [least, most] = [show(Math.min(...values)), show(Math.max(...values))];
  return least === most ? least : `${least} to ${most}`;
};

const findingOf = (
  { name, layers, bottom: first, middle, top: last, outside }: Shares & { readonly name: string },
  role: Side | undefined,
  counted: number,
): Finding => {
  const changed = layers.reduce((a, b) => a + b, 0);
  const facts = { name, role, whole: { ends: first + last, middle, outside } };
  if (changed === 0) return { ...facts, how: 'nothing', share: 0 };
  const share = (first + last) / changed;
  if (layers.length <= counted) return { ...facts, how: 'no others', share };
  const spread = counted / layers.length;
  const how = share < spread * (1 - even) ? 'less' : share > spread * (1 + even) ? 'more' : 'same';
  return { ...facts, how, share };
};

const sentenceOf = (
  findings: readonly Finding[],
  { bottom, top, layers }: { readonly bottom: number; readonly top: number; readonly layers: number },
): string => {
  const { role, how } = itemAt(findings, 0);
  const [names, isOne] = [inWords(findings.map(({ name }) => name)), findings.length === 1];
  if (how === 'nothing') return `${names} changed no layer.`;
  if (how === 'no others')
    return `${names} ${isOne ? 'has' : 'have'} no layers other than ${isOne ? 'its' : 'their'} first ${bottom} and last ${top}.`;
  const share = spanned(
    findings.map((finding) => finding.share),
    formatPercent,
  );
  const spread = formatPercent(Math.min(1, (bottom + top) / layers));
  const named = role === undefined ? names : `${names} (${role} ${isOne ? 'expert' : 'experts'})`;
  return [
    `${named} changed ${isOne ? 'its' : 'their'} first ${bottom} and last ${top} layers`,
    how === 'same' ? 'as much as' : `${how} than`,
    `the others (${spread} of the layers, ${share} of the change in layers)${role === undefined ? '' : `: ${inSwap[role][how]} (${ofWhole(findings, role)})`}.`,
  ].join(' ');
};

/**
 * Describes how much of the change a swap keeps, drops and averages. The swap has no transition layers, and
 * averages tensors outside the layers.
 */
const ofWhole = (findings: readonly Finding[], role: Side): string => {
  const percentOf = (part: keyof Finding['whole']): string =>
    spanned(
      findings.map(({ whole }) => whole[part]),
      formatPercent,
    );
  const [kept, dropped] = role === 'task' ? (['middle', 'ends'] as const) : (['ends', 'middle'] as const);
  return `of the whole change it keeps ${percentOf(kept)}, drops ${percentOf(dropped)} and averages ${percentOf('outside')}`;
};

interface ModuleFinding extends NonNullable<Shares['modules']> {
  readonly name: string;
  readonly how: How;
}

const moduleFinding = (name: string, modules: Shares['modules']): ModuleFinding[] => {
  if (modules === undefined || modules.attention + modules.feedForward === 0) return [];
  const { attention, feedForward } = modules;
  const how =
    attention > feedForward * (1 + even) ? 'more' : attention < feedForward * (1 - even) ? 'less' : 'same';
  return [{ name, how, attention, feedForward }];
};

const moduleSentence = (findings: readonly ModuleFinding[]): string => {
  const { how } = itemAt(findings, 0);
  const mavs = (kind: keyof NonNullable<Shares['modules']>) =>
    spanned(
      findings.map((finding) => finding[kind]),
      (mav) => mav.toExponential(1),
    );
  return [
    `${inWords(findings.map(({ name }) => name))} changed attention`,
    how === 'same' ? 'as much as' : `${how} than`,
    `feed-forward (mean MAV of their rows in the layers: ${mavs('attention')} against ${mavs('feedForward')}).`,
  ].join(' ');
};

interface PairOf {
  readonly pair: string;
  readonly experts: readonly [string, string];
}

const rolesNamed = (
  pairs: readonly PairOf[],
  all: readonly PairOf[],
  roles: ExpertRoles,
): string | undefined => {
  const groups = groupsOfPairs(all, Object.fromEntries(roles));
  const own = groups.filter((group) => group.pairs.some((pair) => pairs.includes(pair)));
  const isWhole = own.every((group) => group.pairs.every((pair) => pairs.includes(pair)));
  const words = own.flatMap(({ title, pairs: of }) =>
    title === null || !isNamedByRoles(title) || of.length < 2
      ? []
      : [`${of.length} pairs of ${title.charAt(0).toLowerCase()}${title.slice(1)}`],
  );
  return isWhole && words.length === own.length ? `The ${inWords(words)}` : undefined;
};

const pairsNamed = (of: readonly PairOf[], allPairs: readonly PairOf[], roles: ExpertRoles): string => {
  const pairs = of.map(({ pair }) => pair);
  const all = allPairs.length;
  if (pairs.length === 1) return pairs.join();
  if (pairs.length === all) return all === 2 ? 'Both pairs' : `All ${all} pairs`;
  const byRoles = rolesNamed(of, allPairs, roles);
  if (byRoles !== undefined) return byRoles;
  const [named, rest] = [pairs.slice(0, 3), pairs.length - 3];
  return `${pairs.length} of ${all} pairs (${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''})`;
};

type Direction = 'nothing' | 'independent' | 'related';

const directionOf = ({ experts, parts, whole }: Overlap) => {
  const cosines = parts.flatMap(({ layer, cosine }) => (layer === null || cosine === null ? [] : [cosine]));
  const mean = cosines.reduce((a, b) => a + b, 0) / cosines.length;
  const direction: Direction = cosines.length === 0 ? 'nothing' : mean < 0.1 ? 'independent' : 'related';
  return { pair: experts.join(' and '), experts, mean, whole: whole.cosine, direction };
};

const pairSentence = (
  pairs: readonly ReturnType<typeof directionOf>[],
  all: readonly PairOf[],
  roles: ExpertRoles,
): string => {
  const names = pairsNamed(pairs, all, roles);
  const mean = spanned(
    pairs.map((of) => of.mean),
    (value) => value.toFixed(3),
  );
  const wholes = pairs.flatMap((of) => of.whole ?? []);
  const whole =
    wholes.length === 0 ? '' : `, ${spanned(wholes, (value) => value.toFixed(3))} of the whole model`;
  const number = `mean cosine ${mean} over the layers${whole}`;
  const said: Readonly<Record<Direction, string>> = {
    nothing: `${names} changed no layer in common.`,
    independent: `${names} changed the layers in nearly independent directions (${number}): in each layer, an average keeps about half of each change; a swap keeps all of one and nothing of the other.`,
    related: `${names} changed the layers in related directions (${number}): averaging keeps what they have in common.`,
  };
  return said[itemAt(pairs, 0).direction];
};

interface AdvisedExperts {
  readonly shares: readonly (Shares & { readonly name: string })[];
  readonly overlaps: readonly Overlap[];
  readonly roles: ExpertRoles;
}

/**
 * Describes where the experts changed their layers, how much of this a layer swap keeps, and whose changes
 * have a common direction. Experts and pairs with equal findings share a sentence.
 */
export const advice = (
  { shares, overlaps, roles }: AdvisedExperts,
  bottom: number,
  top: number,
): string[] => {
  const findings = shares.map((own) => findingOf(own, roles.get(own.name), bottom + top));
  const pairs = overlaps.map(directionOf);
  const layers = shares[0]?.layers.length ?? 0;
  const modules = shares.flatMap(({ name, modules: of }) => moduleFinding(name, of));
  return [
    ...[...groupBy(findings, ({ role, how }) => `${role} ${how}`).values()].map((of) =>
      sentenceOf(of, { bottom, top, layers }),
    ),
    ...[...groupBy(modules, ({ how }) => how).values()].map(moduleSentence),
    ...[...groupBy(pairs, ({ direction }) => direction).values()].map((of) => pairSentence(of, pairs, roles)),
  ];
};
