import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { cli } from '../fixtures/cli.js';
import { someCommit, writeHeadersOnly } from '../fixtures/range-cache.js';
import { type Door, makeDoors, removeOutputs } from './doors.js';

// Whatever replaces a file that layerloom reads, such as a link to the user's secrets, no message repeats any
// of it.

/** Parts of a secret; no output may contain them. */
const parts = ['Zq8vXw3Lp0', 'Rt5yNb7Kd2', 'Hj4mGc9Fs1', 'Wx6uPe2Va8'];
const [first, second, third, fourth] = parts;

/** Secrets in files of other programs. */
const foreign: Readonly<Record<string, string>> = {
  'a token': `hf_${first}`,
  'a token with a line': `hf_${first}${second}\n`,
  'a token at the start of the file': `${first}${second}${third}${fourth}`.repeat(8),
  'a private key': `-----BEGIN OPENSSH PRIVATE KEY-----\n${first}\n${second}==\n-----END OPENSSH PRIVATE KEY-----\n`,
  variables: `AWS_KEY=${first}\nexport TOKEN="${second}"\n#${third}\n`,
  sections: `[default]\naws_access_key_id = ${first}\n[${second}]\n${third}: ${fourth}\n`,
  'a JSON text': JSON.stringify(`${first}`),
  'a JSON list': JSON.stringify([first, { [`${second}`]: third }]),
  'JSON of credentials': JSON.stringify({ [`${first}`]: { auth: second, [`${third}`]: [fourth] } }),
  'JSON of texts': JSON.stringify({ token: first, user: second, [`${third}`]: fourth }),
  'JSON that was cut': `{"token": "${first}", "auth": "${second}`,
  'JSON with a comma too many': `{"token": "${first}",}`,
  'JSON with NaN': `{"token": "${first}", "n": NaN, x${second}}`,
  'rows of JSON': `{"token": "${first}"}\n{"${second}": 1}\n`,
  'YAML of credentials': `machines:\n  ${first}:\n    token: ${second}\n    - ${third}\n`,
  'YAML with a tag': `token: !${first} ${second}\n&${third} *${fourth}\n`,
  'lines of netrc': `machine ${first} login ${second} password ${third}\n`,
  'a table': `user,password\n${first},${second}\n`,
  'front matter': `---\ntoken: ${first}\nbase_model: [${second}\n---\n\`\`\`yaml\n${third}: ${fourth}\n\`\`\`\n`,
  'the magic of GGUF': `GGUF${first}${second}${third}${fourth}${first}`,
  'the magic of a zip': `PK\u0003\u0004${first}${second}${third}`,
};

/** The part of the secret that an output repeats: any eight characters, or its first bytes as a number. */
const repeated = (output: string): string | undefined => {
  for (const part of parts)
    for (let from = 0; from + 6 <= part.length; from += 1)
      if (output.includes(part.slice(from, from + 6))) return part;
  const number = Buffer.from(`${first}`).readBigUInt64LE();
  return [number, Number(number)].map(String).find((text) => output.includes(text));
};

/** Replaces a file by each foreign one, and runs commands. @returns the number of runs, and the leaks */
const tryFile = async (
  file: string,
  commands: Door['commands'],
  root: string,
  { contents = Object.entries(foreign), modes = [[], ['--json']] } = {},
): Promise<{ runs: number; leaks: string[] }> => {
  const valid = readFileSync(file);
  const leaks: string[] = [];
  let runs = 0;
  for (const [label, content] of contents)
    for (const args of commands)
      for (const more of modes) {
        // An object is a valid configuration, and is compared and planned like any configuration.
        if (/^(config|tokenizer).*\.json$/.test(basename(file)) && /^JSON of/.test(label)) continue;
        writeFileSync(file, content);
        const { stdout, stderr } = await cli([...args, ...more]);
        runs += 1;
        const line = `${stdout}\n${stderr}`.split('\n').find((each) => repeated(each) !== undefined);
        if (line !== undefined)
          leaks.push(`${relative(root, file)} is ${label}: ${args[0]}: ${line.slice(0, 300)}`);
        removeOutputs(root);
      }
  writeFileSync(file, valid);
  return { runs, leaks };
};

