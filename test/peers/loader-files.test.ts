import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { mayStand } from '../../src/core/measure/verification/may-stand.js';

// Compares names that may be added to an output with file names in the sources of programs that load models.

const { LAYERLOOM_PYTHON: python } = process.env;

const packages = [
  'transformers',
  'tokenizers',
  'peft',
  'accelerate',
  'gguf',
  'safetensors',
  'mistral_common',
];
const others = [
  'sentence_transformers',
  'diffusers',
  'vllm',
  'sglang',
  'auto_gptq',
  'exllamav2',
  'mlx_lm',
  'optimum',
];

describe.skipIf(python === undefined)('the list of what may stand in an output', () => {
  it('has no name of a file that is in the source of a loader, the card aside', async () => {
    const script = fileURLToPath(new URL('loader_files.py', import.meta.url));
    const { stdout } = await promisify(execFile)(python ?? '', [script, ...packages, ...others], {
      maxBuffer: 2 ** 26,
    });
    const found = Object.entries(JSON.parse(stdout) as Record<string, string[]>);
    expect(found.map(([name]) => name)).toContain('transformers');
    expect(found.flatMap(([, names]) => names).length).toBeGreaterThan(1000);
    const allowed = found.flatMap(([name, names]) =>
      names
        .flatMap((each) => [each, each.replaceAll('*', 'model'), each.split('/').at(-1) ?? ''])
        .filter(mayStand)
        .map((each) => `${name}: ${each}`),
    );
    expect(allowed.filter((each) => !each.endsWith(': README.md'))).toEqual([]);
  });
});
