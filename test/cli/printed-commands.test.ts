import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { longOf } from '../../src/cli/options/spellings.js';
import { buildProgram } from '../../src/cli/program.js';
import { Workplace } from '../docs/workplace.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { readSource } from '../fixtures/source-texts.js';

// Tries every command of ours that a message, README or page prints: runs it over small models, and checks
// its promise.

const paths = describeCommands(buildProgram()).map(({ path }) => path.join(' '));
const { texts, commands, options: named } = readSource();

let place: Workplace;
beforeAll(() => {
  place = new Workplace();
}, 60_000);
afterAll(() => place.remove());

/** A scenario's own directory with the small models, in which it runs commands. */
const session = (name: string) => {
  const directory = place.directory(`printed-${name}`);
  const type = (line: string) => place.run(line, directory);
  return {
    directory,
    ok: async (line: string): Promise<string> => {
      const { status, stdout, stderr } = await type(line);
      expect(status, `${line}\n${stderr}`).toBe(0);
      return `${stdout}${stderr}`;
    },
    said: async (line: string): Promise<string> => {
      const { stdout, stderr } = await type(line);
      return `${stdout}${stderr}`;
    },
    write: (file: string, text: string) => writeFileSync(join(directory, file), text),
    read: (file: string) => readFileSync(join(directory, file), 'utf8'),
  };
};

const printedIn = (
  text: string,
  beginning: string,
  filled: Readonly<Record<string, string>> = {},
): string => {
  const found = new RegExp(`layerloom ${beginning}[^\`"\\n;()]*`).exec(text)?.[0].trim();
  expect(found, `no "layerloom ${beginning}" in:\n${text}`).toBeDefined();
  return Object.entries(filled).reduce((line, [word, value]) => {
    expect(line).toContain(word);
    return line.replace(word, value);
  }, found ?? '');
};

const experiment = `base: ./base
tasks: {math-1: ./math-1}
languages:
  swahili: {swh-1: ./swh-1}
merges:
  - {name: default, method: layer_swap}
`;

const evaluateBlock = 'evaluate:\n  tasks: {swahili: mgsm_direct_sw}\n';

const filled = { 'EXPERIMENT.yaml': 'study.yaml' };

interface Scenario {
  readonly title: string;
  readonly calls: readonly string[];
  readonly run: () => Promise<void>;
}

