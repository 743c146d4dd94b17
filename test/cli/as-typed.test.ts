import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { shortHelp } from '../../src/cli/framework/help.js';
import { misspeltVariables } from '../../src/cli/misspelt-variables.js';
import { inPlaceOf, otherCommands } from '../../src/cli/other-commands.js';
import { printJson, printLine, printTo } from '../../src/cli/print.js';
import { buildProgram } from '../../src/cli/program.js';
import { commandOf } from '../../src/cli/usage-error.js';
import { argument, layerloomCommand } from '../../src/core/base/errors/command-line.js';
import { methods } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli, cliProcess } from '../fixtures/cli.js';
import { fineTune } from '../fixtures/family.js';

// Command lines as people type them who know other programs. Each message says what is wrong and what to type.

let root = '';
beforeAll(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
});
afterAll(() => {
  vi.unstubAllEnvs();
});

const swap = 'swap --task ./math --lang ./swh';
const layers = '--bottom 1 --top 1';

/** A line, its exit code and parts of its message; `'` quotes words. */
const mistakes: readonly (readonly [line: string, code: number, ...parts: string[]])[] = [
  // Options by other names.
  [`${swap} --output ./out`, 2, 'did you mean --out?'],
  [`${swap} --output_dir ./out`, 2, 'did you mean --out?'],
  [`${swap} --save-dir ./out`, 2, 'did you mean --out?'],
  [`${swap} -O ./out`, 2, 'did you mean --out?'],
  [`${swap} -out ./out`, 2, 'unknown option -out; did you mean --out?'],
  [`${swap} -out=./out`, 2, 'unknown option -out; did you mean --out?'],
  [`swap –task ./math –lang ./swh -o ./out`, 2, 'unknown option –task; did you mean --task?'],
  [`${swap} -o=./out`, 2, '-o='],
  [`${swap} ' ' -o ./out`, 2, 'a space seems to follow the \\'],
  ['swap -task ./math -lang ./swh -o ./out', 2, 'did you mean --task?'],
  [`${swap} -o ./out --task-model ./math`, 2, 'did you mean --task?'],
  [`${swap} -o ./out --base_model ./math`, 2, 'did you mean --base?'],
  [`${swap} -o ./out --bot 2`, 2, 'did you mean --bottom or --bottom-transition?'],
  [`${swap} -o ./out --Bottom 2`, 2, 'did you mean --bottom?'],
  [`${swap} -o ./out --layers 0-4`, 2, 'did you mean --lang-layers?'],
  [`${swap} -o ./out --transition 1`, 2, '--bottom-transition and --top-transition'],
  ['swap --expert ./math --lang ./swh -o ./out', 2, 'name the experts with --task and --lang'],
  ['swap --task ./math --target ./swh -o ./out', 2, 'name the experts with --task and --lang'],
  [`${swap} -o ./out --dtype float8`, 2, 'got "float8"\n'],
  [`${swap} -o ./out --bottom 40`, 2, 'the models have 4; lower the counts or use --scaled'],
  [`${swap} -o ./out --bf16`, 2, 'did you mean --dtype?'],
  [`${swap} -o ./out --num_workers 4`, 2, 'did you mean --threads?'],
  [`${swap} -o ./out -y`, 2, 'did you mean --force?'],
  [`${swap} -o ./out --t5`, 2, 'unknown option --t5; see `layerloom swap --help`'],
  ['swap --math ./math --swahili ./swh -o ./out', 2, '--math; swap needs --task <model> and --lang <model>'],
  ['swap --models ./math ./swh -o ./out', 2, 'models are named by --task and --lang'],
  ['soup --models ./math ./swh -o ./out', 2, 'without an option: `layerloom soup [options] <model...>`'],
  ['merge --recipe r.yaml -o ./out', 2, 'without an option'],
  ['verify --output ./out', 2, 'without an option'],
  ['verify --check-inputs ./math', 2, 'did you mean --against-inputs?'],
  ['evaluate ./math --task x', 2, 'did you mean --tasks?'],
  ['evaluate ./math --num_fewshot 8', 2, '--set fewshot=8'],
  ['evaluate ./math --data ./mgsm', 2, '--set data=./mgsm'],
  ['evaluate ./math --model hf', 2, '--set backend=hf'],
  ['evaluate ./math --tasks x --print --dry-run', 2, 'give one of them'],
  ['evaluate ./math --tasks x --set shots=2', 2, '--set shots=2: no such setting; expected one of tasks'],
  ['evaluate ./math --tasks x --set fewshots=2', 2, 'no such setting; did you mean fewshot?'],
  ['evaluate ./math --benchmarks mgms', 2, 'did you mean mgsm?'],
  ['try hello ./math', 2, 'the prompt follows the models'],
  ['advise ./math', 2, 'did you mean suggest?'],
  ['completion', 2, ': bash, zsh or fish'],
  ['lora-extract ./math', 2, 'did you mean extract-lora?'],
  ["''", 2, "unknown command ''"],
  ['batch r.yaml -o ./out --only x', 2, '--write names the merges'],
  [`-o ./out ${swap}`, 2, '-o is an option of commands'],
  [`${swap} -o ./o\ufffdt`, 2, 'has bytes that are not UTF-8'],
  ['swap —-task ./math', 2, 'unknown option —-task; did you mean --task?'],
  [`${swap} -o ./out --push-to-hub a/b`, 2, 'merge first, then upload with layerloom push'],
  [`${swap} -o ./out --revision main`, 2, 'org/name@main'],
  [`${swap} -o ./out --token hf_secret`, 2, 'HF_TOKEN'],
  ['analyze --plot --base ./math ./swh -o ./an', 2, 'the page always contains the pictures; leave it out'],
  // mergekit's habits.
  ['merge ties.yaml ./out', 2, 'only <recipe>', 'did you mean -o '],
  ['merge ties.yaml -o ./out --cuda', 2, 'merging uses processor cores, not a GPU; leave it out'],
  ['merge ties.yaml -o ./out --copy-tokenizer', 2, 'the tokenizer is always copied'],
  [
    'merge ties.yaml -o ./out --cuda=0 --allow-crimes',
    2,
    'to be left out: --cuda (',
    '--allow-crimes (incompatible models',
  ],
  ['merge ties.yaml -o ./out --set density=2', 2, 'settings are in the recipe'],
  ['merge ./out ties.yaml', 2, 'give the recipe first, and the output with -o'],
  [`${swap} -o ./out --jobs 4`, 2, 'with --threads threads'],
  ["soup './exp*' -o ./out", 3, 'a shell expands `*` outside of quotes'],
  ['inspect ./pointer', 3, 'is a pointer of Git LFS', '`git lfs pull`'],
  ['merge - -o ./out', 2, 'standard input is not read'],
  ['merge ties.yaml -o ./out --allow-crimes', 2, 'incompatible models are always refused'],
  ['merge ties.yaml -o ./out --lazy-unpickle', 2, 'merging always needs little memory'],
  ['merge ties.yaml -o ./out --low-cpu-memory', 2, 'merging always needs little memory'],
  ['merge ties.yaml -o ./out --random-seed 7', 2, 'in a recipe: seed: 7'],
  ['merge ties.yaml -o ./out --trust-remote-code', 2, 'merging never runs code of models'],
  ['merge ./math ./swh -o ./out', 2, 'soup averages models'],
  ['soup --method ties ./math ./swh -o ./out', 2, 'write the method and its settings into a recipe'],
  // Commands by other names.
  ['average ./math ./swh -o ./out', 2, 'did you mean soup?'],
  ['merge_models ./math', 2, 'did you mean merge?'],
  ['mergekit-yaml r.yaml ./out', 2, 'did you mean merge?'],
  ['layer_swap', 2, 'did you mean swap?'],
  ['Soup ./math ./swh', 2, 'did you mean soup?'],
  ['slerp ./math ./swh', 2, 'it is a method: name it in a recipe, and run that with merge'],
  ['eval ./math', 2, 'did you mean evaluate?'],
  ['info ./math', 2, 'did you mean inspect?'],
  ['validate ./math', 2, 'did you mean verify?'],
  ['convert ./math', 2, 'did you mean export?'],
  ['version', 2, 'did you mean --version?'],
  ['download org/name', 2, '--download'],
  ['init', 2, 'train init or experiment init'],
  ['experiment run x.yaml', 2, 'unknown command experiment run; did you mean batch?'],
  ['cache clean', 2, 'did you mean cache gc?'],
  ['r.yaml -o ./out', 2, 'did you mean merge r.yaml?'],
  ['./math', 2, 'did you mean inspect '],
  ['frobnicate', 2, 'unknown command frobnicate; see `layerloom --help`'],
  ['frobnicate -h', 2, 'unknown command frobnicate'],
  ['frobnicate --help', 2, 'unknown command frobnicate'],
  ['experiment frob', 2, 'unknown command experiment frob; see `layerloom experiment --help`'],
  ['--verbose', 2, '--verbose is an option of commands'],
  // Words that are missing, left over, doubled or swallowed.
  ['swap', 2, 'swap needs --task <model> and --lang <model>; see'],
  [
    'swap ./math ./swh -o ./out',
    2,
    'takes no arguments',
    'are too many',
    'it needs --task <model> and --lang',
  ],
  [`${swap}`, 2, '--out is missing: name the directory to create'],
  ['analyze --base ./math ./swh', 2, '--out is missing: name the directory to create'],
  [`${swap} -o`, 2, '--out <dir> has no value'],
  [`${swap} -o --force`, 2, '--out <dir> has no value, because the option --force follows'],
  ['swap --task --lang ./swh -o ./out', 2, '--task <model> has no value, because the option --lang follows'],
  [`${swap} --task ./other -o ./out`, 2, '--task is given twice'],
  [`${swap} --language ./other -o ./out`, 2, 'is given twice'],
  [`${swap} -o ./out -o ./out2`, 2, '--out is given twice'],
  [`${swap} -o ./out --weights 0.5 0.5`, 2, 'join several values by commas'],
  [`${swap} -o ''`, 2, '--out is empty'],
  ["inspect ''", 2, 'model is empty'],
  ['diff ./math', 2, 'diff needs <b>, the model to compare'],
  ['soup -o ./out', 2, 'soup needs <model...>'],
  ['soup ./math ./math -o ./out', 2, 'is given twice; leave one out'],
  ['apply ./lora ./math -o ./out', 2, 'give the base first'],
  // Paths and addresses.
  ['inspect https://huggingface.co/org/name', 3, 'org/name@main: no such model'],
  ['inspect https://huggingface.co/org/name/tree/v1', 3, 'org/name@v1: no such model'],
  ['inspect https://huggingface.co/org/name/tree/refs%2Fpr%2F1', 3, 'org/name@refs/pr/1: no such'],
  ['inspect hf.co/org/name/', 3, 'org/name@main: no such model'],
  ['inspect hf://org/name@v1', 3, 'org/name@v1: no such model'],
  ['soup a=https://huggingface.co/org/name ./math -o ./out', 3, 'org/name@main: no such model'],
  ['swap --task hf.co/org/b+hf.co/org/l --lang ./swh -o ./out', 3, 'org/b@main: no such model'],
  ['inspect https://huggingface.co/org/name/blob/main/config.json', 2, 'the address of a model'],
  ['inspect https://huggingface.co/datasets/org/name', 2, 'the address of a model'],
  ['inspect hf://org/name@../../token', 2, 'the address of a model'],
  ['inspect https://huggingface.co/org/name/tree/..%2F..%2Ftoken', 2, 'the address of a model'],
  ['push ./math https://huggingface.co/org/name/tree/dev', 2, 'given by --revision'],
  ['push ./math https://huggingface.co/datasets/org/name', 2, 'the address of a model'],
  ['push hf.co/org/name org/name', 3, 'is a model of the hub; fetch it whole by `hf download org/name'],
  ['export https://hf.co/org/name/tree/v1 --to gguf --type q4_0', 3, 'download org/name --revision v1'],
  ['push org/nome org/name', 3, 'is a model of the hub'],
  ['store ls ./mth', 3, 'no such store; did you mean ', '/math?'],
  ['cache gc https://huggingface.co/org/name/blob/main/x', 2, 'the address of a model'],
  ['inspect git@hf.co:org/name', 3, 'named as org/name'],
  ['inspect ./mth', 3, 'did you mean ', '/math?'],
  ['inspect ./mth/config.json', 3, 'did you mean ', '/math/config.json?'],
  ['push ./mth org/name', 3, 'did you mean ', '/math?'],
  ['diff ./math ./shw', 3, 'did you mean ', '/swh?'],
  ['verify ./mth', 3, 'did you mean ', '/math?'],
  ['table ./mth', 3, 'did you mean', 'math?'],
  ['tasks data ./mth', 3, 'does not exist', 'did you mean ', '/math?'],
  ['tasks data ./notes.txt', 3, 'notes.txt is a file'],
  ['doctor ./mth', 3, 'no such file or directory (did you mean ', '/math?)'],
  ['select --scores ./nots.txt -o ./s.json', 2, '/notes.txt?); give a CSV file'],
  ['merge ./math -o ./out', 2, 'is a directory; expected the file of a recipe'],
  ['evaluate ./math --tasks x --limit 0', 2, '--limit: expected a whole number'],
  ['train status ./mth', 3, 'no such file or directory'],
  ['experiment init --preset smoke -o ./nowhere/e.yaml', 2, 'no such file or directory'],
  [`${swap} ${layers} -o ./notes.txt/out`, 1, 'part of its path'],
  ['analyze --base ./math ./swh -o ./notes.txt', 1, 'in the way'],
  ['inspect s3://bucket/name', 3, 'models on huggingface.co'],
  ['inspect org/name:main', 3, 'org/name@main'],
  ['inspect gpt2', 3, 'org/name'],
  ['inspect \'"./math"\'', 3, 'the quotes are part of the name'],
  ['inspect C:\\models\\math', 3, 'write / in place of \\'],
  ["inspect '$HOME/math'", 2, '`$HOME` was not expanded by your shell'],
  [`${swap} --out=~/merged`, 2, '`~` was not expanded by your shell'],
  ['soup ./math,./swh -o ./out', 3, 'separate them by spaces'],
  ['inspect ./empty', 3, 'holds no weights of a model: it is empty'],
  ['inspect ./gguf', 3, 'it has 2 files of weights; give one of them'],
  ['inspect ./notes.txt', 3, 'is no file of weights'],
  ['evaluate ./nope', 3, 'does not exist; run `layerloom batch'],
  ['evaluate ./notes.txt', 3, 'is a file, not a directory'],
  // Values.
  [`${swap} -o ./out --bottom=five`, 2, '--bottom: expected a whole number of layers'],
  [`${swap} -o ./out --dtype int8`, 2, 'one of bfloat16, float16, float32'],
  [`${swap} -o ./out --link hardlink`, 2, 'did you mean hard?'],
  ['relayout ./math -o ./out --max-shard-size big', 2, 'a size such as 5GB or 500MB'],
  ['relayout ./math -o ./out --max-shard-size 5', 2, 'a size with its unit'],
];

