import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyze, layerSwap, revert, soup } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_FAMILIES: only, LAYERLOOM_SENTENCES: sentences } = process.env;

const script = fileURLToPath(new URL('families/check.py', import.meta.url));
const run = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(python ?? '', [script, ...args], { maxBuffer: 2 ** 26 })).stdout;

interface Made {
  readonly name: string;
  readonly stacks: Readonly<Record<string, number>>;
  readonly diffusion: boolean;
}

describe.skipIf(!python)('families by transformers (LAYERLOOM_PYTHON)', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-families-'));
  let made: Made[] = [];

  beforeAll(async () => {
    const lines = await run('make', root, ...(only?.split(' ') ?? []));
    made = lines
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Made);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('are merged as NumPy merges them, analysed, and loaded without a missing or unexpected key', async () => {
    expect(made.length).toBeGreaterThan(0);
    const pairs: string[] = [];
    for (const { name, stacks, diffusion } of made) {
      const at = (what: string) => join(root, name, what);
      const [base, a, b] = [at('base'), at('a'), at('b')];
      const layout = diffusion ? 'size' : 'layer';
      await soup({ models: [a, b] }, { out: at('soup'), layout });
      for (const stack of Object.keys(stacks)) {
        pairs.push(`${name}=${stack}`);
        const chosen = Object.keys(stacks).length > 1 ? stack : undefined;
        const counts = { stack: chosen, bottom: 1, top: 1 };
        const swapped = { task: a, language: b, ...counts, bottomTransition: 1 };
        const { warnings } = await layerSwap(swapped, { out: at(`swap-${stack}`), layout });
        expect(warnings.filter((warning) => /not one layerloom knows/.test(warning))).toEqual([]);
        await revert({ base, model: a, ...counts }, { out: at(`revert-${stack}`), layout });
        const { experts } = await analyze(
          { base, experts: [a], stack: chosen },
          { out: at(`analysis-${stack}`) },
        );
        const numbers = Object.values(experts[0]?.tensors ?? {}).flatMap(({ layer }) => layer ?? []);
        expect([name, Math.max(...numbers) + 1]).toEqual([name, stacks[stack]]);
      }
    }
    const lines = (await run('compare', root, ...pairs))
      .split('\n')
      .filter((line) => /^(ok|failed)/.test(line));
    expect(lines.filter((line) => line.startsWith('failed'))).toEqual([]);
    expect(lines).toHaveLength(pairs.length);
  });
});

describe.skipIf(!python || !sentences)(
  'sentence-transformers (LAYERLOOM_PYTHON, LAYERLOOM_SENTENCES)',
  () => {
    const script = fileURLToPath(new URL('families/sentences.py', import.meta.url));
    const call = async (...args: string[]) =>
      (await promisify(execFile)(python ?? '', [script, ...args], { maxBuffer: 2 ** 26 })).stdout;

    it('loads merges, whose embeddings are those of models that PyTorch merged', async () => {
      const root = mkdtempSync(join(tmpdir(), 'layerloom-sentences-'));
      try {
        await call('make', sentences ?? '', root);
        for (const kind of ['plain', 'dense']) {
          const at = (what: string) => join(root, kind, what);
          const [a, b] = [at('a'), at('b')];
          const made = await soup({ models: [a, b] }, { out: at('soup') });
          expect(made.warnings).toEqual([]);
          await layerSwap(
            { task: a, language: b, bottom: 1, top: 1, bottomTransition: 1 },
            { out: at('swap') },
          );
          for (const what of ['soup', 'swap'])
            expect(await call('compare', root, kind, what)).toMatch(/^ok: /m);
        }
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    });
  },
);
