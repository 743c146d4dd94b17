import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { rebuildCommand } from '../../src/cli/work/studies/rebuild.js';
import {
  analyze,
  attest,
  bundle,
  evaluateExperiment,
  formatTables,
  rebuild,
  runExperiment,
  scoreTables,
  verify,
  writeReport,
} from '../../src/index.js';
import { tarHeader } from '../../src/study/bundle/tar.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { contentsOf, writeExperiment } from '../fixtures/experiment.js';
import { archiveOf, entriesOf, withSums } from './archives.js';

type Json = Readonly<Record<string, unknown>>;

vi.setConfig({ testTimeout: 300_000 });

const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: soup, method: soup, weights: [uniform, magnitude]}
`;
const merge = 'swahili/math-1+swh-1/default';
const shard = 'model-00001-of-00006.safetensors';

const place = mkdtempSync(join(tmpdir(), 'layerloom-'));
const [study, file, experts] = [join(place, 'study'), join(place, 'study.tar'), join(place, 'experts')];
afterAll(() => rmSync(place, { recursive: true, force: true }));
afterEach(() => {
  vi.useRealTimers();
});

const isWeights = (path: string) => /\.safetensors$/.test(path) && !path.includes('.store');

const copyOfStudy = (): string => {
  const copy = join(temporaryDirectory(), 'study');
  cpSync(study, copy, { recursive: true });
  return copy;
};

describe('a name', () => {
  it.each([
    ['x'.repeat(100), true],
    ['x'.repeat(101), false],
    [`${'x'.repeat(155)}/${'y'.repeat(100)}`, true],
    [`${'x'.repeat(156)}/y`, false],
    [`${'x'.repeat(120)}/`, false],
  ])('of a file in a bundle has parts that a header can hold: %s', (name, isHeld) => {
    expect(tarHeader(name, 0) !== undefined).toBe(isHeld);
  });
});

describe('a bundle', () => {
  it('is the same file for the same study, and other programs read it', async () => {
    const { root, file: experiment } = writeExperiment(merges, { layers: 4 });
    const tasks = { swahili: 'mgsm_direct_sw', english: 'mgsm_direct_en' };
    writeFileSync(
      experiment,
      `${readFileSync(experiment, 'utf8')}\nevaluate: ${JSON.stringify({ tasks })}\n`,
    );
    await runExperiment(experiment, { out: study });
    await evaluateExperiment(study, { lmEval: stubHarness });
    await analyze(
      { base: join(root, 'base'), experts: [join(root, 'math-1'), join(root, 'swh-1')] },
      { out: join(study, 'analysis') },
    );
    await attest(join(study, merge));
    // Experts as others get them: other folders, times and inodes.
    mkdirSync(experts);
    for (const name of ['base', 'math-1', 'math-2', 'swh-1', 'swh-2'])
      cpSync(join(root, name), join(experts, name), { recursive: true });

    const { bytes, sha256, leftOut, merges: count } = await bundle(study, { out: file });
    const whole = readFileSync(file);
    expect([whole.length, count]).toEqual([bytes, 12]);
    expect(leftOut).toEqual(expect.arrayContaining(['the weights of merges', '.store', 'evaluations/logs']));
    expect(await bundle(copyOfStudy(), { out: join(place, 'again.tar') })).toMatchObject({ sha256 });
    expect(readFileSync(join(place, 'again.tar')).equals(whole)).toBe(true);

    const unpacked = temporaryDirectory();
    execFileSync('tar', ['-xf', file, '-C', unpacked]);
    execFileSync('sha256sum', ['-c', '--quiet', 'SHA256SUMS'], { cwd: join(unpacked, 'study') });
    expect(execFileSync('tar', ['-tvf', file], { encoding: 'utf8' })).toMatch(
      /^(-rw-r--r-- 0\/0 +\d+ 1970-01-01 \d\d:\d\d study\/.*\n)+$/,
    );
    const out = join(temporaryDirectory(), 'study');
    await rebuild(file, { out });
    expect(contentsOf(out)).toEqual(contentsOf(join(unpacked, 'study')));
    expect(Object.keys(contentsOf(out)).filter(isWeights)).toEqual([
      'analysis/math-1.mav.safetensors',
      'analysis/swh-1.mav.safetensors',
    ]);
    expect(readFileSync(join(out, merge, 'layerloom.intoto.jsonl'))).toEqual(
      readFileSync(join(study, merge, 'layerloom.intoto.jsonl')),
    );
    await bundle(out, { out: join(place, 'rebuilt.tar') });
    expect(readFileSync(join(place, 'rebuilt.tar')).equals(whole)).toBe(true);
  });

  it("takes the study's own texts, and warns of paths and absent authors", async () => {
    const copy = copyOfStudy();
    const out = join(place, 'own.tar');
    expect((await bundle(copy, { out })).warnings).toEqual([
      expect.stringMatching(/names no authors/),
      expect.stringMatching(/names folders of this machine, such as \//),
    ]);
    writeFileSync(join(copy, 'CITATION.cff'), 'cff-version: 1.2.0\n');
    writeFileSync(join(copy, 'LICENSE'), 'CC-BY-4.0\n');
    writeFileSync(join(copy, 'notes.txt'), 'mine');
    const { warnings, leftOut } = await bundle(copy, { out, force: true });
    expect(warnings).toHaveLength(1);
    expect(leftOut).toContain('notes.txt');
    const names = execFileSync('tar', ['-tf', out], { encoding: 'utf8' }).split('\n');
    expect(names).toEqual(expect.arrayContaining(['study/LICENSE', 'study/README.md']));
    expect(names).not.toContain('study/LICENSE.md');
    expect(execFileSync('tar', ['-xOf', out, 'study/CITATION.cff'], { encoding: 'utf8' })).toBe(
      'cff-version: 1.2.0\n',
    );
  });

  it('keeps the texts of a rebuilt study that somebody edited, and writes the others again', async () => {
    const out = join(temporaryDirectory(), 'study');
    await rebuild(file, { out });
    const own = `${readFileSync(join(out, 'README.md'), 'utf8')}\nOur paper explains the study.\n`;
    writeFileSync(join(out, 'README.md'), own);
    const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as { references: object[] };
    const references = record.references.map((reference) => ({ ...reference, model: './elsewhere' }));
    writeFileSync(join(out, 'experiment.json'), JSON.stringify({ ...record, references }));
    const again = join(temporaryDirectory(), 'again.tar');
    await bundle(out, { out: again });
    const textOf = (name: string) =>
      execFileSync('tar', ['-xOf', again, `study/${name}`], { encoding: 'utf8' });
    expect(textOf('README.md')).toBe(own);
    expect(textOf('LICENSE.md')).toContain('./elsewhere');
  });

  it('is refused with links out of the study, and replaces no file', async () => {
    const copy = copyOfStudy();
    const out = join(copy, 'study.tar');
    await bundle(copy, { out, dryRun: true });
    expect(readdirSync(copy)).not.toContain('study.tar');
    rmSync(join(copy, merge, 'README.md'));
    symlinkSync('layerloom.json', join(copy, merge, 'README.md'));
    await bundle(copy, { out });
    await expect(bundle(copy, { out })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    for (const target of ['/etc/hostname', '../../../../secret', '/absent']) {
      rmSync(join(copy, merge, 'README.md'));
      symlinkSync(target, join(copy, merge, 'README.md'));
      writeFileSync(join(copy, '..', 'secret'), '');
      await expect(bundle(copy, { out, force: true })).rejects.toMatchObject({
        code: 'BUNDLE_REFUSED',
        message: expect.stringMatching(/README\.md (leads out of the study|is a broken link)/),
      });
    }
  });
});

describe('a rebuilt study', () => {
  it('has the tables and the report of the study, byte for byte', async () => {
    const here = join(temporaryDirectory(), 'study');
    cpSync(study, here, { recursive: true });
    const shown = async () => {
      const { tables } = await scoreTables(here);
      expect(tables.length).toBeGreaterThan(2);
      const page = join(temporaryDirectory(), 'page.html');
      vi.useFakeTimers({ now: 1e12, toFake: ['Date'] });
      await writeReport(here, { out: page });
      vi.useRealTimers();
      const formats = (['text', 'markdown', 'csv', 'latex', 'json'] as const).map((format) =>
        formatTables(tables, format),
      );
      return { formats, page: readFileSync(page, 'utf8') };
    };
    const before = await shown();
    renameSync(here, `${here}-of-before`);
    await rebuild(file, { out: here });
    expect(await shown()).toEqual(before);
    expect(before.page).toContain('math-1+swh-1');
  });

  it('has every merge with the recorded bytes, made from experts in another folder', async () => {
    const out = join(temporaryDirectory(), 'study');
    const { again } = await rebuild(file, { out, experts });
    expect(again).toEqual({ same: 12, kept: 0, different: [], failed: [] });
    const weights = contentsOf(study, isWeights);
    expect(Object.keys(weights).length).toBeGreaterThan(12);
    expect(contentsOf(out, isWeights)).toEqual(weights);
    expect((await verify(join(out, merge))).verdict).toBe('intact');
    expect(readdirSync(out).filter((name) => name.startsWith('.'))).toEqual([]);
    await bundle(out, { out: join(place, 'weighty.tar') });
    expect(readFileSync(join(place, 'weighty.tar')).equals(readFileSync(file))).toBe(true);
  });

  it('names the merges of another expert, and why, and has the others', async () => {
    const [root, shown] = [temporaryDirectory(), [] as string[]];
    const [others, out] = [join(root, 'experts'), join(root, 'study')];
    cpSync(experts, others, { recursive: true });
    cpSync(join(experts, 'swh-1'), join(others, 'swh-2'), { recursive: true });
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => shown.push(String(text)) > 0);
    await expect(rebuildCommand({ file, out, experts: others })).rejects.toMatchObject({
      code: 'MERGES_DIFFER',
      message: expect.stringMatching(/^what .* records differs in 6 merges: swahili\/math-1\+swh-2\/default/),
    });
    vi.restoreAllMocks();
    expect(shown.join('')).toMatch(
      /6 merges have the recorded SHA-256.*differs: swahili\/math-1\+swh-2\/default: \d+ files of weights differ: model\.safetensors of swh-2 has the SHA-256 \w{12}… here, but had \w{12}…/s,
    );
    expect((await verify(join(out, merge))).verdict).toBe('intact');
    expect(readdirSync(join(out, 'swahili/math-1+swh-2/default')).filter(isWeights)).toEqual([]);
  });

  it('names the merges whose record states other files, or some twice', async () => {
    const root = temporaryDirectory();
    const edits: Readonly<Record<string, (record: Json) => Json>> = {
      [merge]: (record) => ({ ...record, sideFiles: [] }),
      'swahili/math-1+swh-2/default': ({ shards, ...record }) => ({
        ...record,
        shards: (shards as unknown[]).map(() => (shards as unknown[])[0]),
      }),
    };
    const edited = entriesOf(readFileSync(file))
      .map((entry) => ({ ...entry, name: entry.name.replace('study/', '') }))
      .filter(({ name }) => name !== 'SHA256SUMS')
      .map((entry) => {
        const edit = edits[entry.name.replace('/layerloom.json', '')];
        if (edit === undefined) return entry;
        return { ...entry, content: JSON.stringify(edit(JSON.parse(entry.content.toString()) as Json)) };
      });
    writeFileSync(join(root, 'edited.tar'), archiveOf(withSums(edited)));
    const { again } = await rebuild(join(root, 'edited.tar'), { experts });
    expect(again).toMatchObject({ same: 10, failed: [] });
    expect(again?.different.map(({ merge: name, reason }) => [name, reason])).toEqual([
      [merge, expect.stringMatching(/^the weights are equal, but .*config\.json.* differ$/)],
      [
        'swahili/math-1+swh-2/default',
        expect.stringMatching(/^it has \d weight files, but the record lists 1$/),
      ],
    ]);
  });

  it('lacks the merges of absent experts, says which and why, and gets them by resume', async () => {
    const [root, shown] = [temporaryDirectory(), [] as string[]];
    const [others, out] = [join(root, 'experts'), join(root, 'study')];
    for (const name of ['base', 'math-1', 'swh-1'])
      cpSync(join(experts, name), join(others, name), { recursive: true });
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => shown.push(String(text)) > 0);
    await expect(rebuildCommand({ file, out, experts: others })).rejects.toMatchObject({
      code: 'BATCH_INCOMPLETE',
      exitCode: 4,
      message: expect.stringMatching(
        /^9 of 12 merges fail \([\s\S]*swh-2[\s\S]*; the others are in .*resume`$/,
      ),
    });
    vi.restoreAllMocks();
    expect(shown.join('')).toMatch(
      /3 merges have the recorded SHA-256.*not made: swahili\/math-1\+swh-2\/default: .*swh-2/s,
    );
    expect((await verify(join(out, merge))).verdict).toBe('intact');
    const { tables } = await scoreTables(out);
    expect(tables).toEqual((await scoreTables(study)).tables);

    for (const name of ['math-2', 'swh-2'])
      cpSync(join(experts, name), join(others, name), { recursive: true });
    await expect(rebuild(file, { out, experts: others })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    const before = statSync(join(out, merge, shard));
    const { again } = await rebuild(file, { out, experts: others, resume: true });
    expect(again).toEqual({ same: 12, kept: 3, different: [], failed: [] });
    expect(statSync(join(out, merge, shard))).toMatchObject({ ino: before.ino });
    expect(contentsOf(out, isWeights)).toEqual(contentsOf(study, isWeights));
    expect(readdirSync(out).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(readdirSync(root).sort()).toEqual(['experts', 'study']);
  });

  it('is there without merges if all experts are absent', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'experts'));
    const { again } = await rebuild(file, { out: join(root, 'study'), experts: join(root, 'experts') });
    expect([again?.same, again?.failed.length]).toEqual([0, 12]);
  });

  it('continues after an interruption, and keeps what has its SHA-256', async () => {
    const out = join(temporaryDirectory(), 'study');
    const interruption = new AbortController();
    const made = () =>
      ['default', 'soup/uniform']
        .map((name) => join(out, `swahili/math-1+swh-1/${name}`, shard))
        .filter(existsSync);
    const waiting = setInterval(() => {
      if (made().length > 0) interruption.abort();
    }, 1);
    await expect(
      rebuild(file, { out, experts, signal: interruption.signal, threads: 1 }),
    ).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: expect.stringMatching(/what is done waits in .*\/study for/),
    });
    clearInterval(waiting);
    const [kept = ''] = made();
    const { ino } = statSync(kept);
    const { again } = await rebuild(file, { out, experts, resume: true });
    expect(again).toMatchObject({ same: 12, different: [], failed: [] });
    expect(again?.kept).toBeGreaterThan(0);
    expect(again?.kept).toBeLessThan(12);
    expect(statSync(kept).ino).toBe(ino);
    expect(contentsOf(out, isWeights)).toEqual(contentsOf(study, isWeights));
    expect(readdirSync(out).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('keeps a file that somebody put into it, and says so', async () => {
    const out = join(temporaryDirectory(), 'study');
    await rebuild(file, { out });
    writeFileSync(join(out, merge, shard), 'mine');
    const { again } = await rebuild(file, { out, experts, resume: true });
    expect(again).toMatchObject({ same: 11, kept: 0, failed: [] });
    expect(again?.different).toEqual([
      {
        merge,
        reason: expect.stringMatching(
          /^the study already contains another model-00001-of-00006\.safetensors, which is kept/,
        ),
      },
    ]);
    expect(readFileSync(join(out, merge, shard), 'utf8')).toBe('mine');
    expect(await rebuild(file, { out, resume: true })).toMatchObject({ again: null });
    writeFileSync(join(out, 'SHA256SUMS'), '');
    await expect(rebuild(file, { out, resume: true })).rejects.toMatchObject({
      code: 'OUTPUT_EXISTS',
      message: expect.stringMatching(/was not rebuilt from this bundle: its SHA256SUMS differs/),
    });
  });

  it('is absent if its folder of experts is, or its work is interrupted before it is whole', async () => {
    const root = temporaryDirectory();
    const out = join(root, 'study');
    await expect(rebuild(file, { out, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    await expect(rebuild(file, { out, experts: join(root, 'absent') })).rejects.toMatchObject({
      code: 'READ_FAILED',
    });
    expect(readdirSync(root)).toEqual([]);
  });
});
