import { assemble, type Tensors } from '../fixtures/checkpoints.js';
import { ggufBytes, ggufModel, value as ofGguf, u64 } from '../fixtures/gguf-files.js';
import { pickle, torchFile, torchTensors } from '../fixtures/torch-files.js';
import { type Json, pathsIn, withAt } from './mutations.js';

export interface Growth {
  readonly label: string;
  readonly of: (count: number) => Buffer;
}

const valueAt = (document: Json, path: readonly (string | number)[]): Json =>
  path.reduce<Json>((value, key) => (value as Record<string | number, Json>)[key] ?? null, document);

const renamed = (entry: Json, index: number): Json => {
  if (typeof entry === 'string') return `${entry}-${index}`;
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return entry;
  const named = ['name', 'path', 'content', 'key'].filter((key) => typeof entry[key] === 'string');
  return { ...entry, ...Object.fromEntries(named.map((key) => [key, `${String(entry[key])}-${index}`])) };
};

const grown = (value: Json[] | { [key: string]: Json }, count: number): Json => {
  const more = Array.from({ length: count }, (_, index) => index);
  if (Array.isArray(value))
    return [
      ...value,
      ...more.map((index) => renamed(value[index % Math.max(1, value.length)] ?? 'x', index)),
    ];
  const entries = Object.entries(value);
  const copies = more.map((index): [string, Json] => {
    const [key, inner] = entries[index % Math.max(1, entries.length)] ?? ['x', 'x'];
    return [`${key}-${index}`, inner];
  });
  return Object.fromEntries([...entries, ...copies]);
};

type Path = readonly (string | number)[];

interface GrowingPlace {
  readonly path: Path;
  readonly larger: (count: number) => Json;
}

const growingPlaces = (document: Json): GrowingPlace[] =>
  [...pathsIn(document)].flatMap((path): GrowingPlace[] => {
    const value = valueAt(document, path);
    if (typeof value === 'string') return [{ path, larger: (count) => value + 'x-'.repeat(count) }];
    if (value === null || typeof value !== 'object') return [];
    return [{ path, larger: (count) => grown(value, count) }];
  });

const growthAt = (document: Json, places: readonly GrowingPlace[]): Growth => ({
  label: places.map(({ path }) => (path.length === 0 ? 'the whole' : path.join('.'))).join(' and '),
  of: (count) =>
    Buffer.from(
      JSON.stringify(
        places.reduce<Json>(
          (changed, { path, larger }) => withAt(changed, path, larger(count)) ?? null,
          document,
        ),
      ),
    ),
});

export function* growthsOfJson(text: string): Generator<Growth> {
  const document = JSON.parse(text) as Json;
  for (const place of growingPlaces(document)) yield growthAt(document, [place]);
}

export function* pairsOfJson(text: string): Generator<Growth> {
  const document = JSON.parse(text) as Json;
  const places = growingPlaces(document);
  const isWithin = (inner: Path, outer: Path) => outer.every((key, at) => inner[at] === key);
  for (const [index, one] of places.entries())
    for (const other of places.slice(index + 1))
      if (!isWithin(one.path, other.path) && !isWithin(other.path, one.path))
        yield growthAt(document, [one, other]);
}

export function* growthsOfLines(text: string): Generator<Growth> {
  const lines = text.trimEnd().split('\n');
  for (const at of [lines.length - 1, lines.length >> 1])
    yield {
      label: `line ${at + 1}`,
      of: (count) =>
        Buffer.from(
          `${[...lines.slice(0, at), ...new Array(count + 1).fill(lines[at]), ...lines.slice(at + 1)].join('\n')}\n`,
        ),
    };
}

const ofHeader = (growthsOf: (text: string) => Iterable<Growth>) =>
  function* (bytes: Buffer): Generator<Growth> {
    const end = 8 + Number(bytes.readBigUInt64LE());
    for (const { label, of } of growthsOf(bytes.subarray(8, end).toString().trimEnd()))
      yield { label: `header: ${label}`, of: (count) => assemble(of(count), bytes.subarray(end)) };
  };

export const growthsOfHeader = ofHeader(growthsOfJson);
export const pairsOfHeader = ofHeader(pairsOfJson);

const named = <T>(
  count: number,
  of: () => T,
  nameOf = (index: number) => `more.${index}`,
): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [nameOf(index), of()] as const));

const nestedList = (depth: number): Buffer =>
  ofGguf.raw(
    9,
    Buffer.concat([
      ...Array.from({ length: depth }, () => Buffer.concat([Buffer.of(9, 0, 0, 0), u64(1)])),
      Buffer.of(4, 0, 0, 0),
      u64(1),
      Buffer.of(7, 0, 0, 0),
    ]),
  );

