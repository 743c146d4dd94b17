import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { evaluateExperiment } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { fineTune } from '../fixtures/family.js';
import { ggufModel, writeGguf } from '../fixtures/gguf-files.js';
import { importancesOf, writeImportances } from '../fixtures/importances.js';
import { writeTorchCheckpoint } from '../fixtures/torch-files.js';
import { writeTrained } from '../fixtures/trained.js';
import { vocabularyFixture } from '../fixtures/vocabulary.js';
import {
  type Growth,
  growthsOfGguf,
  growthsOfHeader,
  growthsOfJson,
  growthsOfLines,
  growthsOfTorch,
  pairsOfHeader,
  pairsOfJson,
} from './growth.js';
import { type Mutation, ofBytes, ofJson, ofLines, ofSafetensors } from './mutations.js';

export interface Door {
  readonly name: string;
  readonly file: string;
  readonly mutations: (bytes: Buffer) => Iterable<Mutation>;
  readonly growths: (bytes: Buffer) => Iterable<Growth>;
  readonly pairs?: (bytes: Buffer) => Iterable<Growth>;
  readonly commands: readonly (readonly string[])[];
  /** Words that a refusal must contain to name the place. Default: the name of the file or its folder. */
  readonly told?: RegExp;
}

/** Mutations of a format's files. */
type Format = Pick<Door, 'mutations' | 'growths' | 'pairs'>;

const json: Format = {
  mutations: (bytes) => ofJson(bytes.toString()),
  growths: (bytes) => growthsOfJson(bytes.toString()),
  pairs: (bytes) => pairsOfJson(bytes.toString()),
};
const jsonLines: Format = {
  mutations: (bytes) => ofLines(bytes.toString()),
  growths: (bytes) => growthsOfLines(bytes.toString()),
};
const text: Format = { mutations: ofBytes, growths: (bytes) => growthsOfLines(bytes.toString()) };
const safetensors: Format = { mutations: ofSafetensors, growths: growthsOfHeader, pairs: pairsOfHeader };

const tokens = ['<s>', '</s>', 'eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs'];

const must = async (args: readonly string[]): Promise<void> => {
  const { code, stderr } = await cli(args);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
};

