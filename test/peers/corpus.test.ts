import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
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
  /** The dtypes of a tensor, if mergekit's merge of the unchanged recipe has another. */
  readonly dtype?: string;
  readonly reordered: boolean;
  readonly elements: number;
  readonly differing: number;
  readonly beyond: number;
  readonly theirs: number;
  readonly ours: number;
}

/** Recipes that mergekit accepts but layerloom refuses, or merges differently, each with the reason. */
const known = JSON.parse(readFileSync(at('recipes/known.json'), 'utf8')) as {
  readonly refused: Readonly<Record<string, string>>;
  readonly different: Readonly<Record<string, string>>;
};

/** Share of elements that may differ by more than one unit: undecided by thresholds, or cancelled sums. */
const mostBeyond = 1e-3;
/** Largest relative difference between sums of squared changes of two random merges: five standard errors. */
const mostRandom = 0.15;

const isRandom = ({ methods }: Peer) => methods.some((method) => /^(dare|della)/.test(method));

const verdict = (peer: Peer, compared: Compared | undefined): string => {
  if (compared === undefined) return '';
  if (compared.structure !== undefined) return `no: ${compared.structure}`;
  if (compared.dtype !== undefined) return `no: ${compared.dtype}`;
  const order = compared.reordered ? ', tokens in another order' : '';
  if (isRandom(peer))
    return Math.abs(compared.ours / compared.theirs - 1) <= mostRandom
      ? `alike (random${order})`
      : 'no: another spread';
  const { differing, beyond, elements } = compared;
  const apart = `${differing} of ${elements} one unit apart, ${beyond} further${order}`;
  return beyond / elements <= mostBeyond ? `yes (${apart})` : `no: ${apart}`;
};

interface Row {
  /** The recipe's name; with `, own tokens` if its models have some. */
  readonly name: string;
  readonly peer: string;
  readonly own: string;
  readonly equal: string;
}

/**
 * Runs recipes in both programs.
 *
 * @param ownTokens true to give all models except bases two tokens that their base lacks
 */
const runBoth = async (names: readonly string[], root: string, ownTokens: boolean): Promise<Row[]> => {
  mkdirSync(root, { recursive: true });
  const script = (...args: string[]) =>
    run(python ?? '', at('corpus/mergekit_corpus.py'), ...(ownTokens ? ['--own-tokens'] : []), ...args);
  const pairs = names.map((name) => `${name}=${at(`recipes/${name}.yaml`)}`);
  const peers = (await script('merge', root, ...pairs)) as Record<string, Peer>;
  for (const name of names) rmSync(join(root, name, 'ours'), { recursive: true, force: true });
  const merged = await run('node', at('corpus/merge-corpus.mjs'), at('../../dist'), root, ...names);
  const ours = merged as Record<string, Ours>;
  const both = names.filter((name) => peers[name]?.refused === null && ours[name]?.refused === undefined);
  const compared = (await script('compare', root, ...both)) as Record<string, Compared>;
  return names.map((name) => {
    const peer = peers[name] as Peer;
    const own = ours[name] as Ours;
    return {
      name: ownTokens ? `${name}, own tokens` : name,
      peer: peer.refused === null ? 'taken' : `refused: ${peer.refused.slice(0, 140)}`,
      own: own.refused === undefined ? 'taken' : `refused: ${own.refused.slice(0, 160)}`,
      equal: verdict(peer, compared[name]),
    };
  });
};

const expectKnown = (rows: readonly Row[]): void => {
  const taken = rows.filter(({ peer }) => peer === 'taken');
  const refused = taken.filter(({ own }) => own !== 'taken');
  const different = taken.filter(({ equal }) => equal.startsWith('no'));
  const names = (of: readonly Row[]) => of.map(({ name }) => name);
  const listed = (of: object) => Object.keys(of).filter((name) => names(rows).includes(name));
  expect(names(refused).sort(), JSON.stringify(refused)).toEqual(listed(known.refused).sort());
  expect(names(different).sort(), JSON.stringify(different)).toEqual(listed(known.different).sort());
};

const tables: string[] = [];

afterAll(() => {
  if (tablePath !== undefined && tables.length > 0)
    writeFileSync(tablePath, `# What both programs make of the recipes\n\n${tables.join('\n')}`);
});

const hour = 3_600_000;

describe.skipIf(!hasMergekit)('recipes written by others (LAYERLOOM_PYTHON with mergekit)', () => {
  const names = readdirSync(at('recipes'))
    .filter((name) => name.endsWith('.yaml') && name.includes(only))
    .map((name) => name.replace('.yaml', ''));
  const root = work ?? temporaryDirectory();

  it(
    'are taken where mergekit takes them, and merged to the same numbers',
    async () => {
      const rows = await runBoth(names, join(root, 'same'), false);
      tables.push(tableOf('All recipes, over models of one vocabulary', rows));
      expectKnown(rows);
    },
    hour,
  );

  it(
    'give the same vocabulary, embeddings and heads where models have tokens of their own',
    async () => {
      const withTokenizer = names.filter((name) =>
        /^tokenizer/m.test(readFileSync(at(`recipes/${name}.yaml`), 'utf8')),
      );
      const rows = await runBoth(withTokenizer, join(root, 'own'), true);
      tables.push(tableOf('Recipes with a tokenizer, over models with two tokens of their own', rows));
      expectKnown(rows);
    },
    hour,
  );
});

const cell = (text: string) =>
  text
    .replace(/\/\S*\/(own|same)\//g, '')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll('<', '&lt;');

const tableOf = (title: string, rows: readonly Row[]): string => {
  const taken = rows.filter(({ peer }) => peer === 'taken');
  const also = taken.filter(({ own }) => own === 'taken');
  const equal = also.filter(({ equal }) => !equal.startsWith('no'));
  const lines = rows.map(({ name, peer, own, equal }) => {
    const file = name.replace(/,.*/, '');
    const reason = known.refused[name] ?? known.different[name] ?? '';
    return `| ${[`[${file}](${file}.yaml)`, peer, own, equal, reason].map(cell).join(' | ')} |`;
  });
  return `## ${title}

Of ${rows.length} recipes mergekit 0.1.5 takes ${taken.length}. Of these layerloom takes ${also.length}, and gives the same in ${equal.length}: tensors, shapes, dtypes and
tokens, and at most ${mostBeyond} of the elements further than one unit in the last place apart (mergekit computing in float32); in random methods the
same sum of squared changes within ${mostRandom * 100} %.

| recipe | mergekit | layerloom | equal | reason |
| --- | --- | --- | --- | --- |
${lines.join('\n')}
`;
};
