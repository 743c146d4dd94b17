import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linkInPackage, llmsFile, llmsText } from '../../scripts/llms.mjs';
import { skillFile, skillText } from '../../scripts/skill.mjs';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';
import { errorCodes } from '../../src/core/base/errors/errors.js';
import { methods } from '../../src/core/methods/index.js';
import { root } from './fences.js';

const commands = describeCommands(buildProgram());
const llms = readFileSync(llmsFile, 'utf8');
const skill = readFileSync(skillFile, 'utf8');

const namedIn = (text: string) =>
  [...text.matchAll(/(?:`|^)layerloom ([a-z][^`\n]*)/gm)].map(([, line = '']) => {
    const command = commands
      .filter(({ path }) => path.length > 0 && `${line} `.startsWith(`${path.join(' ')} `))
      .sort((a, b) => b.path.length - a.path.length)[0];
    const flags = command?.optionGroups.flatMap(({ options }) =>
      options.flatMap(({ long, short }) => [long, short]),
    );
    return {
      line,
      command: command?.path.join(' '),
      unknown: line.split(' ').filter((word) => /^-{1,2}[a-z]/.test(word) && !flags?.includes(word)),
    };
  });

describe('llms.txt', () => {
  it('is of the definitions and the pages; else run `npm run docs:tables`', () => {
    expect(llms).toBe(llmsText(linkInPackage));
  });

  it('has the form of llmstxt.org: a title, a quotation, text without headings, and sections of links', () => {
    const [head = '', ...sections] = llms.split('\n## ');
    expect(head).toMatch(/^# layerloom\n\n> .+\n\n/);
    expect(head.slice(1)).not.toMatch(/^#/m);
    expect(sections.map((section) => section.split('\n')[0])).toContain('Optional');
    for (const section of sections)
      for (const line of section.split('\n').slice(1).filter(Boolean))
        expect(line).toMatch(/^- \[[^\]]+\]\([^)]+\): ./);
  });

  it('links to files that are in the package', () => {
    const links = [...llms.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(([, link = '']) => link);
    expect(links).toContain('docs/python.md');
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
    expect(links.filter((link) => !/^(docs\/|tasks\/|README\.md$|CHANGELOG\.md$)/.test(link))).toEqual([]);
  });
});

describe('SKILL.md', () => {
  it('is of the definitions; else run `npm run docs:tables`', () => {
    expect(skill).toBe(skillText);
  });

  it('begins with a name that is its folder, and a description of at most 1024 characters', () => {
    const [, name, description = ''] =
      /^---\nname: (.+)\ndescription: (.+)\nlicense: .+\n---\n/.exec(skill) ?? [];
    expect(skillFile).toContain(`/${name}/SKILL.md`);
    expect(description.length).toBeGreaterThan(100);
    expect(description.length).toBeLessThanOrEqual(1024);
    expect(description).not.toMatch(/[<>]|: /);
    expect(skill.split('\n').length).toBeLessThan(500);
  });

  it('has errors that there are', () => {
    const codes = [...skill.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(15);
    expect(codes.filter((code) => !errorCodes.some((known) => known === code))).toEqual([]);
  });
});

it.each([
  ['llms.txt', llms],
  ['SKILL.md', skill],
])('%s names every command, and only commands and options that there are', (_, text) => {
  const named = namedIn(text);
  expect(
    named.filter(
      ({ line, command, unknown }) =>
        line !== 'COMMAND --help' && (command === undefined || unknown.length > 0),
    ),
  ).toEqual([]);
  const all = commands.filter(
    ({ path, subcommands }) => path.length > 0 && path[0] !== 'help' && subcommands.length === 0,
  );
  expect(
    all.map(({ path }) => path.join(' ')).filter((path) => !named.some(({ command }) => command === path)),
  ).toEqual([]);
});

it('llms.txt names every method', () => {
  for (const name of methods.keys()) expect(llms).toContain(`\`${name}\``);
});
