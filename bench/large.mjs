// @ts-check
// Commands on checkpoints with the shapes of Llama 3.1 405B: their memory, and whether they succeed.
//
//   npm run bench:large [-- --dir DIR] [--only NAME]...
//
// Checkpoints are sparse: real headers, index and sizes, but few weights of each tensor. Commands that read
// only headers run on all 126 layers (812 GB in 191 files, or in one). Others run on one layer between
// embeddings and head (14.8 GB, with full-size matrices), and on a matrix of more than 2³² elements. Outputs
// are not sparse: DIR needs 45 GB.
//
// A job that reads another's output runs that job first if needed, unmeasured. Prints private memory
// (RssAnon), address space, processor time, and bytes read and written. Exits with 1 if a command failed.
// Takes two hours on two cores.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { hashFiles, hubEnvironment, startHub } from './lib/hub.mjs';
import { largeJobs } from './lib/large-jobs.mjs';
import { largeModels } from './lib/large-models.mjs';
import { measure } from './lib/measure.mjs';

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: tmpdir() },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const directory = mkdtempSync(resolve(values.dir, 'layerloom-large-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

const out = join(directory, 'out');
const models = largeModels(directory);
const [, task, language] = models.layer.models;
const hub = await startHub((id) => ({ 'org/task': task, 'org/lang': language })[id]);
const home = join(directory, 'home');
const env = hubEnvironment(hub.endpoint, home);
const groups = largeJobs(directory, out, models);
const names = groups.flatMap(({ jobs }) => jobs.map(({ name }) => name));
const unknown = values.only.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`no job is named ${unknown.join(' or ')}; jobs are\n  ${names.join('\n  ')}`);

/** @param {number} bytes */
const size = (bytes) =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

/** @param {{ args: string[] }} job */
const carryOut = ({ args }) => measure(process.execPath, [cli, ...args, '-q'], env);

/** The job whose output is in `out`. @type {string | undefined} */
let made;

/**
 * Makes a job's input from another job, or room for its output.
 *
 * @param {import('./lib/large-jobs.mjs').Job} job
 * @param {import('./lib/large-jobs.mjs').Job[]} jobs
 */
const prepare = async ({ name, args, of }, jobs) => {
  if (args.includes('--download')) for (const path of [task, language]) await hashFiles(path);
  if (of !== undefined && of === made) return;
  for (const path of [out, home]) rmSync(path, { recursive: true, force: true });
  const maker = jobs.find((job) => job.name === of);
  if (maker !== undefined) await carryOut(maker);
  made = of ?? name;
};

for (const { title, make, jobs } of groups) {
  const chosen = jobs.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
  if (chosen.length === 0) continue;
  make();
  console.log(`\n| ${title} | private | address space | processor s | read by calls | written by calls |`);
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const job of chosen)
    try {
      await prepare(job, jobs);
      const cost = await carryOut(job);
      console.log(
        `| ${job.name} | ${size(cost.privateBytes)} | ${size(cost.addressBytes)} | ${cost.processorSeconds.toFixed(1)} | ${size(cost.readBytes)} | ${size(cost.writtenBytes)} |`,
      );
    } catch (error) {
      process.exitCode = 1;
      made = undefined;
      console.log(`| ${job.name} | failed |`);
      console.error(error instanceof Error ? error.message : error);
    }
}
hub.close();
