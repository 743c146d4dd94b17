import { describe, expect, it } from 'vitest';
import { ContentTable } from '../../src/study/evaluation/content-table.js';
import type { ContentPart, ModelContents } from '../../src/study/evaluation/model-contents.js';
import { LoadingOrder } from '../../src/study/evaluation/servers/loading-order.js';
import { generator } from '../fixtures/numbers.js';

const slotsOf = new Map<number, ContentPart['slots']>();

/** Parts of eight tensors each, by place; models with the same letter at a place share the part. */
const parts = new Map<string, ContentPart>();
const partOf = (place: number, content: string, bytes: number): ContentPart => {
  const slots =
    slotsOf.get(place) ??
    Array.from({ length: 8 }, (_, index) => ({ name: `layers.${place}.${index}`, bytes: bytes / 8 }));
  slotsOf.set(place, slots);
  const key = `${place} ${content}`;
  const part = parts.get(key) ?? { slots, contents: slots.map(() => content) };
  parts.set(key, part);
  return part;
};

const model = (contents: readonly string[], form = 'llama'): ModelContents => ({
  form,
  parts: contents.map((content, place) => partOf(place, content, place === 0 ? 80 : 32)),
});

const grid = (pairs: number): Map<string, ModelContents> => {
  const three = [0, 1, 2];
  const merges = new Map<string, ModelContents>();
  for (const top of three)
    for (const bottom of three)
      for (const above of three)
        for (const below of three)
          for (let pair = 0; pair < pairs; pair += 1) {
            const [task, language] = [`task ${pair % 3}`, `language ${Math.floor(pair / 3)}`];
            const both = `${task} ${language}`;
            const layers = Array.from({ length: 32 }, (_, layer) => {
              if (layer < bottom + 3 || layer >= 32 - top) return language;
              return layer < bottom + 3 + above || layer >= 32 - top - below ? both : task;
            });
            merges.set([pair, bottom, top, above, below].join(), model([both, ...layers, both]));
          }
  return merges;
};

const tableOf = (models: ReadonlyMap<string, ModelContents>) => {
  const table = new ContentTable(models);
  const rowOf = (name: string) => table.rowOf(name) as number;
  return {
    differenceOf: (from: string, to: string) => table.differenceOf(rowOf(from), rowOf(to)),
    bytesOf: (name: string) => table.bytesOf(rowOf(name)),
  };
};

/** Takes all models, each lane in turn. @returns the names by lane, and the bytes */
const taken = (models: ReadonlyMap<string, ModelContents>, lanes = 1) => {
  const order = new LoadingOrder();
  for (const [name, contents] of models) order.add(name, contents);
  const left = new Set(models.keys());
  const names: string[][] = Array.from({ length: lanes }, () => []);
  let bytes = 0;
  for (let turn = 0; left.size > 0; turn += 1) {
    const lane = turn % lanes;
    const next = order.nextOf(
      lane,
      [...left].map((name) => ({ name })),
    )?.name as string;
    bytes += order.loadOf(lane, next)?.bytes ?? Number.NaN;
    order.hold(lane, next);
    left.delete(next);
    names[lane]?.push(next);
  }
  return { names, bytes };
};

/** Bytes of a minimum spanning tree (Prim), a lower bound for any path, plus one whole model. */
const leastBytes = (models: ReadonlyMap<string, ModelContents>): number => {
  const { differenceOf, bytesOf } = tableOf(models);
  const [first = '', ...others] = models.keys();
  const nearest = new Map(others.map((name) => [name, Number.POSITIVE_INFINITY]));
  let sum = bytesOf(first);
  for (let at = first; nearest.size > 0; ) {
    for (const [name, bytes] of nearest)
      nearest.set(name, Math.min(bytes, differenceOf(at, name) ?? bytesOf(name)));
    const [next, bytes] = [...nearest].reduce((best, each) => (each[1] < best[1] ? each : best));
    sum += bytes;
    nearest.delete(next);
    at = next;
  }
  return sum;
};

