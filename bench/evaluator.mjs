// @ts-check
// The evaluator's own work, by number of models.
//
//   npm run bench:evaluator [-- --models 1000,2000,4000 --dir DIR]
//
// Scores experiments with so many merges by a stand-in for lm_eval: a shell script that copies one result, so
// only layerloom's work is measured. Merges are directories without weights; a result needs only their
// identity. Prints the evaluating process's processor time, total and per model; the latter must not grow.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { evaluateExperiment } from 'layerloom';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: '1000,2000,4000' },
    dir: { type: 'string', default: tmpdir() },
    /** Internal: the experiment to evaluate in this process. */
    run: { type: 'string' },
    harness: { type: 'string', default: '' },
  },
});

const task = 'mgsm_direct_sw';

/**
 * Writes an experiment like a batch, with merges without weights.
 *
 * @param {string} directory
 * @param {number} count
 */
const writeExperiment = (directory, count) => {
  const names = Array.from({ length: count }, (_, index) => `swahili/math-1+swh-1/grid/${index}`);
  for (const [index, name] of names.entries()) {
    mkdirSync(join(directory, name), { recursive: true });
    const shards = [{ file: 'model.safetensors', bytes: 0, key: index.toString(16).padStart(64, '0') }];
    writeFileSync(join(directory, name, 'layerloom.json'), JSON.stringify({ shards }));
  }
  const numbers = { bytesRead: 0, bytesWritten: 0, seconds: 0 };
  const merges = names.map((name) => ({
    name,
    ...{ language: 'swahili', task: 'math-1', languageExpert: 'swh-1' },
    ...{ method: 'layer_swap', configuration: {}, path: name, state: 'done' },
    shards: { shared: 0, new: 1 },
    ...numbers,
  }));
  const record = {
    ...{ layerloom: '0.1.0', state: 'done', experiment: '', base: null, store: '', merges, references: [] },
    evaluate: { harness: 'lm-eval', tasks: { swahili: task } },
    cost: {},
    ...numbers,
  };
  writeFileSync(join(directory, 'experiment.json'), JSON.stringify(record, null, 2));
};

/** Makes a program that copies the output of one run of the tests' stub. @param {string} folder */
const writeHarness = (folder) => {
  const stub = fileURLToPath(new URL('../test/fixtures/lm-eval.mjs', import.meta.url));
  const config = join(folder, 'config.json');
  const asked = {
    ...{ model: 'hf', model_args: { pretrained: '@MODEL@' }, tasks: [task], num_fewshot: 8 },
    ...{ seed: [0, 1234, 1234, 1234], output_path: join(folder, 'made') },
  };
  writeFileSync(config, JSON.stringify(asked));
  const { status, stderr } = spawnSync(process.execPath, [stub, 'run', '--config', config]);
  if (status !== 0) throw new Error(String(stderr));
  const made = readdirSync(asked.output_path, { recursive: true, encoding: 'utf8' });
  const [results = '', samples = ''] = ['results_', 'samples_'].map((start) =>
    join(asked.output_path, made.find((name) => name.includes(`/${start}`)) ?? ''),
  );
  const [resultsName, samplesName] = [results, samples].map((file) => file.slice(dirname(file).length + 1));
  const program = join(folder, 'lm_eval');
  writeFileSync(
    program,
    `#!/bin/sh
if [ "$1" = ls ]; then echo '|${task} |tasks/${task}.yaml |'; exit; fi
value() { sed -n 's/.*"'"$1"'": *"\\([^"]*\\)".*/\\1/p' "$3" | head -n 1; }
out=$(value output_path "$2" "$3") model=$(value pretrained "$2" "$3")
mkdir -p "$out/model"
sed "s|@MODEL@|$model|" ${results} > "$out/model/${resultsName}"
cp ${samples} "$out/model/${samplesName}"
`,
  );
  chmodSync(program, 0o755);
  return program;
};

if (values.run !== undefined) {
  const started = performance.now();
  const { scored, failed } = await evaluateExperiment(values.run, {
    lmEval: values.harness,
    allowServe: true,
  });
  const { user, system } = process.cpuUsage();
  const seconds = (performance.now() - started) / 1000;
  console.log(
    JSON.stringify({ scored: scored.length, failed: failed.length, seconds, own: (user + system) / 1e6 }),
  );
} else {
  const folder = mkdtempSync(join(values.dir, 'layerloom-evaluator-'));
  const program = writeHarness(folder);
  console.log('models  scored  wall s  own processor s  own ms a model');
  for (const count of values.models.split(',').map(Number)) {
    const directory = join(folder, String(count));
    mkdirSync(directory);
    writeExperiment(directory, count);
    const own = [fileURLToPath(import.meta.url), '--run', directory, '--harness', program];
    const { stdout, stderr, status } = spawnSync(process.execPath, own, { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const { scored, seconds, own: cpu } = JSON.parse(stdout);
    const columns = [count, scored, seconds.toFixed(1), cpu.toFixed(1), ((1000 * cpu) / count).toFixed(1)];
    console.log(columns.join('  '));
    rmSync(directory, { recursive: true });
  }
  rmSync(folder, { recursive: true });
}
