import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const {
  LAYERLOOM_PYTHON: python,
  LAYERLOOM_CORPUS_TABLE: tablePath,
  LAYERLOOM_CORPUS_WORK: work,
  LAYERLOOM_CORPUS_ONLY: only = '',
} = process.env;

const hasMergekit = python !== undefined && spawnSync(python, ['-c', 'import mergekit']).status === 0;

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const run = async (program: string, ...args: string[]): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(program, args, {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout);
};

interface Peer {
  readonly refused: string | null;
  readonly methods: readonly string[];
}
interface Ours {
  readonly refused?: string;
  readonly warnings: readonly string[];
}
interface Compared {
  /** Tensors or shapes that differ. */
  readonly structure?: string;
  /** The dtypes of a tensor, where mergekit's merge of the recipe as it is has another. */
  readonly dtype?: string;
  readonly elements: number;
  readonly differing: number;
  readonly beyond: number;
  readonly theirs: number;
  readonly ours: number;
}

/** Recipes that mergekit takes and layerloom refuses, or merges to other numbers, each with the reason. */
const known = JSON.parse(readFileSync(at('recipes/known.json'), 'utf8')) as {
  readonly refused: Readonly<Record<string, string>>;
  readonly different: Readonly<Record<string, string>>;
};

/** Share of elements that may be further apart than one unit: undecided ones of thresholds, and cancelled sums. */
const mostBeyond = 1e-3;
/** Relative difference that the sums of squared changes of two random merges may have: five standard errors. */
const mostRandom = 0.15;

const isRandom = ({ methods }: Peer) => methods.some((method) => /^(dare|della)/.test(method));

const verdict = (peer: Peer, compared: Compared | undefined): string => {
  if (compared === undefined) return '';
  if (compared.structure !== undefined) return `no: ${compared.structure}`;
  if (compared.dtype !== undefined) return `no: ${compared.dtype}`;
  if (isRandom(peer))
    return Math.abs(compared.ours / compared.theirs - 1) <= mostRandom
      ? 'alike (random)'
      : 'no: another spread';
  const { differing, beyond, elements } = compared;
  const apart = `${differing} of ${elements} one unit apart, ${beyond} further`;
  return beyond / elements <= mostBeyond ? `yes (${apart})` : `no: ${apart}`;
};

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

describe.skipIf(!hasMergekit)('recipes written by others (LAYERLOOM_PYTHON with mergekit)', () => {
  it('are taken where mergekit takes them, and merged to the same numbers', async () => {
    const files = readdirSync(at('recipes')).filter((name) => name.endsWith('.yaml') && name.includes(only));
    const names = files.map((name) => name.replace('.yaml', ''));
    const root = work ?? temporaryDirectory();
    mkdirSync(root, { recursive: true });
    const script = at('corpus/mergekit_corpus.py');
    const pairs = names.map((name) => `${name}=${at(`recipes/${name}.yaml`)}`);
    const peers = (await run(python ?? '', script, 'merge', root, ...pairs)) as Record<string, Peer>;
    for (const name of names) rmSync(join(root, name, 'ours'), { recursive: true, force: true });
    const dist = at('../../dist');
    const ours = (await run('node', at('corpus/merge-corpus.mjs'), dist, root, ...names)) as Record<
      string,
      Ours
    >;
    const both = names.filter((name) => peers[name]?.refused === null && ours[name]?.refused === undefined);
    const compared = (await run(python ?? '', script, 'compare', root, ...both)) as Record<string, Compared>;

    const rows = names.map((name) => {
      const peer = peers[name] as Peer;
      const own = ours[name] as Ours;
      const reason = known.refused[name] ?? known.different[name] ?? '';
      return {
        name,
        peer: peer.refused === null ? 'taken' : `refused: ${peer.refused.slice(0, 140)}`,
        own: own.refused === undefined ? 'taken' : `refused: ${own.refused.slice(0, 200)}`,
        equal: verdict(peer, compared[name]),
        reason,
      };
    });
    if (tablePath !== undefined) writeFileSync(tablePath, tableOf(rows));
    const takenByPeer = rows.filter(({ peer }) => peer === 'taken');
    const unlike = (test: (row: (typeof rows)[number]) => boolean) =>
      takenByPeer.filter(test).map(({ name, own, equal }) => `${name}: ${own}; ${equal}`);
    const isKnown = (of: object, name: string) => name in of;
    expect(
      unlike(({ name, own }) => own !== 'taken' && !isKnown(known.refused, name)),
      'refused, though mergekit takes them',
    ).toEqual([]);
    expect(
      unlike(({ name, equal }) => equal.startsWith('no') && !isKnown(known.different, name)),
      'merged to other numbers',
    ).toEqual([]);
    const taken = new Set(takenByPeer.filter(({ own }) => own === 'taken').map(({ name }) => name));
    expect(
      names.filter((name) => isKnown(known.refused, name) && taken.has(name)),
      'listed in known.json as refused, and taken',
    ).toEqual([]);
    for (const name of names) expect(existsSync(join(root, name)), name).toBe(true);
  }, 3_600_000);
});

const tableOf = (
  rows: readonly { name: string; peer: string; own: string; equal: string; reason: string }[],
): string => {
  const taken = rows.filter(({ peer }) => peer === 'taken');
  const also = taken.filter(({ own }) => own === 'taken');
  const equal = also.filter(({ equal }) => !equal.startsWith('no'));
  const lines = rows.map(
    ({ name, peer, own, equal, reason }) =>
      `| ${[`[${name}](${name}.yaml)`, peer, own, equal, reason].map(cell).join(' | ')} |`,
  );
  return `# What both programs make of the recipes

Of ${rows.length} recipes mergekit 0.1.5 takes ${taken.length}. Of these layerloom takes ${also.length}, and gives the same in ${equal.length}: at most ${mostBeyond} of the elements
further than one unit in the last place apart (mergekit computing in float32), or in random methods the same tensors and spread.

| recipe | mergekit | layerloom | equal | reason |
| --- | --- | --- | --- | --- |
${lines.join('\n')}
`;
};