/** A few files of each kind of name below a folder. */
const filesIn = (folder: string): string[] => {
  const kinds = new Map<string, number>();
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .filter((file) => {
      const kind = `${dirname(dirname(file))} ${basename(file).replace(/[0-9a-f]{6,}|\d+/g, '#')}`;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      return kinds.get(kind) === 1;
    });
};

describe('no message repeats a file that is not what it should be', () => {
  it('in the place of a file that a stranger gives', async () => {
    const { root, doors } = await makeDoors();
    let runs = 0;
    for (const [index, { name, file, commands }] of doors.entries()) {
      // Errors have their messages in both.
      const tried = await tryFile(file, commands, root, { modes: [index % 2 === 0 ? [] : ['--json']] });
      runs += tried.runs;
      expect.soft(tried.leaks, name).toEqual([]);
    }
    expect(runs).toBeGreaterThan(700);
  }, 3_600_000);

  it('in the place of any file of an output, a study, its store, an analysis or a cache', async () => {
    const { root } = await makeDoors();
    const at = (...parts: string[]) => join(root, ...parts);
    const out = (name: string) => ['-o', at('out', name)];
    const cache = at('hub');
    mkdirSync(join(cache, 'models--org--x', 'refs'), { recursive: true });
    writeFileSync(join(cache, 'models--org--x', 'refs', 'main'), someCommit);
    writeHeadersOnly(at('ranges'), 'org/x', at('math'));
    vi.stubEnv('HF_HUB_CACHE', cache);
    vi.stubEnv('LAYERLOOM_CACHE', at('ranges'));
    const folders: Readonly<Record<string, Door['commands']>> = {
      merged: [
        ['inspect', at('merged')],
        ['verify', at('merged')],
        ['diff', at('merged'), at('math')],
        ['merge', at('merged', 'README.md'), ...out('a'), '--dry-run'],
        ['merge', at('merged', 'layerloom.json'), ...out('b'), '--dry-run'],
        ['push', at('merged'), 'org/merged', '--dry-run'],
        ['recipe', 'export', at('merged', 'layerloom.json'), '--dialect', 'mergekit', ...out('c')],
      ],
      study: [
        ['table', at('study')],
        ['report', at('study'), ...out('d')],
        ['batch', at('experiment.yaml'), '-o', at('study'), '--resume', '--dry-run'],
        ['store', 'ls', at('study', '.store')],
        ['store', 'verify', at('study', '.store')],
        ['search', at('experiment.yaml'), ...out('e'), '--dry-run'],
      ],
      analysis: [
        ['analyze', '--from', at('analysis', 'math.mav.safetensors'), ...out('f')],
        ['select', '--scores', at('scores.csv'), '--analysis', at('analysis'), '--count', '1'],
        ['recipe', 'choose', '--task', at('analysis', 'overlap.json'), '--lang', at('math'), ...out('g')],
      ],
      trained: [['train', 'status', at('trained')]],
      adapter: [
        ['inspect', `${at('base')}+${at('adapter')}`],
        ['soup', at('adapter'), at('adapter'), ...out('h'), '--dry-run'],
      ],
      hub: [
        ['inspect', 'org/x'],
        ['cache', 'ls'],
      ],
      ranges: [
        ['inspect', 'org/x'],
        ['cache', 'ls'],
        ['soup', 'org/x', at('math'), ...out('i'), '--dry-run'],
      ],
    };
    const some = ['a token at the start of the file', 'sections', 'JSON of credentials', 'front matter'];
    const contents = some.map((label) => [label, foreign[label] ?? ''] as [string, string]);
    // Errors have their messages in both.
    const modes = [['--json']];
    let runs = 0;
    for (const [folder, commands] of Object.entries(folders))
      for (const [index, file] of filesIn(at(folder)).entries()) {
        // Each file gets two of them in turn.
        const two = [0, 1].map((next) => contents[(index + next) % contents.length] as [string, string]);
        const tried = await tryFile(file, commands, root, { contents: two, modes });
        runs += tried.runs;
        expect.soft(tried.leaks, relative(root, file)).toEqual([]);
      }
    vi.unstubAllEnvs();
    expect(runs).toBeGreaterThan(150);
  }, 3_600_000);
});
