import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from './fences.js';

interface Workflow {
  readonly jobs: Readonly<
    Record<
      string,
      { readonly needs?: string | string[]; readonly steps: readonly { readonly run?: string }[] }
    >
  >;
}

const folder = join(root, '.github/workflows');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

describe.each(readdirSync(folder))('the workflow %s', (file) => {
  const { jobs } = parse(readFileSync(join(folder, file), 'utf8')) as Workflow;
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));

  it('runs scripts and files that are there', () => {
    const named = commands.flatMap((text) =>
      [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    const files = commands.flatMap((text) =>
      [...text.matchAll(/\b(?:node|sh) ((?:scripts|test|bench)\/\S+)/g)].map(([, name = '']) => name),
    );
    expect(files.filter((name) => !existsSync(join(root, name)))).toEqual([]);
    expect(commands.length).toBeGreaterThan(0);
  });

  it('waits for jobs that are there', () => {
    const needs = Object.values(jobs).flatMap(({ needs: of = [] }) => of);
    expect(needs.filter((name) => !Object.hasOwn(jobs, name))).toEqual([]);
  });
});
