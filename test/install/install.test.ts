import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, inject, it } from 'vitest';
import { temporaryDirectory, writePair } from '../fixtures/checkpoints.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { tools, reason, registry, tarball } = inject('install');
const run = promisify(execFile);

/** Programs that the launchers of npm, pnpm and yarn need; no compiler, CMake, Python or npm. */
const commands = ['sh', 'env', 'sed', 'dirname', 'basename', 'uname', 'readlink'];

const barePath = (): string => {
  const directory = temporaryDirectory();
  symlinkSync(process.execPath, join(directory, 'node'));
  const places = (process.env['PATH'] ?? '').split(delimiter);
  for (const command of commands) {
    const place = places.find((each) => existsSync(join(each, command)));
    if (place === undefined) throw new Error(`there is no ${command} on the PATH`);
    symlinkSync(join(place, command), join(directory, command));
  }
  return directory;
};

const npmProgram = (): string => {
  const file = process.env['npm_execpath'];
  if (file === undefined) throw new Error('start the tests by `npm run test:install`');
  return file;
};

interface Manager {
  readonly name: string;
  /** A file below the tools' node_modules; undefined for Node's own npm. */
  readonly program: string | undefined;
  readonly words: (tarball: string) => readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

const managers: readonly Manager[] = [
  { name: 'npm', program: undefined, words: () => ['install', 'layerloom'] },
  { name: 'npm, from the tarball', program: undefined, words: (file) => ['install', file] },
  { name: 'pnpm', program: 'pnpm/bin/pnpm.cjs', words: () => ['add', 'layerloom'] },
  { name: 'yarn 1', program: 'yarn/bin/yarn.js', words: () => ['add', 'layerloom'] },
  {
    name: 'yarn 4 with node_modules',
    program: '@yarnpkg/cli-dist/bin/yarn.js',
    words: () => ['add', 'layerloom'],
    files: { '.yarnrc.yml': 'nodeLinker: node-modules\n', 'yarn.lock': '' },
  },
];

const install = async ({
  program,
  words,
  files = {},
}: Manager): Promise<{ directory: string; env: NodeJS.ProcessEnv }> => {
  const directory = temporaryDirectory();
  const all = { 'package.json': '{"name": "consumer", "private": true}', ...files };
  for (const [name, content] of Object.entries(all)) writeFileSync(join(directory, name), content);
  const env: NodeJS.ProcessEnv = {
    PATH: barePath(),
    HOME: temporaryDirectory(),
    npm_config_registry: registry,
    YARN_REGISTRY: registry,
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_ENABLE_TELEMETRY: '0',
    // Yarn 4 waits a day before it uses a new version.
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    CI: 'true',
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
  };
  const file = program === undefined ? npmProgram() : join(tools ?? '', 'node_modules', program);
  const { stdout, stderr } = await run(process.execPath, [file, ...words(tarball)], { cwd: directory, env });
  // Nothing is built, and no permission is asked.
  expect(`${stdout}${stderr}`).not.toMatch(/layerloom.*(scripts|build)|node-gyp|approve/i);
  return { directory, env: { PATH: env['PATH'] } };
};

const program = `
import { instructionSets, layerSwap, LayerloomError } from 'layerloom';
const [task, language, out] = process.argv.slice(2);
const { shards } = await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
console.log(JSON.stringify({ shards: shards.length, sets: instructionSets().available.length, code: new LayerloomError('USAGE', { reason: '' }).code }));
`;

const consumer = `
import { type Examination, examineInstallation, type LayerloomError, layerSwap, type MergePlan, planMerge } from 'layerloom';

export const plan: MergePlan = await planMerge({ method: 'layer_swap', task: './a', language: './b', bottom: 1, top: 1 });
export const bytes: number = plan.cost.bytesToWrite;
export const { ok }: Examination = await examineInstallation('.');
export const codeOf = (error: LayerloomError): string => error.code;
await layerSwap({ task: './a', language: './b' }, { out: './c', onProgress: ({ done, total }) => console.log(done / total) });
// @ts-expect-error a swap needs a language
await layerSwap({ task: './a' }, { out: './c' });
`;

const tsconfig = {
  compilerOptions: {
    ...{ strict: true, module: 'nodenext', target: 'es2022', noEmit: true, skipLibCheck: false },
    ...{ typeRoots: [join(root, 'node_modules/@types')], types: ['node'] },
  },
  files: ['consumer.mts'],
};

describe.skipIf(tools === undefined)(`the package${reason === '' ? '' : ` (skipped: ${reason})`}`, () => {
  it.each(managers)('installs with $name without a compiler, and works', async (manager) => {
    const { directory, env } = await install(manager);
    const { task, language } = writePair();
    const node = async (...words: string[]) =>
      (await run(process.execPath, words, { cwd: directory, env })).stdout.trim();
    const merged = (name: string) => join(directory, name);
    const weights = (name: string) =>
      Object.fromEntries(
        readdirSync(merged(name))
          .filter((file) => file.endsWith('.safetensors'))
          .map((file) => [file, readFileSync(join(merged(name), file))]),
      );

    const swap = [
      'swap',
      '--task',
      task,
      '--lang',
      language,
      '--bottom',
      '1',
      '--top',
      '1',
      '-o',
      merged('by-command'),
    ];
    await run(join(directory, 'node_modules/.bin/layerloom'), swap, { cwd: directory, env });
    expect(Object.keys(weights('by-command')).length).toBeGreaterThan(0);

    writeFileSync(merged('program.mjs'), program);
    const printed = JSON.parse(await node('program.mjs', task, language, merged('by-import')));
    expect(printed).toMatchObject({ code: 'USAGE' });
    expect(weights('by-import')).toEqual(weights('by-command'));

    writeFileSync(merged('require.cjs'), "console.log(typeof require('layerloom').layerSwap)");
    expect(await node('require.cjs')).toBe('function');

    writeFileSync(
      merged('worker.mjs'),
      `import { Worker } from 'node:worker_threads';
       new Worker(new URL('./program.mjs', import.meta.url), { argv: process.argv.slice(2) }).on('exit', (code) => { process.exitCode = code; });`,
    );
    await node('worker.mjs', task, language, merged('by-worker'));
    expect(weights('by-worker')).toEqual(weights('by-command'));

    const outfile = merged('bundle.mjs');
    mkdirSync(merged('src'));
    writeFileSync(merged('src/main.ts'), program);
    await build({
      ...{ entryPoints: [merged('src/main.ts')], outfile, absWorkingDir: directory },
      ...{ bundle: true, platform: 'node', format: 'esm', external: ['layerloom'], logLevel: 'silent' },
    });
    await node('bundle.mjs', task, language, merged('by-bundle'));
    expect(weights('by-bundle')).toEqual(weights('by-command'));

    writeFileSync(merged('consumer.mts'), consumer);
    writeFileSync(merged('tsconfig.json'), JSON.stringify(tsconfig));
    const typed = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], {
      cwd: directory,
    }).catch((error: { stdout: string }) => error);
    expect(typed.stdout).toBe('');
  });
});