const scenarios: readonly Scenario[] = [
  {
    title: 'an experiment is run, gets an evaluate: block and scores, and a page says how to do it all again',
    calls: [
      'study/experiment/record/no-record.ts: batch EXPERIMENT.yaml -o …',
      'study/experiment/scoring/evaluation-options.ts: batch EXPERIMENT.yaml -o … --resume',
      'cli/work/studies/report.ts: evaluate …',
      'cli/work/studies/table.ts: evaluate …',
      'study/pages/report/provenance.ts: batch EXPERIMENT.yaml -o …',
      'study/pages/report/provenance.ts: evaluate …',
      'study/pages/report/provenance.ts: report … -o report.html',
    ],
    run: async () => {
      const { directory, ok, said, write, read } = session('study');
      write('study.yaml', experiment);
      await ok(printedIn(await said('layerloom table "./my study"'), 'batch', filled));
      write('study.yaml', `${experiment}${evaluateBlock}`);
      await ok(printedIn(await said('layerloom evaluate "./my study"'), 'batch', filled));
      const next = printedIn(await ok('layerloom report "./my study" -o unscored.html'), 'evaluate');
      expect(printedIn(await said('layerloom table "./my study"'), 'evaluate')).toBe(next);
      await ok(next);
      const table = await ok('layerloom table "./my study"');
      expect(table).not.toContain('there are no scores');
      await ok('layerloom report "./my study" -o report.html');
      const page = read('report.html');
      const again = ['batch', 'evaluate', 'report'].map((name) => printedIn(page, name));
      for (const gone of ['my study', 'report.html']) rmSync(join(directory, gone), { recursive: true });
      for (const line of again) await ok(line.replace('EXPERIMENT.yaml', 'study.yaml'));
      expect(await ok('layerloom table "./my study"')).toBe(table);
      expect(read('report.html')).toContain('swahili/math-1+swh-1/default');
    },
  },
  {
    title: 'a bundle tells how to have its tables, its report and its merges again',
    calls: [
      'cli/work/studies/rebuild.ts: table …',
      'study/bundle/about.ts: rebuild study.tar -o ./study',
      'study/bundle/about.ts: table ./study',
      'study/bundle/about.ts: report ./study -o report.html',
      'study/bundle/about.ts: rebuild study.tar -o ./with-weights --experts EXPERTS',
    ],
    run: async () => {
      const { ok, write, read } = session('bundled');
      write('bundled.yaml', experiment);
      await ok('layerloom batch bundled.yaml -o ./made');
      await ok('layerloom bundle ./made -o study.tar');
      const next = printedIn(await ok('layerloom rebuild study.tar -o first'), 'table');
      await ok(next);
      const readme = read('first/README.md');
      const lines = readme.split('\n').filter((line) => line.startsWith('layerloom '));
      expect(lines).toHaveLength(4);
      for (const line of lines) await ok(line.replace('EXPERTS', '.'));
      expect(read('with-weights/experiment.json')).toBe(read('made/experiment.json'));
    },
  },
  {
    title: 'an experiment that init writes is planned, run and scored',
    calls: [
      'study/paper/experiment.ts: batch FILE -o DIR --dry-run',
      'study/paper/experiment-evaluation.ts: evaluate DIR',
    ],
    run: async () => {
      const { ok, read, directory } = session('preset');
      const models = '--base ./base --task math-1=./math-1 --lang swahili:swh-1=./swh-1';
      await ok(`layerloom experiment init --preset figure-3-max ${models} -o study.yaml`);
      const text = read('study.yaml');
      const planned = printedIn(text, 'batch', { FILE: 'study.yaml', DIR: 'study' });
      expect(await ok(planned)).toMatch(/merges/);
      expect(readdirSync(directory)).not.toContain('study');
      await ok(planned.replace(' --dry-run', ''));
      await ok(
        printedIn(text, 'evaluate', {
          'DIR: MGSM with 8 worked examples, exact match, as in the paper.': 'study',
        }),
      );
      expect(JSON.parse(read('study/experiment.json')).merges[0].scores).toBeDefined();
    },
  },
  {
    title: "the recipe of a model card makes the card's model again",
    calls: ['core/plan/card/model-card.ts: merge README.md -o merged …'],
    run: async () => {
      const { directory, ok, read } = session('card');
      await ok('layerloom swap --task ./math-1 --lang ./swh-1 -o ./swapped');
      const line = printedIn(read('swapped/README.md'), 'merge README.md');
      const moved = line.replace('README.md', './swapped/README.md').replace('-o ', '-o ./swapped/');
      await ok(moved);
      expect(hashOf(join(directory, 'swapped/merged'))).toBe(hashOf(join(directory, 'swapped')));
    },
  },
  {
    title: 'the swap that an analysis proposes is the one that it says, of an adapter too',
    calls: ['study/pages/analysis/proposed-swaps.ts: swap --task … --lang … … … … … …'],
    run: async () => {
      const { directory, ok, read } = session('proposed');
      const task = writeAdapter(join(directory, 'my lora'), lora());
      const experts = `"math=./base+${task}" ./swh-1`;
      const text = await ok(
        `layerloom analyze --base ./base ${experts} --task math --lang swh-1 -o ./analysis`,
      );
      const [proposal] = JSON.parse(read('analysis/proposals.json'));
      expect(text).toContain(proposal.command);
      await ok(proposal.command);
      expect(JSON.parse(read('merged-math-swh-1/layerloom.json')).recipe).toMatchObject({
        bottom: proposal.bottom,
        top: proposal.top,
      });
    },
  },
  {
    title: 'models in a file a layer give shards that are links',
    calls: ['cli/text/link-text.ts: relayout MODEL -o OUT --layout layer'],
    run: async () => {
      const { directory, ok } = session('linked');
      const swap = (task: string, language: string, out: string) =>
        ok(`layerloom swap --task ${task} --lang ${language} --link hard -o ${out}`);
      const text = await swap('./math-1', './swh-1', './copied');
      for (const model of ['math-1', 'swh-1'])
        await ok(printedIn(text, 'relayout', { MODEL: `./${model}`, OUT: `./${model}-layers` }));
      expect(await swap('./math-1-layers', './swh-1-layers', './linked')).not.toContain('relayout');
      const files = readdirSync(join(directory, 'linked')).filter((file) => file.endsWith('.safetensors'));
      const links = files.filter((file) => statSync(join(directory, 'linked', file)).nlink > 1);
      expect(links.length).toBeGreaterThanOrEqual(32);
    },
  },
  {
    title: 'the folder of a run that is taken for a model is averaged',
    calls: ['core/models/checkpoint/find-files.ts: soup … --schedule uniform'],
    run: async () => {
      const { ok, said } = session('run');
      await ok(`${printedIn(await said('layerloom inspect ./run'), 'soup')} -o ./averaged`);
    },
  },
  {
    title: 'of several adapters one is written into the base first',
    calls: ['core/models/reading/read-model.ts: relayout … -o DIR'],
    run: async () => {
      const { ok, said } = session('adapters');
      const text = await said('layerloom relayout ./base+./math-lora+./swh-lora -o both');
      await ok(printedIn(text, 'relayout', { DIR: './with-math' }));
      await ok('layerloom relayout ./with-math+./swh-lora -o both');
    },
  },
  {
    title: 'a model with names of a wrapper is written plainly before it is pushed',
    calls: ['core/models/reading/as-loaded.ts: relayout … -o DIR'],
    run: async () => {
      const { directory, ok, said } = session('wrapped');
      const { tensors, config } = llama();
      const named = Object.entries(tensors).map(([name, tensor]) => [`module.${name}`, tensor] as const);
      writeCheckpoint(join(directory, 'wrapped'), { tensors: Object.fromEntries(named), config });
      const text = await said('layerloom push ./wrapped org/name --dry-run');
      await ok(printedIn(text, 'relayout', { DIR: './plain' }));
      await ok('layerloom push ./plain org/name --dry-run');
    },
  },
  {
    title: 'a model that mergekit cannot read is written plainly before its recipe is exported',
    calls: [
      'core/plan/export/mergekit-folders.ts: relayout … --config BASE -o DIR',
      'core/plan/export/mergekit-folders.ts: relayout … -o DIR',
    ],
    run: async () => {
      const { directory, ok, said, write } = session('exported');
      const recipeOf = (model: string) => `method: soup\nmodels: [${model}, ./math-2]\nconfig: ./base\n`;
      rmSync(join(directory, 'math-1/config.json'));
      write('lacking.yaml', recipeOf('./math-1'));
      await ok(
        printedIn(await said('layerloom recipe export lacking.yaml'), 'relayout', {
          BASE: './base',
          DIR: './plain',
        }),
      );
      await ok('layerloom relayout ./math-3 --layout size -o ./one');
      write('file.yaml', recipeOf('./one/model.safetensors'));
      await ok(printedIn(await said('layerloom recipe export file.yaml'), 'relayout', { DIR: './whole' }));
      write('plain.yaml', 'method: soup\nmodels: [./plain, ./whole]\n');
      expect(await ok('layerloom recipe export plain.yaml')).toContain('merge_method: linear');
    },
  },
  {
    title: 'an analysis of all checkpoints lets select choose',
    calls: [
      'api/select-from-files.ts: analyze --base BASE CHECKPOINT... -o DIR',
      'study/search/select/select-checkpoints.ts: analyze --base BASE CHECKPOINT... -o DIR',
    ],
    run: async () => {
      const { ok, said, write } = session('select');
      write('scores.csv', 'name,mgsm\nmath-1,0.4\nmath-2,0.5\nmath-3,0.6\n');
      const select = (analysis: string) =>
        `layerloom select --scores scores.csv --count 2 --analysis ${analysis}`;
      const fill = (DIR: string, checkpoints: string) => ({
        BASE: './base',
        'CHECKPOINT...': checkpoints,
        DIR,
      });
      await ok(printedIn(await said(select('few')), 'analyze', fill('few', './math-1 ./math-2')));
      await ok(printedIn(await said(select('few')), 'analyze', fill('all', './math-1 ./math-2 ./math-3')));
      expect(await ok(select('all'))).toContain('math-3');
    },
  },
  {
    title: 'what an experiment has is listed where a search finds nothing',
    calls: ['study/search/space/experiment-space.ts: batch EXPERIMENT.yaml --dry-run --json'],
    run: async () => {
      const { ok, said, write } = session('search');
      write('study.yaml', `${experiment}${evaluateBlock}`);
      const text = await said('layerloom search study.yaml --lang swahili --entries none -o searched');
      const listed = JSON.parse(await ok(printedIn(text, 'batch', filled)));
      expect(JSON.stringify(listed)).toContain('swahili/math-1+swh-1/default');
    },
  },
  {
    title: 'another directory is examined where one cannot be written',
    calls: ['api/doctor/directory.ts: doctor DIR'],
    run: async () => {
      const { said } = session('doctor');
      const line = printedIn(await said('layerloom doctor /proc'), 'doctor', { DIR: '.' });
      const examined = await said(line);
      expect(examined).toContain('directory');
      expect(examined).not.toContain('cannot be written');
    },
  },
  {
    title: 'a training that needs a partition gets one',
    calls: ['study/training/settings/training-run.ts: partition BASE -o FILE'],
    run: async () => {
      const { ok, said } = session('freeze');
      const init = 'layerloom train init --preset math-1 --way freeze --base ./base -o ./train';
      await ok(printedIn(await said(init), 'partition', { BASE: './base', FILE: 'parts.json' }));
      await ok(`${init} --partition parts.json`);
    },
  },
];