export const makeDoors = async (): Promise<{ readonly root: string; readonly doors: readonly Door[] }> => {
  const root = temporaryDirectory();
  const at = (...parts: string[]) => join(root, ...parts);
  const layers = 2;
  const model = vocabularyFixture({ layers, tokens });
  const experts = { math: fineTune(model.tensors, 2), swahili: fineTune(model.tensors, 3) };
  writeCheckpoint(at('base'), model);
  writeCheckpoint(at('math'), { ...model, tensors: experts.math });
  writeCheckpoint(at('swahili'), { ...model, tensors: experts.swahili });
  writeCheckpoint(at('other'), vocabularyFixture({ layers, tokens: [...tokens, 'saba'] }));
  writeTorchCheckpoint(at('torch'), { ...model, tensors: experts.math });
  writeAdapter(at('adapter'), lora({ shapes: llamaShapes({ layers }) }));
  writeGguf(at('gguf', 'model.gguf'), ggufModel());
  writeCheckpoint(at('trained-base'), llama({ layers }));
  writeTrained(at('trained'), at('trained-base'), layers);
  for (const [name, seed] of [
    ['math', 4],
    ['swahili', 5],
  ] as const)
    writeImportances(root, name, importancesOf(model.tensors, seed));
  await must(['relayout', at('math'), '-o', at('sharded'), '--layout', 'layer']);
  await must([
    'swap',
    '--task',
    at('math'),
    '--lang',
    at('swahili'),
    '--bottom',
    '1',
    '--top',
    '0',
    '-o',
    at('merged'),
  ]);
  const recipe = {
    method: 'ties',
    base: at('base'),
    models: [at('math'), at('swahili')],
    density: 0.5,
    weights: [1, 0.5],
    dtype: 'bfloat16',
  };
  writeFileSync(at('recipe.yaml'), JSON.stringify(recipe));
  const theirs = {
    merge_method: 'linear',
    slices: [
      {
        sources: [
          {
            model: at('math'),
            layer_range: [0, layers],
            parameters: { weight: [{ filter: 'mlp', value: [0, 1] }, { value: 0.5 }] },
          },
          { model: at('swahili'), layer_range: [0, layers], parameters: { weight: 0.5 } },
        ],
      },
    ],
    tokenizer: { source: 'union', tokens: { eins: { source: at('math'), force: true } } },
    dtype: 'bfloat16',
  };
  writeFileSync(at('mergekit.yaml'), JSON.stringify(theirs));
  const fisher = {
    method: 'fisher',
    models: [at('math'), at('swahili')],
    importances: [at('math.fisher.safetensors'), at('swahili.fisher.safetensors')],
  };
  writeFileSync(at('fisher.yaml'), JSON.stringify(fisher));
  const experiment = {
    base: './base',
    tasks: { math: './math' },
    languages: { swahili: { swahili: './swahili' } },
    merges: [
      { name: 'default', method: 'layer_swap', bottom: 1, top: 0 },
      { name: 'soup', method: 'soup', weights: ['uniform', 'magnitude'] },
    ],
    evaluate: { tasks: { swahili: 'mgsm_direct_sw' }, limit: 5 },
    search: { budget: '50%' },
  };
  writeFileSync(at('experiment.yaml'), JSON.stringify(experiment));
  await must(['batch', at('experiment.yaml'), '-o', at('study')]);
  await evaluateExperiment(at('study'), { lmEval: stubHarness });
  await must(['analyze', '--base', at('base'), at('math'), at('swahili'), '-o', at('analysis')]);
  writeFileSync(at('scores.csv'), 'name,role,score\nmath,task,0.5\nswahili,task,0.25\n');
  writeFileSync(
    at('rows.jsonl'),
    '{"prompt": "1 + 1?", "completion": "2"}\n{"prompt": "2 + 2?", "completion": "4"}\n',
  );

  const out = at('out');
  mkdirSync(out);
  let made = 0;
  const to = () => {
    made += 1;
    return ['-o', join(out, `${made}`)];
  };
  const merge = (file: string) => [
    ['merge', at(file), ...to(), '--dry-run'],
    ['merge', at(file), ...to()],
  ];
  const swap = (model: string) => [
    'swap',
    '--task',
    at(model),
    '--lang',
    at('swahili'),
    '--bottom',
    '1',
    '--top',
    '0',
    ...to(),
  ];
  const inspected = (model: string) => [['inspect', at(model)], swap(model)];
  const evaluations = readdirSync(at('study', 'evaluations')).filter((name) => name.endsWith('.json'));
  const ofStudy = [
    ['table', at('study')],
    ['report', at('study'), ...to()],
    ['batch', at('experiment.yaml'), '-o', at('study'), '--resume'],
  ];
  const doors: Door[] = [
    {
      name: 'header of safetensors',
      file: at('math', 'model.safetensors'),
      ...safetensors,
      commands: inspected('math'),
    },
    { name: 'config', file: at('math', 'config.json'), ...json, commands: inspected('math') },
    {
      name: 'tokenizer',
      file: at('math', 'tokenizer.json'),
      ...json,
      commands: [['merge', at('mergekit.yaml'), ...to()]],
    },
    {
      name: 'configuration of a tokenizer',
      file: at('math', 'tokenizer_config.json'),
      ...json,
      commands: [['merge', at('mergekit.yaml'), ...to()]],
    },
    {
      name: 'index of shards',
      file: at('sharded', 'model.safetensors.index.json'),
      ...json,
      commands: inspected('sharded'),
    },
    {
      name: 'pickle',
      file: at('torch', 'pytorch_model.bin'),
      mutations: ofBytes,
      growths: () => growthsOfTorch(experts.math),
      commands: inspected('torch'),
    },
    {
      name: 'configuration of an adapter',
      told: /beyond its dtype/,
      file: at('adapter', 'adapter_config.json'),
      ...json,
      commands: [['apply', at('base'), at('adapter'), ...to()]],
    },
    {
      name: 'weights of an adapter',
      file: at('adapter', 'adapter_model.safetensors'),
      ...safetensors,
      commands: [['apply', at('base'), at('adapter'), ...to()]],
    },
    {
      name: 'GGUF',
      file: at('gguf', 'model.gguf'),
      mutations: ofBytes,
      growths: growthsOfGguf,
      commands: [
        ['inspect', at('gguf')],
        ['relayout', at('gguf'), ...to()],
      ],
    },
    {
      name: 'recipe',
      told: /beyond its dtype/,
      file: at('recipe.yaml'),
      ...json,
      commands: merge('recipe.yaml'),
    },
    {
      name: 'recipe of mergekit',
      file: at('mergekit.yaml'),
      ...json,
      commands: merge('mergekit.yaml'),
    },
    {
      name: 'recipe of importances',
      file: at('fisher.yaml'),
      ...json,
      commands: [['merge', at('fisher.yaml'), ...to()]],
    },
    {
      name: 'importances',
      file: at('math.fisher.safetensors'),
      ...safetensors,
      commands: [['merge', at('fisher.yaml'), ...to()]],
    },
    {
      name: 'experiment',
      told: /swahili\/math\+swahili/,
      file: at('experiment.yaml'),
      ...json,
      commands: [['batch', at('experiment.yaml'), ...to(), '--dry-run']],
    },
    {
      name: 'record of a merge',
      file: at('merged', 'layerloom.json'),
      ...json,
      commands: [
        ['verify', at('merged')],
        ['verify', at('merged'), '--against-inputs'],
      ],
    },
    {
      name: 'card of a merge',
      file: at('merged', 'README.md'),
      ...text,
      commands: [
        ['verify', at('merged')],
        ['inspect', at('merged')],
      ],
    },
    {
      name: 'record of an experiment',
      file: at('study', 'experiment.json'),
      ...json,
      commands: ofStudy,
    },
    {
      name: 'result',
      file: at('study', 'evaluations', evaluations[0] ?? 'none'),
      ...json,
      commands: ofStudy.slice(0, 2),
    },
    {
      name: 'saved analysis',
      file: at('analysis', 'math.mav.safetensors'),
      ...safetensors,
      commands: [['analyze', '--from', at('analysis', 'math.mav.safetensors'), ...to()]],
    },
    {
      name: 'overlaps',
      told: /have no distance/,
      file: at('analysis', 'overlap.json'),
      ...json,
      commands: [['select', '--scores', at('scores.csv'), '--analysis', at('analysis'), '--count', '1']],
    },
    {
      name: 'table of scores',
      told: /have no distance/,
      file: at('scores.csv'),
      ...text,
      commands: [['select', '--scores', at('scores.csv'), '--analysis', at('analysis'), '--count', '1']],
    },
    {
      name: 'training',
      file: at('trained', 'training.json'),
      ...json,
      commands: [['train', 'status', at('trained')]],
    },
    {
      name: 'rows for training',
      file: at('rows.jsonl'),
      ...jsonLines,
      commands: [
        ['train', 'init', '--preset', 'own-task', '--base', at('base'), '--data', at('rows.jsonl'), ...to()],
      ],
    },
  ];
  return { root, doors };
};

export const removeOutputs = (root: string): void => {
  for (const made of readdirSync(join(root, 'out'))) rmSync(join(root, 'out', made), { recursive: true });
};

export const readDoor = ({ file }: Door): Buffer => readFileSync(file);