export function* growthsOfGguf(): Generator<Growth> {
  const { metadata, tensors } = ggufModel();
  const withKeys = (more: (count: number) => Record<string, Buffer>) => (count: number) =>
    ggufBytes({ metadata: { ...metadata, ...more(count) }, tensors });
  const texts = (count: number) => Array.from({ length: count }, (_, index) => `token-${index}`);
  const tensor = (shape: readonly number[]) => ({ type: 'F32', shape, data: Buffer.alloc(32) });
  const withTensors =
    (more: (count: number) => Record<string, ReturnType<typeof tensor>>) => (count: number) =>
      ggufBytes({ metadata, tensors: { ...tensors, ...more(count) } });
  yield { label: 'keys', of: withKeys((count) => named(count, () => ofGguf.u32(7))) };
  yield { label: 'a text', of: withKeys((count) => ({ more: ofGguf.text('x-'.repeat(count)) })) };
  yield {
    label: 'tokens',
    of: withKeys((count) => ({ 'tokenizer.ggml.tokens': ofGguf.texts(texts(count)) })),
  };
  yield { label: 'a list', of: withKeys((count) => ({ more: ofGguf.texts(texts(count)) })) };
  yield { label: 'lists in lists', of: withKeys((count) => ({ more: nestedList(count) })) };
  yield { label: 'a key', of: withKeys((count) => ({ ['x-'.repeat(count)]: ofGguf.u32(7) })) };
  yield { label: 'tensors', of: withTensors((count) => named(count, () => tensor([8]))) };
  yield {
    label: 'tensors of layers',
    of: withTensors((count) =>
      named(
        count,
        () => tensor([8]),
        (index) => `blk.${index}.attn_norm.weight`,
      ),
    ),
  };
  yield {
    label: 'the name of a tensor',
    of: withTensors((count) => ({ ['x-'.repeat(count)]: tensor([8]) })),
  };
  yield {
    label: 'extents',
    of: withTensors((count) => ({ more: tensor(Array.from({ length: count }, () => 1)) })),
  };
}

export function* growthsOfTorch(tensors: Tensors): Generator<Growth> {
  const one = { dtype: 'F32', shape: [2], data: Buffer.alloc(8) } as const;
  const withTensors = (more: (count: number) => Tensors) => (count: number) => {
    const { data, storages } = torchTensors({ ...tensors, ...more(count) });
    return torchFile(data, storages);
  };
  const { data, storages } = torchTensors(tensors);
  const withEntry = (more: (count: number) => Buffer) => (count: number) => {
    const { data: pickled } = torchTensors(tensors, (dict) =>
      pickle.dict({ state_dict: dict, more: more(count) }),
    );
    return torchFile(pickled, storages);
  };
  const repeated = (of: Buffer, count: number) => Buffer.concat(new Array<Buffer>(count).fill(of));
  yield {
    label: 'tensors',
    of: withTensors((count) => named(count, () => ({ ...one, data: Buffer.alloc(8) }))),
  };
  yield { label: 'tensors of one storage', of: withTensors((count) => named(count, () => one)) };
  yield {
    label: 'tensors of layers',
    of: withTensors((count) =>
      named(
        count,
        () => one,
        (index) => `model.layers.${index}.input_layernorm.weight`,
      ),
    ),
  };
  yield { label: 'the name of a tensor', of: withTensors((count) => ({ ['x-'.repeat(count)]: one })) };
  yield {
    label: 'storages of no tensor',
    of: (count) => torchFile(data, { ...storages, ...named(count, () => Buffer.alloc(8)) }),
  };
  yield { label: 'numbers', of: withEntry((count) => pickle.tuple(repeated(pickle.int(7), count))) };
  yield {
    label: 'keys',
    of: withEntry((count) => pickle.dict(named(count, () => pickle.int(7)))),
  };
  yield { label: 'a text', of: withEntry((count) => pickle.text('x-'.repeat(count))) };
  yield {
    label: 'tuples in tuples',
    of: withEntry((count) => Buffer.concat([pickle.int(7), repeated(pickle.op('\x85'), count)])),
  };
  yield {
    label: 'what is kept for later',
    of: withEntry((count) =>
      Buffer.concat([
        pickle.int(7),
        ...Array.from({ length: count }, (_, index) => {
          const put = Buffer.from([0x72, 0, 0, 0, 0]);
          put.writeUInt32LE(index, 1);
          return put;
        }),
      ]),
    ),
  };
  yield {
    label: 'a tuple doubled again and again',
    of: withEntry((count) => Buffer.concat([pickle.int(7), repeated(pickle.op('2\x86'), count)])),
  };
}