const elsewhere: Readonly<Record<string, string>> = {
  'study/experiment/scoring/requests/left-results.ts: batch EXPERIMENT.yaml -o … --resume':
    'the command of a batch, with names to fill in',
  'study/experiment/scoring/progress/study-progress.ts: batch EXPERIMENT.yaml -o … --resume':
    'typed in by test/experiment/study-walk.test.ts',
  'cli/work/studies/train.ts: train status .': 'read by test/training/status.test.ts',
  'study/scores/reading/load-scores.ts: evaluate … --force …': 'read by test/scores/load-scores.test.ts',
  'api/select-from-files.ts: evaluate …':
    'an experiment whose results were removed; the command is that of a table',
  'core/plan/compile/vocabularies/vocabulary.ts: relayout BASE+ADAPTER -o DIR':
    'the command of several adapters, for moved rows of one',
  'core/plan/compile/vocabularies/vocabulary.ts: relayout … --dtype bfloat16 -o DIR':
    'the command of a quantised base of DoRA, for rows',
  'core/models/adapters/changed.ts: relayout … -o DIR':
    'the command of several adapters, on a base that holds the state of one',
  'core/models/adapters/tuned-tensor.ts: relayout … --dtype bfloat16 -o DIR':
    'typed in by test/quantisation/adapters.test.ts',
  'core/models/adapters/tuned-tensor.ts: relayout … -o DIR':
    'the command of a model in pieces, for an adapter that multiplies',
  'core/models/checkpoint/pieces.ts: relayout … -o DIR': 'typed in by test/checkpoint/distributed.test.ts',
  'core/plan/compile/vocabularies/vocabulary.ts: relayout … -o DIR':
    'the command of a model in pieces, for rows',
  'api/training-status.ts: … …': 'typed in by test/cli/study.test.ts',
  'cli/work/studies/batch.ts: evaluate …': 'typed in by test/cli/study.test.ts',
  'cli/work/studies/batch.ts: evaluate … --in-place': 'typed in by test/evaluation/in-place.test.ts',
  'cli/text/studies/evaluation-text.ts: batch EXPERIMENT.yaml -o … --resume --write NAME':
    'typed in by test/evaluation/in-place.test.ts',
  'study/experiment/scoring/in-place.ts: batch EXPERIMENT.yaml -o … --resume --in-place':
    'typed in by test/evaluation/in-place.test.ts',
  'core/base/errors/error-catalogue.ts: batch EXPERIMENT.yaml -o … --resume':
    'the command of a batch, with names to fill in',
  'study/experiment/record/no-record.ts: evaluate … --benchmarks mgsm':
    'typed in by test/evaluation/evaluate-models.test.ts',
  'study/experiment/scoring/evaluate-models.ts: evaluate …':
    'the command of a study, typed in by test/cli/study.test.ts',
  'cli/work/studies/evaluate.ts: report … -o …': 'typed in by test/cli/study.test.ts',
  'cli/text/studies/evaluation-text.ts: evaluate … --only … --limit 20':
    'typed in by test/evaluation/plan-evaluation.test.ts',
  'cli/text/studies/batch-text.ts: evaluate … --limit 20 --only NAME': 'the same, with a name to fill in',
  'cli/work/studies/evaluate.ts: select --scores … -o selection.json': 'typed in by test/cli/study.test.ts',
  'cli/work/studies/experiment.ts: batch … -o …': 'typed in by test/cli/study.test.ts',
  'cli/work/studies/select.ts: experiment init --preset paper --selection … -o study.yaml':
    'typed in by test/cli/study.test.ts',
  'study/training/instructions.ts: train slurm .': 'typed in by test/cli/training-jobs.test.ts',
  'study/training/instructions.ts: train status …': 'typed in by test/cli/study.test.ts',
  'study/training/instructions.ts: partition … -o …': 'typed in by test/training/printed-merges.test.ts',
  'study/training/instructions.ts: relayout … -o merged': 'typed in by test/training/printed-merges.test.ts',
  'study/training/instructions.ts: revert --base … … … -o …':
    'typed in by test/training/printed-merges.test.ts',
  'study/training/instructions.ts: swap --task … --lang … … -o merged':
    'typed in by test/training/printed-merges.test.ts',
};