describe('the contents of models', () => {
  it('differ by the bytes of the tensors that differ', () => {
    const random = generator(1);
    const draw = () => ['a', 'b', 'c'][Math.floor(3 * random())] ?? 'a';
    const letters = Array.from({ length: 40 }, () => Array.from({ length: 6 }, draw));
    const table = tableOf(new Map(letters.map((each, index) => [String(index), model(each)])));
    for (const [i, one] of letters.entries())
      for (const [j, other] of letters.entries()) {
        const bytes = one.reduce(
          (sum, each, place) => sum + (each === other[place] ? 0 : place === 0 ? 80 : 32),
          0,
        );
        expect(table.differenceOf(String(i), String(j))).toBe(bytes);
      }
  });

  it('are compared tensor by tensor where models lie in other files', () => {
    const whole = model(['a', 'a', 'b']);
    const [first, second, third] = whole.parts as [ContentPart, ContentPart, ContentPart];
    const one: ContentPart = {
      slots: [...first.slots, ...second.slots, ...third.slots],
      contents: [
        ...first.contents,
        ...second.contents.map((_, index) => (index % 3 === 0 ? 'other' : 'a')),
        ...third.contents,
      ],
    };
    const table = tableOf(
      new Map([
        ['files', whole],
        ['file', { form: 'llama', parts: [one] }],
        ['config', model(['a', 'a', 'b'], 'other')],
        ['layers', model(['a', 'a'])],
      ]),
    );
    expect(table.differenceOf('files', 'file')).toBe(3 * 4);
    expect(table.differenceOf('file', 'files')).toBe(3 * 4);
    expect(table.differenceOf('files', 'config')).toBeUndefined();
    expect(table.differenceOf('files', 'layers')).toBeUndefined();
    expect(table.differenceOf('layers', 'files')).toBeUndefined();
    expect([table.bytesOf('file'), table.bytesOf('layers')]).toEqual([144, 112]);
  });
});

describe('the order of loading', () => {
  it.each([1, 9])('is within a tenth of the least for the paper’s grid of %i pairs', (pairs) => {
    const models = grid(pairs);
    const { names, bytes } = taken(models);
    expect(names[0]?.toSorted()).toEqual([...models.keys()].toSorted());
    expect(bytes).toBeLessThan(1.1 * leastBytes(models));
  });

  it.each([2, 4, 8])(
    'loads for %i lanes little more than a whole model each and the least of all',
    (lanes) => {
      const models = grid(9);
      const { names, bytes } = taken(models, lanes);
      expect(names.flat().toSorted()).toEqual([...models.keys()].toSorted());
      const whole = 80 + 33 * 32;
      expect(bytes).toBeLessThan(1.2 * (leastBytes(models) + (lanes - 1) * whole));
      expect(
        Math.max(...names.map((own) => own.length)) - Math.min(...names.map((own) => own.length)),
      ).toBeLessThan(2);
    },
  );

  it('takes models of one form together, and those of which nothing is known last', () => {
    const order = new LoadingOrder();
    order.add('a', model(['a', 'a', 'a']));
    order.add('b', model(['a', 'a', 'a'], 'other'));
    order.add('c', model(['b', 'b', 'a']));
    order.hold(0, 'a');
    expect(order.nextOf(0, [{ name: 'unknown' }, { name: 'b' }, { name: 'c' }])).toEqual({ name: 'c' });
    expect(order.loadOf(0, 'b')).toEqual({ bytes: 144, ofBytes: 144, isWhole: true });
    expect(order.loadOf(0, 'unknown')).toBeUndefined();
    expect(order.nextOf(0, [{ name: 'unknown' }])).toEqual({ name: 'unknown' });
    expect(order.nextOf(0, [])).toBeUndefined();
    order.hold(0, 'unknown');
    expect(order.loadOf(0, 'a')).toEqual({ bytes: 144, ofBytes: 144, isWhole: true });
  });
});