/** Lines that are taken as they are meant. */
const taken = [
  ...['5000000000', '5GB', '5G', '5gb', '5000MB', '5B', '5GiB', '5e9', '0.5GB', "'5 GB'"].map(
    (size) => `relayout ./math -o ./out --layout size --max-shard-size ${size} --dry-run -q`,
  ),
  `${swap} -o ./out ${layers} --out-shard-size 5B --dry-run -q`,
  `swap --task ./math --language ./swh -o ./out ${layers} --dry-run -q`,
  `${swap} --task ./math -o ./out ${layers} --dry-run -q`,
  `${swap} -o ./out ${layers} --bottom 2 --dry-run -q`,
  '-v',
  '-h swap',
  'help swap -h',
  'swap help',
  'experiment help',
];

const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain ?? '').replaceAll(/(?<=^|=|,)\.(?=\/)/g, root),
  );

const filesIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();

const prepare = (): void => {
  root = temporaryDirectory();
  const base = llama({ layers: 4 });
  for (const [seed, name] of ['math', 'swh'].entries())
    writeCheckpoint(join(root, name), { ...base, tensors: fineTune(base.tensors, seed + 12) });
  writeAdapter(join(root, 'lora'), lora({ shapes: llamaShapes({ layers: 4 }) }));
  for (const name of ['empty', 'gguf', 'pointer']) mkdirSync(join(root, name));
  writeFileSync(
    join(root, 'pointer', 'model.safetensors'),
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 123456789\n`,
  );
  for (const name of ['gguf/a.gguf', 'gguf/b.gguf', 'notes.txt']) writeFileSync(join(root, name), 'GGUF');
};

describe('a line as people type it', () => {
  it('is refused with what to type instead, in a few words, and leaves nothing', {
    timeout: 120_000,
  }, async () => {
    prepare();
    const before = filesIn(root);
    for (const [line, code, ...parts] of mistakes) {
      const { stdout, stderr, code: ended } = await cli(words(line));
      expect({ line, ended, stdout, stderr }).toEqual({
        line,
        ended: code,
        stdout: '',
        stderr: expect.any(String),
      });
      for (const part of parts) expect(stderr, line).toContain(part);
      expect(stderr.trimEnd().split('\n').length, line).toBeLessThanOrEqual(3);
      expect(stderr, line).not.toMatch(
        /\n {4}at |E(NOENT|EXIST|NOTDIR|ISDIR|ACCES)|undefined|layerloom-partial|hf_secret/,
      );
      expect(filesIn(root), line).toEqual(before);
    }
  });

  it('is taken as it is meant', { timeout: 120_000 }, async () => {
    prepare();
    for (const line of taken) expect(await cli(words(line)), line).toMatchObject({ code: 0, stderr: '' });
  });

  it('names what it made: the model of an adapter, or an adapter', async () => {
    prepare();
    const applied = await cli(words('apply ./math ./lora --dry-run -o ./out'));
    expect(applied.stdout).toMatch(/^Relayout\n/);
    writeAdapter(join(root, 'other'), lora({ shapes: llamaShapes({ layers: 4 }), seed: 2 }));
    const { stdout } = await cli(words('soup ./lora ./other --dry-run -o ./out'));
    expect(stdout).toMatch(/^Soup, as a LoRA adapter: weights 1,1\n/);
  });

  it('warns of a soup of one model', async () => {
    prepare();
    const { stderr } = await cli(words('soup ./math -o ./out'));
    expect(stderr).toMatch(/^warning: .* is the only model, so the output equals it\n$/);
  });
});

describe('a misspelt variable', () => {
  it('is named with the one that is meant', () => {
    for (const [name, meant] of [
      ['LAYERLOOM_CAHCE', 'LAYERLOOM_CACHE'],
      ['LAYERLOOM_CACHE_DIR', 'LAYERLOOM_CACHE'],
      ['LAYERLOM_ISA', 'LAYERLOOM_ISA'],
      ['layerloom_isa', 'LAYERLOOM_ISA'],
      ['LAYERLOOMADDON', 'LAYERLOOM_ADDON'],
    ] as const)
      expect(misspeltVariables({ [name]: 'x' })).toEqual([
        `the environment variable ${name} is ignored; did you mean ${meant}?`,
      ]);
  });

  it('is named with the option that is meant', () => {
    expect(misspeltVariables({ LAYERLOOM_THREADS: '2' })).toEqual([
      'the environment variable LAYERLOOM_THREADS is ignored; --threads sets the number of threads',
    ]);
  });

  it('is none that is ours, of our tests, or of another program', () => {
    const names = ['ISA', 'ADDON', 'CACHE', 'PYTHON', 'OLAH', 'NAME', 'MODEL', 'PORT', 'JOB', 'SEED'];
    const others = [...names.map((name) => `LAYERLOOM_${name}`), 'LAYER', 'LAYERS_CACHE', 'HF_HOME', 'PATH'];
    expect(misspeltVariables(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([]);
  });

  it('gives a warning before the command runs', async () => {
    vi.stubEnv('LAYERLOOM_ISSA', 'scalar');
    const { stderr } = await cli(['tasks', 'list']);
    expect(stderr).toMatch(/^warning: the environment variable LAYERLOOM_ISSA is ignored/);
    expect((await cli(['tasks', 'lst', '-q'])).stderr).not.toContain('warning');
    vi.stubEnv('LAYERLOOM_ISSA', undefined);
  });
});

describe('a name of another program', () => {
  const program = buildProgram();
  const paths = describeCommands(program).map(({ path }) => path.join(' '));

  it('leads to commands that there are, and is none itself', () => {
    for (const [word, command] of otherCommands) {
      expect(paths.includes(command) || command.startsWith('--'), command).toBe(true);
      expect(paths, word).not.toContain(word);
    }
  });

  it('is known of every method that has no command', () => {
    const ownCommands = new Set([...paths, ...otherCommands.keys()]);
    for (const name of methods.keys())
      if (!ownCommands.has(name.replaceAll('_', ''))) expect(inPlaceOf(name), name).toBeDefined();
  });
});

describe('-h', () => {
  it('prints some options and an example, and where all are', async () => {
    const { code, stdout } = await cli(['swap', '-h']);
    expect(code).toBe(0);
    expect(stdout).toContain('--task <model>');
    expect(stdout).toContain('$ layerloom swap --task');
    expect(stdout).toMatch(/\nAll options: layerloom swap --help\n$/);
    expect((await cli(['swap', '--help'])).stdout.length).toBeGreaterThan(2 * stdout.length);
  });

  it('is short for every command', () => {
    const program = buildProgram();
    for (const { path } of describeCommands(program)) {
      const lines = shortHelp(commandOf(program, path).command).split('\n');
      expect(lines.length, path.join(' ')).toBeLessThanOrEqual(34);
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});

describe.each([40, 60, 100])('a terminal of %i columns', (columns) => {
  const { stdout } = process;
  const was = { isTTY: stdout.isTTY, columns: stdout.columns };
  const wide = <T>(work: () => T): T => {
    Object.assign(stdout, { isTTY: true, columns });
    try {
      return work();
    } finally {
      Object.assign(stdout, was);
    }
  };

  it('holds every line of help', () => {
    vi.stubEnv('NO_COLOR', '1');
    const program = buildProgram();
    for (const { path, usage } of describeCommands(program)) {
      const { command } = commandOf(program, path);
      const text = wide(() => `${shortHelp(command)}\n${command.helpInformation()}`);
      // Terms, the usage and examples are not broken within a word.
      const tooLong = text.split('\n').filter((line) => line.length > columns && line.trim().includes(' '));
      expect(
        tooLong.filter(
          (line) => !/^ {2}(-|<|\[|[a-z-]+ <)|^ +\$|^Usage|^All |^ +--/.test(line) && !line.includes(usage),
        ),
        path.join(' '),
      ).toEqual([]);
    }
    vi.unstubAllEnvs();
  });
});

describe('a narrow terminal', () => {
  it('breaks long lines between words, and no JSON', () => {
    const { stdout } = process;
    const was = { isTTY: stdout.isTTY, columns: stdout.columns };
    let printed = '';
    const print = (text: string) => {
      printed += text;
    };
    printTo({ out: print, err: print });
    Object.assign(stdout, { isTTY: true, columns: 40 });
    try {
      printLine(`  output  ${'word '.repeat(20).trim()}`);
      expect(printed.split('\n').every((line) => line.length <= 40)).toBe(true);
      expect(printed).toMatch(/^ {2}output {2}word .*\n {4}word /);
      printed = '';
      // Commands and paths are copied to be run.
      const command = layerloomCommand(
        'swap',
        '--task',
        argument('./math expert'),
        '--lang',
        argument('./swh'),
      );
      printLine(command);
      printLine('/tmp/a folder/of a name with many words');
      expect(printed).toBe(`${command}\n/tmp/a folder/of a name with many words\n`);
      printed = '';
      const value = { text: 'word '.repeat(20) };
      printJson(value);
      expect(JSON.parse(printed)).toEqual(value);
    } finally {
      Object.assign(stdout, was);
      printTo({ out: (text) => void stdout.write(text), err: (text) => void process.stderr.write(text) });
    }
  });
});

describe('colour in help', () => {
  it('is only where the terminal has it and NO_COLOR is not set', async () => {
    const coloured = '\u001b[';
    for (const flag of ['-h', '--help']) {
      const { stdout } = await cliProcess(['swap', flag], { FORCE_COLOR: '1', NO_COLOR: undefined });
      expect(stdout).toContain(coloured);
      for (const env of [
        { NO_COLOR: '1', FORCE_COLOR: undefined },
        { NO_COLOR: undefined, FORCE_COLOR: undefined },
      ])
        expect((await cliProcess(['swap', flag], env)).stdout).not.toContain(coloured);
    }
  });
});