describe('the source', () => {
  it('names commands of layerloom by layerloomCommand alone, help and completion excepted', () => {
    const ofHelp = /^cli\/(program|(commands|options|completion)\/[a-z-]+)\.ts$/;
    const named = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\blayerloom ([a-z][a-z-]*)/g)].flatMap(([, name = '']) => {
        const isCommand = paths.includes(name) || paths.some((path) => path.startsWith(`${name} `));
        return isCommand && !ofHelp.test(file) && file !== 'core/base/errors/command-line.ts'
          ? [`${file}: ${text}`]
          : [];
      }),
    );
    expect(named).toEqual([]);
  });

  it('names no command without arguments that there is not', () => {
    const bare = commands.filter(({ words }) => words.every((word) => /^[a-z-]+$/.test(word)));
    expect(bare.filter(({ words }) => !paths.includes(words.join(' ')))).toEqual([]);
  });

  it('has no command with arguments that is typed in nowhere', () => {
    const found = commands
      .map(({ file, words }) => `${file}: ${words.join(' ')}`)
      .filter((call) => !paths.includes(call.split(': ')[1] ?? ''));
    const known = [...scenarios.flatMap(({ calls }) => calls), ...Object.keys(elsewhere)];
    expect([...new Set(found)].sort()).toEqual([...new Set(known)].sort());
  });

  it('names options below the doors by optionName alone, so that each door spells them its own way', () => {
    const elsewhere =
      /^(cli|api\/doctor|study\/pages|core\/native|study\/evaluation\/(harness\/harness|evaluation-block|servers\/(weight-servers|vllm-server|sglang-server))|study\/experiment\/file\/blocks\/[a-z]+-block|core\/methods\/framework\/declaration\/common-settings|study\/schedulers|core\/models\/sources\/hub\/(variables|cache\/hub-cache)|study\/training\/(instructions|settings\/resume|status)|study\/paper\/experiment-merges|core\/models\/(adapters\/peft-config|checkpoint\/containers\/torch\/refusals)|core\/plan\/export\/mergekit-)/;
    const spelt = texts.filter(
      ({ file, text }) => /(?<![\w-])--[a-z][a-z-]*[a-z]/.test(text) && !elsewhere.test(file),
    );
    expect(spelt.filter(({ text }) => !/^--[a-z-]+$/.test(text))).toEqual([]);
  });

  it('suggests no option that no command has, where it speaks of no other program', () => {
    const ofOthers =
      /^(core\/conversion\/steps|study\/evaluation\/(harness\/harness|evaluation-block|servers\/(weight-servers|vllm-server|sglang-server))|core\/native\/|study\/schedulers\/|cli\/options\/(scheduling|spellings)|study\/training\/(instructions|settings\/resume|status)|study\/paper\/experiment-merges|core\/models\/(adapters\/peft-config|checkpoint\/containers\/torch\/refusals)|core\/plan\/export\/mergekit-|study\/pages\/components\/data\/heat)/;
    const own = new Set(
      describeCommands(buildProgram()).flatMap(({ optionGroups }) =>
        optionGroups.flatMap(({ options }) => options.map(({ long }) => long)),
      ),
    );
    const unknown = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-]*\()/g)].flatMap(([option]) =>
        own.has(option) || ofOthers.test(file) ? [] : [`${file}: ${option}`],
      ),
    );
    expect([...new Set(unknown)]).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ name }) => !own.has(longOf(name)))).toEqual([]);
  });
});

describe('what is printed is true', () => {
  it.each(scenarios)('$title', ({ run }) => run());
});
