import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { LayerloomError, verify } from '../../src/index.js';

// Compares merges of other programs with their own statements, and merges that have one fault each.

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPeers =
  python !== '' && spawnSync(python, ['-c', 'import mergekit, peft, transformers']).status === 0;
const work = mkdtempSync(join(tmpdir(), 'layerloom-'));

interface Made {
  readonly name: string;
  readonly out: string;
  readonly against: string;
  readonly seed?: number;
  /** mergekit drew random numbers. */
  readonly random?: boolean;
}

const make = (script: string): readonly Made[] => {
  const path = fileURLToPath(new URL(`foreign/${script}`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(python, [path, work], {
    // mergekit numbers the added tokens of a union in the order of a set.
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1', PYTHONHASHSEED: '1' },
    maxBuffer: 2 ** 26,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr.slice(-4000));
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Made);
};

/** Codes that a fault may be given; the first is the best. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  'adapter-not-applied': ['adapter_not_applied'],
  'adapter-applied-twice': ['adapter_twice'],
  'alpha-ignored': ['alpha_ignored'],
  'rslora-ignored': ['rslora_confused'],
  'scale-other': ['wrong_scale'],
  'adapter-subtracted': ['adapter_subtracted'],
  'rank-cut': ['adapter_of_other_rank'],
  'adapter-other': ['other_adapter'],
  'mlp-not-merged': ['adapter_partly_applied'],
  'layers-not-merged': ['adapter_partly_applied'],
  'base-other': ['another_base'],
  'base-in-4-bits': ['quantised_between'],
  'merge-in-8-bits': ['quantised_between'],
  'merge-in-8-bits-by-range': ['quantised_between'],
  'merge-in-fp8': ['quantised_between', 'coarse_rounding'],
  'embeddings-not-merged': ['modules_to_save_ignored'],
  'head-not-merged': ['modules_to_save_ignored'],
  'head-untied-and-stale': ['head_not_merged'],
  'experts-of-a-mean-reordered': ['experts_permuted'],
  'product-transposed': ['adapter_transposed'],
  'biases-not-merged': ['modules_to_save_ignored'],
  'magnitudes-ignored': ['dora_magnitude_ignored'],
  'names-of-the-wrapper': ['ADAPTER_INVALID'],
  'experts-reordered': ['experts_permuted'],
  'expert-halves-exchanged': ['halves_exchanged', 'modules_exchanged'],
  'experts-not-merged': ['adapter_partly_applied'],
  'weights-other': ['wrong_weights'],
  'weights-of-near-experts': ['wrong_weights'],
  'weights-exchanged': ['weights_exchanged'],
  'model-left-out': ['model_left_out'],
  'weights-not-normalised': ['not_normalised'],
  'expert-other': ['unexplained'],
  'ties-without-base': ['base_not_subtracted'],
  'ties-untrimmed': ['density_ignored'],
  'ties-density-other': ['wrong_density'],
  'ties-is-linear': ['linear_instead'],
  'lambda-other': ['wrong_lambda'],
  'arithmetic-base-other': ['another_base'],
  'slerp-reversed': ['interpolation_reversed', 'weights_exchanged'],
  'one-expert-alone': ['input_returned'],
  'layers-exchanged': ['layers_exchanged'],
  'layers-shifted': ['layers_shifted'],
  'layer-missing': ['layers_missing'],
  'layer-twice': ['layers_shifted', 'layers_added'],
  'zone-other': ['boundary_shifted', 'wrong_boundary'],
  'norms-of-an-expert': ['norms_not_merged'],
  'head-of-an-expert': ['head_not_merged'],
  'embeddings-of-an-expert': ['embeddings_not_merged'],
  'bit-flipped': ['few_elements'],
  'tensor-zero': ['zeros'],
  'not-a-number': ['not_finite'],
  'vocabulary-padded': ['vocabulary_padded'],
  'rotary-order-other': ['rows_permuted', 'rows_interleaved'],
  'keys-and-values-exchanged': ['rows_permuted'],
  'rounded-between': ['coarse_rounding', 'rounding'],
  'shard-lost': ['FILE_MISSING'],
};

/** The first fault, or the code of the error if a folder cannot be read as a model. */
const kindOf = async (out: string, against: string): Promise<string> => {
  try {
    const { verdict, fault } = await verify(out, { against });
    return verdict === 'intact' || verdict === 'rounded' ? verdict : (fault?.kind ?? verdict);
  } catch (error) {
    if (error instanceof LayerloomError) return error.code;
    throw error;
  }
};

describe.skipIf(!hasPeers)('foreign merges (LAYERLOOM_PYTHON with mergekit and peft)', () => {
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it('are what they say, whatever program, layout, names and dtype', async () => {
    const merges = make('merges.py');
    expect(merges.length).toBeGreaterThanOrEqual(60);
    for (const { name, out, against, random } of merges) {
      const { verdict } = await verify(out, { against });
      // Random numbers of mergekit cannot be drawn again: no verdict on the elements they decide.
      expect([name, verdict]).toEqual([
        name,
        random ? 'not_comparable' : expect.stringMatching(/^(intact|rounded)$/),
      ]);
    }
  }, 1_800_000);

  it('with a fault are called by its kind, and never intact or rounded', async () => {
    const faults = make('faults.py');
    expect(new Set(faults.map(({ name }) => name))).toEqual(new Set(Object.keys(kinds)));
    expect(faults).toHaveLength(Object.keys(kinds).length * 5);
    const wrong: string[] = [];
    for (const { name, seed, out, against } of faults) {
      const kind = await kindOf(out, against);
      if (kinds[name]?.includes(kind) !== true) wrong.push(`${name} ${seed}: ${kind}`);
    }
    expect(wrong).toEqual([]);
  }, 1_800_000);
});
