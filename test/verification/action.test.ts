import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { attest, layerSwap } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// The composite action: its shell body is run as the runner runs it, with inputs in its environment.

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const text = readFileSync(at('.github/actions/verify/action.yml'), 'utf8');
const action = parse(text) as {
  readonly inputs: Readonly<Record<string, object>>;
  readonly runs: {
    readonly steps: readonly [{ readonly run: string; readonly env: Readonly<Record<string, string>> }];
  };
};
const [{ run, env }] = action.runs.steps;
const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { readonly version: string };

/** Runs the body as the runner does: `bash -eo pipefail` of a file. `npx` is this checkout's program. */
const ran = async (root: string, inputs: Readonly<Record<string, string>>) => {
  const bin = join(root, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, 'npx'),
    `#!/bin/sh\n[ "$1 $2" = "--yes layerloom@${version}" ] || exit 99\nshift 2\nexec "${process.execPath}" "${at('bin/layerloom.cjs')}" "$@"\n`,
  );
  chmodSync(join(bin, 'npx'), 0o755);
  const [body, output] = [join(root, 'body.sh'), join(root, 'output')];
  writeFileSync(body, run);
  writeFileSync(output, '');
  const given = Object.entries(env).map(([name, expression]) => {
    const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(expression)?.[1] ?? '';
    expect(Object.keys(action.inputs)).toContain(input);
    return [name, inputs[input] ?? ''];
  });
  const code = await new Promise<number>((resolve) => {
    execFile(
      'bash',
      ['--noprofile', '--norc', '-eo', 'pipefail', body],
      {
        cwd: root,
        env: {
          ...{ PATH: `${bin}:${process.env['PATH']}`, HOME: root, GITHUB_OUTPUT: output, RUNNER_TEMP: root },
          ...Object.fromEntries(given),
        },
      },
      (error) => resolve(error === null ? 0 : (error.code as number)),
    );
  });
  const outputs = Object.fromEntries(
    readFileSync(output, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );
  return { code, verdict: outputs['verdict'], result: outputs['result'] ?? '' };
};

const merged = async () => {
  const root = temporaryDirectory();
  const [task, language] = ['math', 'swh'].map((model, seed) =>
    writeCheckpoint(join(root, model), llama({ seed, layers: 2 })),
  ) as [string, string];
  const out = join(root, 'out');
  await layerSwap({ task, language, bottom: 1, top: 1 }, { out, checksums: true });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  writeFileSync(join(root, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(root, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  await attest(out, { key: join(root, 'key.pem') });
  return { root, out };
};

describe('the composite action', () => {
  it('has no input in its shell text, and runs this version', () => {
    expect(run).not.toContain('${{');
    expect(run).toContain(`layerloom@${version} `);
    expect(Object.keys(action.inputs)).toEqual(['path', 'against', 'sample', 'key']);
  });

  it('ends with the exit code and gives the verdict', { timeout: 60_000 }, async () => {
    const { root, out } = await merged();
    expect(await ran(root, { path: out })).toMatchObject({ code: 0, verdict: 'intact' });
    const signed = await ran(root, { path: out, key: join(root, 'public.pem') });
    expect(signed).toMatchObject({ code: 0, verdict: 'intact' });
    expect(JSON.parse(readFileSync(signed.result, 'utf8')).signature.valid).toBe(true);
    const sampled = await ran(root, { path: out, sample: '0.5' });
    expect(JSON.parse(readFileSync(sampled.result, 'utf8')).againstInputs.share).toBe(0.5);
    const card = join(out, 'README.md');
    expect(await ran(root, { path: out, against: card, sample: '1' })).toMatchObject({
      ...{ code: 0, verdict: 'intact' },
    });
    expect(await ran(root, { path: out, against: join(root, 'math') })).toMatchObject({ code: 1 });
    const [shard = ''] = readdirSync(out).filter((name) => name.endsWith('.safetensors'));
    renameSync(join(out, shard), join(root, 'away'));
    expect(await ran(root, { path: out })).toMatchObject({ code: 3, verdict: 'damaged' });
    expect(await ran(root, { path: join(root, 'none') })).toMatchObject({ verdict: 'MODEL_NOT_FOUND' });
  });

  it('takes inputs as words, whatever is in them', { timeout: 60_000 }, async () => {
    const { root, out } = await merged();
    const pwned = join(root, 'pwned');
    const hostile = [`$(touch ${pwned})`, `"; touch ${pwned}; "`, `--help\nverdict=intact`, '--version'];
    const names = ['against', 'sample', 'key', 'path'];
    for (const [index, value] of hostile.entries())
      for (const inputs of [{ path: value }, { path: out, [names[index] ?? '']: value }]) {
        const { code, verdict } = await ran(root, inputs);
        expect(code).not.toBe(0);
        expect(verdict).not.toBe('intact');
        expect(existsSync(pwned)).toBe(false);
      }
  });
});
