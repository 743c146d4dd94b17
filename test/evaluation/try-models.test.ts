import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { describeTrials } from '../../src/cli/text/studies/trials-text.js';
import { LayerloomError, tryModels } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { standIn } from '../fixtures/evaluation-errors.js';

vi.setConfig({ testTimeout: 60_000 });

const models = (): [string, string] => {
  const root = temporaryDirectory();
  return [1, 2].map((seed) => writeCheckpoint(join(root, `model-${seed}`), llama({ layers: 2, seed }))) as [
    string,
    string,
  ];
};

const prompt = 'What is 3 + 4?';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a prompt for several models', () => {
  it('is answered by one process, which loads what differs', async () => {
    const [a, b] = models();
    const held = join(temporaryDirectory(), 'held');
    vi.stubEnv('STUB_HELD', held);
    const trials = await tryModels([a, b, a, a], prompt, { lmEval: standIn });
    expect(trials.map(({ model, text }) => [model, text])).toEqual(
      [a, b, a, a].map((model) => [model, `${prompt} 七`]),
    );
    const bytes = trials.map(({ weights }) => weights?.bytes ?? 0);
    expect(bytes[0]).toBeGreaterThan(0);
    expect(bytes.at(-1)).toBe(0);
    expect(readFileSync(held, 'utf8').match(/model-/g)).toHaveLength(4);
  });

  it.each([
    [{}, 'no-such-command', 'HARNESS_MISSING'],
    [{ STUB_VERSION: '0.5.0' }, standIn, 'HARNESS_MISSING'],
    [{ STUB_CRASH: prompt }, standIn, 'HARNESS_FAILED'],
    [{ STUB_FAULT: 'lost' }, standIn, 'WEIGHTS_DIFFER'],
  ])('fails where it cannot be answered: %o', async (environment, lmEval, code) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const error = await tryModels(models(), prompt, { lmEval }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LayerloomError);
    const { details, ...rest } = error as LayerloomError;
    expect(rest.code).toBe(code);
    const { log } = details as { log?: string };
    if (log !== undefined) expect(existsSync(dirname(log))).toBe(true);
  });

  it('needs a model before the prompt', async () => {
    const { code, stderr } = await cli(['try', prompt]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/one model or several, and then the prompt/)]);
    expect((await cli(['try', './absent', prompt])).code).toBe(3);
  });
});

describe('answers', () => {
  const trial = (model: string, text: string) => ({ model, text, seconds: 1.25, weights: null });
  const widthOf = (line: string) =>
    [...line].reduce((sum, each) => sum + (/[\u3000-\u9fff]/.test(each) ? 2 : 1), 0);

  it.each([40, 80, 200])('fit a terminal of %i columns, also where no space is', (width) => {
    const trials = [trial('./a', '林檎'.repeat(60)), trial('./b', 'word '.repeat(40)), trial('./c', ' ')];
    const lines = describeTrials(trials, width).split('\n');
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
    expect(lines.join('').match(/[林檎]/g)).toHaveLength(120);
    expect(lines.join('')).toContain('(nothing but spaces)');
  });
});
