import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { prepareTasks, shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeMbpp } from '../fixtures/evaluation-data.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPython = python !== '' && spawnSync(python, ['--version']).status === 0;
const hasHarness = hasPython && spawnSync(python, ['-c', 'import lm_eval']).status === 0;
const script = fileURLToPath(new URL('programs.py', import.meta.url));

const ask = async (mode: string, request: object): Promise<unknown> => {
  const env = {
    ...process.env,
    TMPDIR: temporaryDirectory(),
    HF_HUB_OFFLINE: '1',
    HF_DATASETS_CACHE: temporaryDirectory(),
  };
  const child = promisify(execFile)(python, [script, mode], { env, maxBuffer: 2 ** 26 });
  child.child.stdin?.end(JSON.stringify(request));
  return JSON.parse((await child).stdout.trim().split('\n').at(-1) ?? '');
};

const right = 'def add(a, b):\n    return a + b\n';
const tests = 'assert add(1, 2) == 3\nassert add(2, 2) == 4\nassert add(0, 0) == 0';
/** Undoes the removal of functions, as a program can. */
const around =
  'import sys, os\nfor n in ("ctypes", "_ctypes"): sys.modules.pop(n, None)\nimport ctypes\nC = ctypes.CDLL(None)\n';

describe.skipIf(!hasPython)('programs that models write (LAYERLOOM_PYTHON)', () => {
  it.each([
    ['that are right', right],
    ['with Windows line ends', right.replaceAll('\n', '\r\n')],
    [
      'that leave a thread',
      `import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n${right}`,
    ],
    ['that read input, of which there is none', `import sys\nsys.stdin.read()\n${right}`],
    ['that print much', `print("x" * 10**8)\n${right}`],
    ['that import what problems use', `import re, heapq, math, itertools, collections\n${right}`],
  ])('pass: %s', async (_, program) => {
    expect(await ask('pass', { program, tests })).toEqual({ score: 1, left: [] });
  });

  it.each([
    ['is wrong', 'def add(a, b):\n    return a * b'],
    ['is empty', ''],
    ['is no Python', 'def ('],
    ['swallows its tests', `${right}"""`],
    ['loops', 'while True: pass'],
    ['loops and catches all', 'while True:\n  try:\n    while True: pass\n  except BaseException: pass'],
    ['ignores signals', 'import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass'],
    ['sleeps', 'import time\ntime.sleep(1000)'],
    ['waits in a regular expression', 'import re\nre.match("(a+)+$", "a" * 40 + "b")'],
    ['exits with 0', 'import sys\nsys.exit(0)'],
    ['exits at once', 'import os\nos._exit(0)'],
    [
      'says that it passed',
      'import os\nprint("passed")\nfor i in range(64):\n  try: os.write(i, b"passed\\n" * 9)\n  except OSError: pass\nos._exit(0)',
    ],
    ['closes its files', `import os\nos.closerange(0, 100)\n${right}`],
    ['stops its parent', 'import os, signal\nos.kill(os.getppid(), signal.SIGKILL)'],
    ['stops its parent another way', `${around}C.kill(os.getppid(), 9)\nimport time\ntime.sleep(1000)`],
    ['leaves a process', `${around}C.fork()\nimport time\ntime.sleep(1000)`],
    ['starts processes', 'import os\nwhile True: os.fork()'],
    ['goes deep', 'def f(n): return f(n + 1)\nf(0)'],
    ['goes too deep', 'import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)'],
    ['prints without end', 'while True: print("x" * 10**6)'],
    ['takes all memory', 'x = b"a"\nwhile True: x += x'],
    ['writes a large file', 'open("f", "wb").write(b"0" * 10**9)'],
    ['asks for input', 'input()'],
  ])('fail, and leave nothing: one that %s', async (_, program) => {
    expect(await ask('pass', { program, tests })).toEqual({ score: 0, left: [] });
  });

  it('see none of the user’s variables', async () => {
    const program = `import os\nassert "HF_HUB_OFFLINE" not in os.environ and "HOME" not in os.environ\n${right}`;
    expect(await ask('pass', { program, tests })).toEqual({ score: 1, left: [] });
  });
});

describe.skipIf(!hasHarness)('MBPP in lm-eval (LAYERLOOM_PYTHON with lm_eval 0.4.13)', () => {
  const [english, swahili] = ['layerloom_mbpp_en', 'layerloom_mbpp_sw'] as const;

  const prepared = async () => {
    const root = temporaryDirectory();
    const into = join(root, 'prepared');
    const { includePaths, environment, failures } = await prepareTasks(
      [english, swahili],
      { data: writeMbpp(join(root, 'data')), confirmRunUnsafeCode: true },
      into,
    );
    expect(failures.size).toBe(0);
    return { root, into, includePaths, environment };
  };

  it('has the prompts of the harness’s own, with translated descriptions', async () => {
    const { into } = await prepared();
    const files = [english, swahili].map((task) => join(into, `${task}.yaml`));
    const hub = join(shippedTasks, 'layerloom_mbpp_en.yaml');
    const answer = (await ask('prompts', { files, hub })) as Record<
      'own' | 'hub' | typeof english | typeof swahili,
      { zero: string[]; three: string[]; until: string[]; target: string }
    >;
    expect(answer.own.zero).toHaveLength(3);
    // With the published worked examples, which the harness and the hub share.
    expect(answer.hub).toEqual(answer.own);
    // With those of the file.
    expect({ ...answer[english], three: [] }).toEqual({ ...answer.own, three: [] });
    expect(answer[english].three[0]).toContain(
      'def add_2(n):\r\n    return n + 2\n[DONE]\n\nYou are an expert',
    );
    const translate = (text: string) =>
      text.replaceAll(
        /Write a function to add (\d+) to a number\./g,
        (_, id: string) => `Andika kitendakazi kinachoongeza ${id} kwa namba.`,
      );
    expect(answer[swahili].three).toEqual(answer[english].three.map(translate));
  });

  const run = async (consent: boolean) => {
    const { root, includePaths, environment } = await prepared();
    const out = join(root, 'out');
    mkdirSync(out);
    const words = ['--model', 'dummy', '--tasks', swahili, '--num_fewshot', '3', '--output_path', out];
    const { status, stderr } = spawnSync(
      python,
      [
        ...['-m', 'lm_eval', 'run', ...words, '--include_path', includePaths[0] ?? ''],
        ...(consent ? ['--confirm_run_unsafe_code'] : []),
      ],
      { env: { ...process.env, ...environment } },
    );
    return { status, stderr: stderr.toString(), files: readdirSync(out, { recursive: true }).length };
  };

  it('runs no program without the harness’s own consent', async () => {
    const refused = await run(false);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain('marked as unsafe');
    expect(refused.files).toBe(0);
    expect(await run(true)).toMatchObject({ status: 0, files: 2 });
  });

  it('scores answers by their tests', async () => {
    const { into } = await prepared();
    const answers = [
      'def add_11(n):\n    return n + 11\n',
      'def add_12(n):\n    return n\n',
      'import sys\nsys.exit(0)',
    ];
    expect(await ask('answers', { file: join(into, `${swahili}.yaml`), answers })).toEqual([1, 0, 0]);
  });
});
