import { describe, expect, expectTypeOf, it } from 'vitest';
import { argument, command, type Given } from '../../src/cli/framework/command.js';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { ExampleCommand } from '../../src/cli/framework/help.js';
import { option } from '../../src/cli/framework/option.js';
import { toNumber } from '../../src/cli/options/parse.js';

const declaredArguments = { models: argument('<model...>', 'models') };
const options = {
  language: option('--lang <model>', 'the language expert', { required: true }),
  bottom: option('--bottom <n>', 'layers', { parse: toNumber, default: '5' }),
  norms: option('--norms <which>', 'norms', { choices: ['layer', 'average'] }),
  tables: option('--table <name...>', 'tables'),
  plugins: option('--plugin <file>', 'a module', { repeatable: true }),
  dryRun: option('--dry-run', 'write nothing'),
};
type Values = Given<typeof declaredArguments, typeof options>;

const givenBy = async (...words: string[]): Promise<Values> => {
  const program = new ExampleCommand('layerloom').exitOverride();
  let values: Values | undefined;
  command({
    name: 'try',
    summary: 'try options',
    arguments: declaredArguments,
    options,
    examples: [
      ['layerloom try a', 'one'],
      ['layerloom try a b', 'two'],
    ],
    run: async (given) => {
      values = given;
    },
  }).addTo(program);
  await program.parseAsync(['try', ...words], { from: 'user' });
  if (values === undefined) throw new Error('the command was not run');
  return values;
};

describe('a declared command', () => {
  it('is given arguments and options by the names of their declarations', async () => {
    expect(await givenBy('a', 'b', '--lang', 'l', '--bottom', '4', '--table', 'x', 'y', '--dry-run')).toEqual(
      {
        models: ['a', 'b'],
        language: 'l',
        bottom: 4,
        tables: ['x', 'y'],
        dryRun: true,
      },
    );
    expect(await givenBy('a', '--lang', 'l', '--plugin', 'p', '--plugin', 'q', '--json')).toEqual({
      models: ['a'],
      language: 'l',
      plugins: ['p', 'q'],
      json: true,
    });
  });

  it('is given values of the types that flags and facts say', () => {
    expectTypeOf<Values['models']>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Values['language']>().toEqualTypeOf<string>();
    expectTypeOf<Values['bottom']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Values['norms']>().toEqualTypeOf<'layer' | 'average' | undefined>();
    expectTypeOf<Values['tables']>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<Values['plugins']>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<Values['dryRun']>().toEqualTypeOf<boolean | undefined>();
  });

  it('is described with its facts, without what is hidden', async () => {
    const program = new ExampleCommand('layerloom');
    command({
      name: 'try',
      summary: 'try options',
      options,
      examples: [
        ['layerloom try', 'one'],
        ['layerloom try --json', 'two'],
      ],
      run: async () => undefined,
    }).addTo(program);
    const [, described] = describeCommands(program);
    const facts = described?.optionGroups.flatMap(({ options: listed }) =>
      listed.map(({ long, requirement, default: preset, repeatable }) => [
        long,
        requirement,
        preset,
        repeatable,
      ]),
    );
    expect(facts).toContainEqual(['--lang', 'required', undefined, false]);
    expect(facts).toContainEqual(['--bottom', undefined, '5', false]);
    expect(facts).toContainEqual(['--plugin', undefined, undefined, true]);
    expect(facts?.some(([long]) => long === '--language')).toBe(false);
  });
});
