import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ggufBytes, ggufModel, value as ofGguf } from '../fixtures/gguf-files.js';
import { pickle, torchFile } from '../fixtures/torch-files.js';
import { type Door, readDoor } from './doors.js';
import type { Growth } from './growth.js';

/**
 * Two places that grow together, in one file or in two files of one command: work could grow as their product.
 */
export interface GrowthPair {
  readonly label: string;
  readonly files: readonly (readonly [file: string, growth: Growth])[];
  readonly command: (count: number) => readonly string[];
}

/** The command without its output's name, which differs each time. */
const sameness = (command: readonly string[]): string =>
  command.filter((_, at) => command[at - 1] !== '-o').join(' ');

export function* pairsOf(doors: readonly Door[]): Generator<GrowthPair> {
  for (const [index, door] of doors.entries()) {
    for (const growth of door.pairs?.(readDoor(door)) ?? [])
      for (const command of door.commands)
        yield {
          label: `${door.name}: ${growth.label}`,
          files: [[door.file, growth]],
          command: () => command,
        };
    for (const other of doors.slice(index + 1))
      for (const command of door.commands) {
        if (!other.commands.some((one) => sameness(one) === sameness(command))) continue;
        for (const growth of door.growths(readDoor(door)))
          for (const beside of other.growths(readDoor(other)))
            yield {
              label: `${door.name}: ${growth.label}; ${other.name}: ${beside.label}`,
              files: [
                [door.file, growth],
                [other.file, beside],
              ],
              command: () => command,
            };
      }
  }
}

const each = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));

const textOf = (label: string, of: (count: number) => string): Growth => ({
  label,
  of: (count) => Buffer.from(of(count)),
});

export const knownPairs = (root: string, doors: readonly Door[]): GrowthPair[] => {
  const at = (...parts: string[]) => join(root, ...parts);
  const bytesOf = (name: string): Buffer => {
    const door = doors.find((one) => one.name === name);
    if (door === undefined) throw new Error(`no door ${name}`);
    return readDoor(door);
  };
  const output = ['-o', at('out', 'pair')];
  const inspect = (file: string) => ['inspect', dirname(file)];
  const soup = ['soup', at('math'), at('swahili'), ...output, '--dry-run'];
  const union = ['merge', at('mergekit.yaml'), ...output, '--dry-run'];
  const subword = ['transplant', at('math'), '--donor', at('other'), '--rows', 'subword', ...output];
  const objectOf = (name: string) => JSON.parse(bytesOf(name).toString()) as Record<string, unknown>;
  const [config, tokenizer] = [objectOf('config'), objectOf('tokenizer')];
  const keys = (count: number) => Object.fromEntries(each(count, (index) => [`k${index}`, 1]));
  const gguf = ggufModel();
  const special = textOf('special tokens', (count) => {
    const tokens = each(count, (index) => `<|x${index}|>`);
    return JSON.stringify({
      additional_special_tokens: tokens,
      added_tokens_decoder: Object.fromEntries(tokens.map((content, id) => [id, { content, special: true }])),
    });
  });
  const one = (label: string, file: string, command: readonly string[], growth: Growth): GrowthPair => ({
    label,
    files: [[file, growth]],
    command: () => command,
  });
  const files = {
    config: at('math', 'config.json'),
    readme: at('math', 'README.md'),
    tokenizer: at('math', 'tokenizer.json'),
    tokens: at('math', 'tokenizer_config.json'),
    torch: at('torch', 'pytorch_model.bin'),
    gguf: at('gguf', 'model.gguf'),
    card: at('merged', 'README.md'),
    scores: at('scores.csv'),
  };
  mkdirSync(at('out'), { recursive: true });
  const configText = (more: (count: number) => object, nan = false) =>
    textOf('config', (count) =>
      JSON.stringify({ ...config, x: 'not a number', ...more(count) }).replace(
        '"not a number"',
        nan ? 'NaN' : '1',
      ),
    );
  return [
    one(
      'keys × text, beside a NaN',
      files.config,
      inspect(files.config),
      configText((count) => ({ ...keys(count), text: 'x'.repeat(20 * count) }), true),
    ),
    one(
      'NaNs × lines',
      files.config,
      inspect(files.config),
      textOf('config', (count) =>
        JSON.stringify({ ...config, x: each(count, () => 'NaN') }, null, 2).replaceAll('"NaN"', 'NaN'),
      ),
    ),
    one(
      'keys × lines of front matter',
      files.readme,
      soup,
      textOf(
        'card',
        (count) => `---\n${each(count, (at) => `k${at}: 1`).join('\n')}\n---\n${'x\n'.repeat(count)}`,
      ),
    ),
    one(
      'anchors × aliases of front matter',
      files.readme,
      soup,
      textOf('card', (count) => {
        const [anchors, aliases] = [
          each(count, (at) => `k${at}: &a${at} 1`),
          each(count, (at) => `l${at}: *a${at}`),
        ];
        return `---\n${[...anchors, ...aliases].join('\n')}\n---\n`;
      }),
    ),
    one(
      'opening fences × lines',
      files.card,
      ['verify', at('merged')],
      textOf('card', (count) => '```yaml\n'.repeat(count) + 'x\n'.repeat(count)),
    ),
    {
      label: 'special tokens × tokens of a tokenizer',
      files: [
        [files.tokens, special],
        [
          files.tokenizer,
          textOf('tokenizer', (count) =>
            JSON.stringify({ ...tokenizer, more: each(count, (index) => `token ${index}`) }),
          ),
        ],
      ],
      command: () => union,
    },
    {
      label: 'special tokens × one text of a tokenizer',
      files: [
        [files.tokens, special],
        [
          files.tokenizer,
          textOf('tokenizer', (count) => JSON.stringify({ ...tokenizer, more: '<|x '.repeat(count) })),
        ],
      ],
      command: () => subword,
    },
    one('references × entries of a dictionary', files.torch, inspect(files.torch), {
      label: 'pickle',
      of: (count) => {
        const entries = pickle.dict(Object.fromEntries(each(count, (at) => [`e${at}`, pickle.int(1)])));
        const [put, get] = [Buffer.from([0x71, 0]), Buffer.from([0x68, 0])];
        const references = each(count, (at) => Buffer.concat([pickle.text(`model${at}`), get]));
        return torchFile(
          pickle.of(
            Buffer.from('}('),
            ...[pickle.text('shared'), entries, put],
            ...references,
            Buffer.from('u'),
          ),
        );
      },
    }),
    one('layers × tensors', files.gguf, inspect(files.gguf), {
      label: 'GGUF',
      of: (count) =>
        ggufBytes({
          metadata: { ...gguf.metadata, 'llama.block_count': ofGguf.u32(count) },
          tensors: {
            ...gguf.tensors,
            ...Object.fromEntries(
              each(count, (at) => [
                `blk.${count - 1}.more${at}.weight`,
                { type: 'F32', shape: [8], data: Buffer.alloc(32) },
              ]),
            ),
          },
        }),
    }),
    {
      label: 'columns × wishes',
      files: [
        [
          files.scores,
          textOf('scores', (count) => {
            const cells = (of: (index: number) => string) => each(count, of).join(',');
            const row = (name: string) => `${name},task,${cells(() => '0.5')}`;
            return `name,role,${cells((index) => `s${index}`)}\n${row('math')}\n${row('swahili')}\n`;
          }),
        ],
      ],
      command: (count) => [
        ...['select', '--scores', files.scores, '--analysis', at('analysis'), '--count', '1'],
        ...['--tasks', ...each(count, (index) => `s${index}`)],
      ],
    },
  ];
};
