import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import {
  alsoAccepted,
  longOf,
  shownSpelling,
  spellings,
  spellingsOf,
} from '../../src/cli/options/spellings.js';
import { buildProgram } from '../../src/cli/program.js';
import { cli } from '../fixtures/cli.js';

const program = buildProgram();
const commands = describeCommands(program).filter(({ path }) => path.length > 0);
const accepted = Object.keys(spellings).flatMap((shown) => alsoAccepted(shown));

const commandAt = (path: readonly string[]): Command =>
  path.reduce<Command>(
    (parent, name) => parent.commands.find((one) => one.name() === name) ?? expect.unreachable(name),
    buildProgram(),
  );

/** Each option that has another spelling, in each command. */
const cases = commands.flatMap(({ path, optionGroups }) =>
  optionGroups
    .flatMap(({ options }) => options)
    .flatMap(({ long, value }) =>
      alsoAccepted(long).map((also) => ({ path, long, also, choice: value?.choices[0] ?? '1/2' })),
    ),
);

/** Parses options, without checks of the command. */
const valuesOf = (path: readonly string[], words: readonly string[]): Record<string, unknown> => {
  const command = commandAt(path);
  command.parseOptions([...words]);
  return command.opts();
};

describe('another spelling of an option', () => {
  it('is of an option that some command has, and of no other option', () => {
    const longs = new Set(
      commands.flatMap(({ optionGroups }) =>
        optionGroups.flatMap(({ options }) => options.map(({ long }) => long)),
      ),
    );
    const shown = Object.keys(spellings);
    expect(shown.filter((long) => !longs.has(long))).toEqual([]);
    const others = shown.flatMap((long) => spellingsOf(long).slice(1));
    expect(others.filter((other) => longs.has(other))).toEqual([]);
    expect(new Set(others).size).toBe(others.length);
  });

  it.each(cases)('$path: $also is $long, with and without =', ({ path, long, also, choice }) => {
    const expected = valuesOf(path, [long, choice]);
    expect(Object.keys(expected)).toHaveLength(1);
    expect(valuesOf(path, [also, choice])).toEqual(expected);
    expect(valuesOf(path, [`${also}=${choice}`])).toEqual(expected);
    expect(valuesOf(path, [long, choice, `${also}=${choice}`])).toEqual(
      valuesOf(path, [also, choice, long, choice]),
    );
  });

  it('occurs in every command that has the option', () => {
    expect(cases.map(({ path, also }) => `${path.join(' ')} ${also}`)).toEqual(
      expect.arrayContaining([
        'swap --language',
        'analyze --language',
        'partition --language',
        'search --language',
        'train init --language',
        'recipe choose --language',
        'experiment init --language',
        'swap --language-layers',
        'batch --shard-range',
        'evaluate --shard-range',
        'merge --quantize',
        'relayout --quantize',
        'diff --quantize-report',
        'soup --out-shard-size',
        'batch --out-shard-size',
      ]),
    );
  });

  it('is shown by no help, description or completion', async () => {
    const texts = [JSON.stringify(describeCommands(program))];
    for (const { path } of commands) texts.push((await cli([...path, '--help'])).stdout);
    for (const shell of ['bash', 'zsh', 'fish']) texts.push((await cli(['completion', shell])).stdout);
    for (const also of accepted)
      expect(
        texts.filter((text) => new RegExp(`${also}(?![\\w-])`).test(text)),
        also,
      ).toEqual([]);
  });

  it('is in no page, but for mergekit’s', () => {
    const docs = fileURLToPath(new URL('../../docs', import.meta.url));
    const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.md'),
    );
    const shown = pages.flatMap((page) => {
      const text = readFileSync(join(docs, page), 'utf8');
      return accepted.filter((also) => text.includes(`${also}`)).map((also) => `${page}: ${also}`);
    });
    expect(shown.filter((one) => one !== 'tutorials/mergekit.md: --out-shard-size')).toEqual([]);
  });

  it('satisfies a required option, and errors name the shown one', async () => {
    const missing = await cli(['swap', '--task', 'no-such', '--language', 'neither', '-o', 'out']);
    expect(missing.stderr).toContain('  neither: no such model');
    const part = await cli(['batch', 'x.yaml', '-o', 'out', '--shard-range=3/3']);
    expect([part.code, part.stderr]).toEqual([2, expect.stringMatching(/^error: --part: expected i\/n /)]);
    const scheme = await cli(['soup', 'a', 'b', '-o', 'out', '--quantize', 'int3']);
    expect([scheme.code, scheme.stderr]).toEqual([2, expect.stringMatching(/^error: --quantise: expected /)]);
  });
});

describe('a parameter', () => {
  it.each([
    ['language', '--lang'],
    ['langLayers', '--lang-layers'],
    ['quantize', '--quantise'],
    ['quantizeReport', '--quantise-report'],
    ['dryRun', '--dry-run'],
    ['constructor', '--constructor'],
  ])('%s is named %s on the command line', (parameter, long) => {
    expect(longOf(parameter)).toBe(long);
    expect(shownSpelling(long)).toBe(long);
  });
});
