import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';

const page = readFileSync(new URL('../../docs/which-command.md', import.meta.url), 'utf8');
const commands = describeCommands(buildProgram()).filter(
  ({ path, subcommands }) => path.length > 0 && path[0] !== 'help' && subcommands.length === 0,
);

it('the page of all commands names each of them, with options that it has', () => {
  const lines = [...page.matchAll(/`layerloom (?<line>[a-z][^`]*)`/g)].map(
    ({ groups }) => groups?.['line'] ?? '',
  );
  const named = lines.map((line) => {
    const found = commands
      .filter(({ path }) => `${line} `.startsWith(`${path.join(' ')} `))
      .sort((a, b) => b.path.length - a.path.length)[0];
    const flags = found?.optionGroups.flatMap(({ options }) =>
      options.flatMap(({ long, short }) => [long, short]),
    );
    const unknown = line.split(' ').filter((word) => word.startsWith('-') && !flags?.includes(word));
    return { line, command: found?.path.join(' '), unknown };
  });
  expect(named.filter(({ command, unknown }) => command === undefined || unknown.length > 0)).toEqual([]);
  expect([...new Set(named.map(({ command }) => command))].sort()).toEqual(
    commands.map(({ path }) => path.join(' ')).sort(),
  );
});
