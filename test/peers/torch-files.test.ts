import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { analyze, diff, layerSwap, openCheckpoint, soup } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_EXPERTS: experts } = process.env;

const script = fileURLToPath(new URL('torch_files.py', import.meta.url));
const run = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(python ?? '', ['-W', 'ignore', script, ...args], { maxBuffer: 2 ** 26 })).stdout;

const root = mkdtempSync(join(tmpdir(), 'layerloom-torch-files-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Made {
  readonly accepted: Record<string, Record<string, { shape: number[]; sha256: string }>>;
  readonly refused: readonly string[];
}

describe.skipIf(!python)('files of torch.save (LAYERLOOM_PYTHON)', () => {
  it('have the tensors that torch says, or are refused and run nothing', async () => {
    const { accepted, refused } = JSON.parse(await run('make', root)) as Made;
    for (const [name, said] of Object.entries(accepted)) {
      const bytes = readFileSync(join(root, name));
      const { tensors } = await openCheckpoint(join(root, name));
      const read = [...tensors].map(([tensor, { shape, begin, end }]) => [
        tensor,
        { shape, sha256: createHash('sha256').update(bytes.subarray(begin, end)).digest('hex') },
      ]);
      expect([name, Object.fromEntries(read)]).toEqual([name, said]);
    }
    const codes: Record<string, string> = {};
    for (const name of refused)
      codes[name] = await openCheckpoint(join(root, name)).then(
        () => 'accepted',
        (error: { code: string }) => error.code,
      );
    expect(codes).toEqual({
      'transposed.bin': 'WEIGHTS_UNSUPPORTED',
      'column.bin': 'WEIGHTS_UNSUPPORTED',
      'expanded.bin': 'WEIGHTS_UNSUPPORTED',
      'negative.bin': 'WEIGHTS_UNSUPPORTED',
      'sparse.bin': 'PICKLE_RUNS_CODE',
      'quantised.bin': 'PICKLE_RUNS_CODE',
      'complex.bin': 'WEIGHTS_UNSUPPORTED',
      'optimizer.pt': 'WEIGHTS_UNSUPPORTED',
      'whole-module.pt': 'PICKLE_RUNS_CODE',
      'namespace.pt': 'PICKLE_RUNS_CODE',
      'protocol-4.bin': 'WEIGHTS_UNSUPPORTED',
      'legacy.bin': 'WEIGHTS_UNSUPPORTED',
      'code.bin': 'PICKLE_RUNS_CODE',
      'code-4.bin': 'WEIGHTS_UNSUPPORTED',
      'code-legacy.bin': 'WEIGHTS_UNSUPPORTED',
      'script.pt': 'WEIGHTS_UNSUPPORTED',
    });
    expect(existsSync(join(root, 'ran'))).toBe(false);
  });
});

const hashes = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => name.endsWith('.safetensors'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex'),
      ]),
  );

describe.skipIf(!python || !experts)(
  'real experts as files of torch.save (LAYERLOOM_PYTHON, LAYERLOOM_EXPERTS)',
  () => {
    it.each([1, 3])(
      'in %d files are merged, analysed and compared like their safetensors',
      async (shards) => {
        const names = ['base', 'math-1', 'jpn-1'];
        const at = (what: string) => join(root, String(shards), what);
        for (const name of names) await run('convert', join(experts ?? '', name), at(name), String(shards));
        const results = [];
        for (const kind of ['torch', 'plain']) {
          const [base = '', task = '', language = ''] = names.map((name) =>
            kind === 'torch' ? at(name) : join(experts ?? '', name),
          );
          const out = (what: string) => at(`${kind}-${what}`);
          await layerSwap({ task, language, bottom: 5, top: 2 }, { out: out('swap') });
          await soup({ models: [task, language] }, { out: out('soup') });
          const analysed = await analyze({ base, experts: [task, language] }, { out: out('analysis') });
          const { tensors } = await diff(task, language);
          results.push([
            hashes(out('swap')),
            hashes(out('soup')),
            analysed.experts.map((expert) => expert.tensors),
            tensors.map(({ name, state, difference }) => ({ name, state, difference })),
          ]);
          for (const what of ['swap', 'soup']) rmSync(out(what), { recursive: true });
        }
        expect(results[0]).toEqual(results[1]);
        expect((await diff(at('math-1'), join(experts ?? '', 'math-1'))).equal).toBe(true);
        rmSync(join(root, String(shards)), { recursive: true });
      },
    );
  },
);
