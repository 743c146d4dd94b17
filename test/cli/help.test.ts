import { type Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { type CommandDescription, describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';

const commands = describeCommands(buildProgram());
const named = commands.map((command) => ({ name: ['layerloom', ...command.path].join(' '), command }));
const optionsOf = ({ optionGroups }: CommandDescription) => optionGroups.flatMap(({ options }) => options);

const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];

const commandAt = (program: Command, path: readonly string[]): Command => {
  let found = program;
  for (const name of path) {
    const next = found.commands.find((each) => each.name() === name);
    if (next === undefined) throw new Error(`no command ${path.join(' ')}`);
    found = next;
  }
  return found;
};

/** Splits a command line into shell words, without variables before it and redirections after it. */
const wordsOf = (line: string): string[] => {
  const found = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const words = found.slice(found.findIndex((word) => !/^[A-Z]+=/.test(word)));
  const end = words.findIndex((word) => ['>', '>>', '|'].includes(word));
  return end < 0 ? words : words.slice(0, end);
};

const parsed = async (words: readonly string[]): Promise<string> => {
  const program = buildProgram();
  const ran: string[] = [];
  for (const command of all(program))
    if (command.commands.length === 0) command.action(() => void ran.push(fullName(command)));
  await program.parseAsync(words, { from: 'user' });
  return ran.join();
};

const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;

describe.each(named)('$name --help', ({ name, command }) => {
  it('describes the command, its arguments and its options', () => {
    expect(command.description).not.toBe('');
    for (const argument of command.arguments) expect(argument.description, argument.name).not.toBe('');
    for (const option of optionsOf(command)) expect(option.description, option.flags).not.toBe('');
  });

  it('has two examples or more, which its own parser accepts', async () => {
    expect(command.examples.length).toBeGreaterThanOrEqual(2);
    for (const { command: line, purpose } of command.examples) {
      const [program, ...words] = wordsOf(line);
      expect(program).toBe('layerloom');
      expect(purpose).not.toBe('');
      expect(line, line).toContain(name);
      if (words.includes('--help')) continue;
      expect(await parsed(words), line).toContain(name);
      checkChoices(command, words);
    }
  });

  it('marks what is required, once', () => {
    const text = helpOf(command);
    for (const { flags, requirement } of optionsOf(command)) {
      const [, entry = ''] = text.split(`\n  ${flags}`);
      const own = entry.split(/\n {2}\S/)[0]?.replace(/\s+/g, ' ') ?? '';
      expect(own.includes('(required'), flags).toBe(requirement !== undefined);
    }
  });

  it('states defaults and values in one form, which descriptions do not repeat', () => {
    for (const { flags, description } of optionsOf(command))
      expect(description, flags).not.toMatch(/\(default|default:|\(required|choices:/i);
  });

  it('fits into 80 columns', () => {
    for (const line of helpOf(command).split('\n')) expect([...line].length, line).toBeLessThanOrEqual(80);
  });
});

const helpOf = ({ path }: CommandDescription): string => {
  const program = buildProgram();
  let text = '';
  for (const command of all(program))
    command.configureOutput({
      writeOut: (part) => {
        text += part;
      },
      getOutHelpWidth: () => 80,
    });
  expect(() => commandAt(program, path).outputHelp()).not.toThrow(CommanderError);
  return text;
};

const checkChoices = (command: CommandDescription, words: readonly string[]): void => {
  for (const { long, short, value } of optionsOf(command))
    for (const [index, word] of words.entries())
      if ((word === long || word === short) && value !== undefined && value.choices.length > 0)
        expect(value.choices, word).toContain(words[index + 1]);
};

describe('layerloom', () => {
  it('has --json on every command that runs', () => {
    const printsJson = ({ path, subcommands }: CommandDescription) =>
      path.length > 0 && subcommands.length === 0;
    for (const { command, name } of named)
      if (printsJson(command))
        expect(
          optionsOf(command).map(({ long }) => long),
          name,
        ).toContain('--json');
  });

  it('groups its commands', () => {
    for (const { path, group } of commands)
      if (path.length === 1) expect(group, path[0]).not.toBe('Commands');
  });

  it('refuses an option that an example could misspell', async () => {
    await expect(parsed(['swap', '--task', 'a', '--lang', 'b', '--botom', '3'])).rejects.toThrow(
      'unknown option',
    );
    await expect(parsed(['soup'])).rejects.toThrow('missing required argument');
  });
});
