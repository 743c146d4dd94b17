import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { visible, visibleLine } from '../../src/core/base/errors/visible.js';
import { LayerloomError } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

/**
 * Sets a window title, clears the screen, moves up by a C1 control, reverses text, and imitates one of our
 * lines.
 */
const hostile = '\u001b]0;title\u0007\u001b[2J\u009b1A\u202e\u2066\u007f\nerror: none';
const escapedName = '\\u001b]0;title\\u0007\\u001b[2J\\u009b1A\\u202e\\u2066\\u007f\\u000aerror: none';

/** Characters that a terminal interprets. */
const acting = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;

const writeHostile = (): { root: string; task: string; language: string; tensor: string } => {
  const root = temporaryDirectory();
  const { tensors, config } = llama();
  const tensor = `model.${hostile}`;
  const added = { ...tensors, [tensor]: { dtype: 'U8', shape: [1], data: new Uint8Array(1) } };
  const files = { [`${hostile.replaceAll('/', '')}.jinja`]: '' };
  return {
    root,
    tensor,
    task: writeCheckpoint(join(root, `task ${hostile}`), { tensors: added, config, files }),
    language: writeCheckpoint(join(root, 'language'), llama({ seed: 2 })),
  };
};

describe('a terminal', () => {
  it('is shown escaped what it would act on: names of tensors, files and models', async () => {
    const { task } = writeHostile();
    const { code, stdout, stderr } = await cli(['inspect', task]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toMatch(acting);
    expect(stdout).not.toMatch(/^error/m);
    for (const name of [`task ${escapedName}`, `model.${escapedName}`, `${escapedName}.jinja`])
      expect(stdout).toContain(name);
  });

  it('is given errors and warnings on one line, whatever names are in them', async () => {
    const { root, task, language } = writeHostile();
    const refused = await cli(['swap', '--task', task, '--lang', language, '-o', join(root, 'out'), '-v']);
    expect(refused.code).toBe(3);
    expect(refused.stderr).not.toMatch(acting);
    expect(refused.stderr).toMatch(/^error: .*has other tensors than .*model\.\\u001b\]0;title.*\n/);
    expect(refused.stderr.match(/^error: /gm)).toHaveLength(1);
    rmSync(join(task, 'config.json'));
    const warned = await cli(['soup', join(task, 'model.safetensors'), task, '--dry-run']);
    expect(warned.code).toBe(0);
    expect(warned.stderr).toMatch(/^warning: .*task \\u001b\]0;title.*\n$/);
    expect(warned.stderr + warned.stdout).not.toMatch(acting);
  });

  it('has our own colours, and none of a model’s', async () => {
    const { task } = writeHostile();
    const painted = `\u001b[31mred\u001b[39m=${task}`;
    const { stdout } = await cli(['soup', painted, '--dry-run'], { FORCE_COLOR: '1', NO_COLOR: undefined });
    expect(stdout).toContain('\u001b[34m');
    expect(stdout).toContain('\\u001b[31mred\\u001b[39m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: bars are all that is painted
    expect(stdout.replace(/\u001b\[3\dm[░█▓▒]{24}\u001b\[39m/g, '')).not.toMatch(acting);
  });

  it('is given JSON that has no such characters, and the same values', async () => {
    const { root, task, language, tensor } = writeHostile();
    const inspected = await cli(['inspect', task, '--json']);
    expect(inspected.stdout).not.toMatch(acting);
    expect(JSON.parse(inspected.stdout).architecture.unrecognised).toEqual([tensor]);
    const out = join(root, 'out');
    const refused = await cli(['swap', '--task', task, '--lang', language, '-o', out, '--json']);
    expect(refused.stdout).not.toMatch(acting);
    expect(JSON.parse(refused.stdout).error.details.missing).toEqual([tensor]);
  });
});

describe('visible text', () => {
  it('keeps its lines, its letters and its escapes', () => {
    const text = 'a\nb\\u001b – “c” 日本語 עברית 🙂';
    expect(visible(text)).toBe(text);
    expect(visibleLine(text)).toBe(text.replace('\n', '\\u000a'));
    expect(visible(hostile)).toBe(escapedName.replace('\\u000a', '\n'));
  });

  it('is what errors say, while their details are what they were made of', () => {
    const error = new LayerloomError('TENSOR_MISSING', { file: hostile, tensor: hostile, index: 'a' });
    expect(error.message).toBe(
      `a says that ${escapedName} is in ${escapedName}, which does not have it; download or write the checkpoint again`,
    );
    expect(error.details).toEqual({ file: hostile, tensor: hostile, index: 'a' });
    const value = new LayerloomError('INVALID_PARAMETER', { parameter: 'a', value: hostile, expected: 'b' });
    expect(value.message).toMatch(/^a: expected b, got "\\u001b\]0;title\\u0007\\u001b\[2J\\u009b1A/);
  });
});
