import type { PageAnalysis } from './data.js';

export interface PairGroup<Pair> {
  /** Heading; null if no expert has a role and there is only one group. */
  readonly title: string | null;
  readonly isOpen: boolean;
  readonly pairs: readonly Pair[];
}

const titles: readonly (readonly [key: string, title: string])[] = [
  ['language task', 'A task and a language expert'],
  ['task task', 'Two task experts'],
  ['language language', 'Two language experts'],
];

export const isNamedByRoles = (title: string): boolean => titles.some(([, known]) => known === title);

/** Groups pairs by their experts' roles: first pairs that a layer swap merges, last those without a role. */
export const groupsOfPairs = <Pair extends { readonly experts: readonly [string, string] }>(
  pairs: readonly Pair[],
  roles: PageAnalysis['roles'],
): PairGroup<Pair>[] => {
  const keyOf = ({ experts }: Pair) =>
    experts
      .map((name) => (Object.hasOwn(roles, name) ? (roles[name] ?? '') : ''))
      .sort()
      .join(' ');
  const known = titles.map(([key]) => key);
  const groups = [
    ...titles.map(([key, title]) => ({ title, pairs: pairs.filter((pair) => keyOf(pair) === key) })),
    { title: 'Other pairs', pairs: pairs.filter((pair) => !known.includes(keyOf(pair))) },
  ].filter((group) => group.pairs.length > 0);
  const isOne = groups.length === 1;
  return groups.map((group, index) => ({
    ...group,
    title: isOne ? null : group.title,
    isOpen: index === 0,
  }));
};
